from __future__ import annotations

import base64
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.app_support.security_v2 import self_sign
from ndn.security.signer import DigestSha256Signer

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.certificates import key_from_certificate
from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import encode_data
from rumormill.ndn.wire.name import name_from_uri

KEY = PrivateKey.generate(Random(2), name_from_uri("/alice"), "ecdsa")


def certificate() -> bytes:
    """As python-ndn makes it, with the time in which it is valid."""
    _, raw = self_sign(KEY.uri, KEY.public_key.spki, DigestSha256Signer())
    return bytes(raw)


def test_a_certificate_is_the_key_in_it() -> None:
    assert key_from_certificate(certificate()) == KEY.public_key


def test_a_certificate_in_base64_is_read_as_ndnsec_writes_it() -> None:
    assert key_from_certificate(base64.encodebytes(certificate())) == KEY.public_key


def test_a_certificate_between_marks_is_read() -> None:
    inside = b"Name: /alice/KEY/1/self/v=1\nSigType: ECDSA\n\n" + base64.encodebytes(certificate())
    text = b"-----BEGIN NDN CERT-----\n" + inside + b"-----END NDN CERT-----\n"
    assert key_from_certificate(text) == KEY.public_key


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "no certificate of NDN"),
        (b"!!", "neither a certificate of NDN nor one in base64"),
        (b"\x06\x02\x07", "no certificate of NDN"),
        (bytes(20_000), "8800 bytes at most"),
        (encode_data(name_from_uri("/a"), b"x", DigestSigner()).raw, "holds no key"),
        (
            encode_data(name_from_uri("/a"), b"x", DigestSigner(), content_type=2).raw,
            "damaged, or of an unknown kind",
        ),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said(raw: bytes, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        key_from_certificate(raw)


@given(st.binary(max_size=100))
def test_any_other_bytes_are_no_certificate(raw: bytes) -> None:
    for given_bytes in (raw, b"\x06" + raw, certificate()[: len(raw)]):
        with pytest.raises(LocalProtocolError):
            key_from_certificate(given_bytes)
