"""python-ndn reads what we write, and we read what it writes: Interests and Data, both ways."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ndn.encoding import (
    InterestParam,
    MetaInfo,
    make_data,
    make_interest,
    parse_data,
    parse_interest,
)
from ndn.encoding import Name as PythonName
from ndn.security import (
    DigestSha256Signer,
    HmacSha256Signer,
    NullSigner,
    sha256_digest_checker,
)

from rumormill.ndn.wire.data import decode_data, encode_data
from rumormill.ndn.wire.interest import decode_interest, encode_interest
from rumormill.ndn.wire.name import component, components, name_from_uri, name_tlv
from rumormill.ndn.wire.signature import SignatureType
from tests.helpers.ndn.wire import (
    COMPONENTS,
    DIGEST,
    NAMES,
    NUMBERS,
    SIGNERS,
    NamedKey,
    is_right,
)

NONCES = st.binary(min_size=4, max_size=4)
FLAGS = st.fixed_dictionaries({"can_be_prefix": st.booleans(), "must_be_fresh": st.booleans()})
HINTS = st.lists(NAMES, max_size=3)
HOPS = st.none() | st.integers(0, 255)
KEY_NAME = name_from_uri("/alice/KEY/1")


def python_name(name: bytes) -> Any:
    return PythonName.from_bytes(name_tlv(name))


def plain(name: Any) -> bytes:
    return b"".join(bytes(part) for part in name)


def covered(signature: Any) -> bytes:
    return b"".join(bytes(part) for part in signature.signature_covered_part)


def their_signer(kind: int) -> Any:
    return [
        DigestSha256Signer(),
        DigestSha256Signer(for_interest=True),
        HmacSha256Signer(python_name(KEY_NAME), b"secret"),
        NullSigner(),
    ][kind]


# ---- Interests


@given(NAMES, NONCES, NUMBERS, FLAGS, HINTS, HOPS)
def test_interests_are_written_the_same_by_both(
    name: bytes,
    nonce: bytes,
    lifetime: int,
    flags: dict[str, Any],
    hint: list[bytes],
    hop_limit: int | None,
) -> None:
    ours = encode_interest(
        name,
        nonce=nonce,
        lifetime=lifetime,
        forwarding_hint=tuple(hint),
        hop_limit=hop_limit,
        **flags,
    )
    parameters = InterestParam(
        nonce=int.from_bytes(nonce, "big"),
        lifetime=lifetime,
        hop_limit=hop_limit,
        forwarding_hint=[python_name(each) for each in hint],
        **flags,
    )
    assert ours.raw == make_interest(python_name(name), parameters)


@given(NAMES, st.binary(max_size=300))
def test_interests_with_parameters_are_written_the_same_by_both(
    name: bytes, parameters: bytes
) -> None:
    ours = encode_interest(name, nonce=b"1234", parameters=parameters, signer=DIGEST)
    theirs = make_interest(
        python_name(name),
        InterestParam(nonce=int.from_bytes(b"1234", "big"), lifetime=4000),
        parameters,
        DigestSha256Signer(),
    )
    assert ours.raw == theirs


@given(NAMES, st.binary(max_size=300), st.none() | SIGNERS)
def test_python_ndn_reads_our_interests(
    name: bytes, parameters: bytes, signer: NamedKey | None
) -> None:
    ours = encode_interest(name, nonce=b"1234", parameters=parameters, signer=signer)
    found, said, value, signature = parse_interest(ours.raw)
    assert [bytes(part) for part in found] == components(ours.name)
    assert said.nonce == int.from_bytes(b"1234", "big") and said.lifetime == 4000
    assert bytes(value) == parameters
    if ours.signature is not None:
        assert covered(signature) == ours.signature.covered
        assert bytes(signature.signature_value_buf) == ours.signature.value
        assert signature.signature_info.signature_type == ours.signature.type
        if ours.signature.key_name is not None:
            assert plain(signature.signature_info.key_locator.name) == ours.signature.key_name


@given(NAMES, st.binary(max_size=300), st.integers(0, 3), FLAGS, HINTS, HOPS)
def test_we_read_interests_of_python_ndn(
    name: bytes,
    parameters: bytes,
    kind: int,
    flags: dict[str, Any],
    hint: list[bytes],
    hop_limit: int | None,
) -> None:
    said = InterestParam(
        nonce=7, lifetime=None, hop_limit=hop_limit,
        forwarding_hint=[python_name(each) for each in hint], **flags,
    )  # fmt: skip
    raw = bytes(make_interest(python_name(name), said, parameters, their_signer(kind)))
    found = decode_interest(raw)
    *_, signature = parse_interest(raw)
    assert found.name.startswith(name) and found.parameters == parameters
    assert found.nonce == b"\0\0\0\7" and found.hop_limit == hop_limit
    assert found.can_be_prefix == flags["can_be_prefix"]
    assert found.must_be_fresh == flags["must_be_fresh"]
    assert found.forwarding_hint == tuple(hint)
    assert found.signature is not None
    assert found.signature.covered == covered(signature)
    assert found.signature.value == bytes(signature.signature_value_buf)
    if kind < 2:
        assert is_right(found.signature)
    assert (found.signature.time is not None) == (kind == 1)
    assert found.signature.key_name == (KEY_NAME if kind == 2 else None)


# ---- Data


@given(
    NAMES,
    st.none() | st.binary(max_size=300) | st.integers(65_500, 65_600).map(bytes),
    st.integers(0, 1000),
    st.none() | NUMBERS,
    st.none() | COMPONENTS,
)
def test_data_are_written_the_same_by_both(
    name: bytes,
    content: bytes | None,
    content_type: int,
    freshness: int | None,
    final_block: bytes | None,
) -> None:
    ours = encode_data(
        name,
        content,
        DIGEST,
        content_type=content_type,
        freshness=freshness,
        final_block=final_block,
    )
    meta = MetaInfo(content_type, freshness, final_block)
    assert ours.raw == make_data(python_name(name), meta, content, DigestSha256Signer())


@given(NAMES, st.none() | st.binary(max_size=300), SIGNERS, st.none() | st.integers(0, 9))
def test_python_ndn_reads_our_data(
    name: bytes, content: bytes | None, signer: NamedKey, content_type: int | None
) -> None:
    ours = encode_data(name, content, signer, content_type=content_type)
    found, meta, their_content, signature = parse_data(ours.raw)
    assert plain(found) == name and meta.content_type == (content_type or 0)
    assert (None if their_content is None else bytes(their_content)) == content
    assert covered(signature) == ours.signature.covered
    assert bytes(signature.signature_value_buf) == ours.signature.value
    assert signature.signature_info.signature_type == signer.type


@given(NAMES, st.none() | st.binary(max_size=300), st.sampled_from([0, 2, 3]))
def test_we_read_data_of_python_ndn(name: bytes, content: bytes | None, kind: int) -> None:
    meta = MetaInfo(freshness_period=1000, final_block_id=component(b"9"))
    raw = bytes(make_data(python_name(name), meta, content, their_signer(kind)))
    found = decode_data(raw)
    *_, signature = parse_data(raw)
    assert found[:4] == (name, 0, 1000, component(b"9")) and found.content == content
    assert found.signature.covered == covered(signature)
    assert found.signature.value == bytes(signature.signature_value_buf)
    assert is_right(found.signature) == (kind == 0)


async def test_python_ndn_accepts_our_digests() -> None:
    made = encode_data(component(b"a"), b"hello", DIGEST)
    name, _, _, signature = parse_data(made.raw)
    assert made.signature.type == SignatureType.DIGEST
    assert await sha256_digest_checker(name, signature)
