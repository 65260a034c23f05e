"""Manifests of messages in segments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.manifest import (
    MANIFEST_CONTENT_TYPE,
    Manifest,
    decode_manifest,
    encode_manifest,
    segment_name,
)
from rumormill.ndn.wire.name import component, name_to_uri
from tests.helpers.ndn.wire import joined

DIGEST = "8520" + "00" * 32


@given(st.integers(1, 2**32), st.integers(0, 2**32), st.binary(min_size=32, max_size=32))
def test_what_was_written_is_read(segments: int, more: int, digest: bytes) -> None:
    manifest = Manifest(segments, segments + more, digest)
    assert decode_manifest(encode_manifest(manifest)) == manifest


def test_what_may_be_ignored_is() -> None:
    assert decode_manifest(joined("810102 830103 f000", DIGEST)) == Manifest(2, 3, bytes(32))


@pytest.mark.parametrize(
    "parts",
    [
        [],
        ["810101", DIGEST],
        ["830101", DIGEST],
        ["810101 830101"],
        ["810100 830101", DIGEST],
        ["810102 830101", DIGEST],
        ["810100 830100", DIGEST],
        ["810101 830101 8501ff"],
        ["810101 810101 830101", DIGEST],
        ["810101 830101", DIGEST, DIGEST],
        ["810101 830101 f100", DIGEST],
        ["8100 830101", DIGEST],
        ["810101 8301", DIGEST],
    ],
)
def test_what_is_no_manifest_is_refused(parts: list[str]) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_manifest(joined(*parts))


def test_segments_are_below_the_message() -> None:
    assert name_to_uri(segment_name(component(b"m"), 0)) == "/m/50=%00"
    assert name_to_uri(segment_name(component(b"m"), 256)) == "/m/50=%01%00"


def test_no_assigned_type_of_content_is_used() -> None:
    assert MANIFEST_CONTENT_TYPE > 1024


@given(st.binary(max_size=60))
def test_any_content_is_read_or_refused(content: bytes) -> None:
    try:
        found = decode_manifest(content)
    except RemoteProtocolError:
        return
    assert 1 <= found.segments <= found.size
