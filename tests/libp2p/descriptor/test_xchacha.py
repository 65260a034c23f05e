"""XChaCha20-Poly1305: the same as libsodium's, and no nonce twice."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
)

from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.descriptor import xchacha
from rumormill.libp2p.descriptor.xchacha import NONCE_SIZE, Reader, Writer, subkey

KEY = bytes(range(32))


def test_the_subkey_is_that_of_the_drafts_example() -> None:
    """draft-irtf-cfrg-xchacha, section 2.2.1."""
    nonce = bytes.fromhex("000000090000004a0000000031415927")
    expected = "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"
    assert subkey(KEY, nonce).hex() == expected


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_libsodium_opens_what_we_seal(data: bytes, about: bytes) -> None:
    sealed = Writer(KEY, random.Random(1)).seal(data, about)
    nonce, box = sealed[:NONCE_SIZE], sealed[NONCE_SIZE:]
    assert crypto_aead_xchacha20poly1305_ietf_decrypt(box, about, nonce, KEY) == data


@given(st.binary(max_size=300), st.binary(max_size=100), st.binary(min_size=24, max_size=24))
def test_we_open_what_libsodium_seals(data: bytes, about: bytes, nonce: bytes) -> None:
    box = crypto_aead_xchacha20poly1305_ietf_encrypt(data, about, nonce, KEY)
    assert Reader(KEY).open(nonce + box, about) == data


def test_no_nonce_comes_twice_in_a_process_or_in_two_that_share_the_key() -> None:
    writers = [Writer(KEY, random.SystemRandom()) for _ in range(50)]
    nonces = [writer.seal(b"", b"")[:NONCE_SIZE] for writer in writers for _ in range(50)]
    assert len(set(nonces)) == 2500


def test_a_key_whose_nonces_are_used_up_seals_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xchacha, "MOST_NONCES", 2)
    writer = Writer(KEY, random.Random(1))
    writer.seal(b"", b"")
    writer.seal(b"", b"")
    with pytest.raises(LocalProtocolError):
        writer.seal(b"", b"")


@given(st.binary(max_size=120))
def test_what_was_not_sealed_is_not_opened(raw: bytes) -> None:
    assert Reader(KEY).open(raw, b"") is None


def test_strangers_do_not_push_out_whom_a_reader_knows() -> None:
    writer, reader = Writer(KEY, random.Random(1)), Reader(KEY, most=2)
    sealed = writer.seal(b"rain", b"")
    assert reader.open(sealed, b"") == b"rain"
    for number in range(100):
        assert reader.open(number.to_bytes(16, "big") + sealed[16:], b"") is None
    assert len(reader) == 1
    for seed in range(100):
        assert reader.open(Writer(KEY, random.Random(seed)).seal(b"", b""), b"") == b""
    assert len(reader) == 2
