"""Which library signs and checks, and that it makes no difference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rumormill.core import ed25519
from rumormill.libp2p.stack.keys import PrivateKey
from tests.helpers.interop.real_peers import missing_peer

PAYLOAD = b"libp2p-pubsub:" + bytes(range(256))
KEY = PrivateKey.from_seed(b"k" * 32)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = ed25519.native_in_use()
    yield
    ed25519.use_native(before)


def test_without_the_extension_libsodium_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ed25519, "_installed", False)
    assert ed25519.use_native(True) is False
    assert not ed25519.native_in_use()
    assert KEY.public_key.verify(KEY.sign(PAYLOAD), PAYLOAD)


def test_the_extension_can_be_left_unused() -> None:
    assert ed25519.use_native(False) is False
    assert KEY.public_key.verify(KEY.sign(PAYLOAD), PAYLOAD)


def test_the_switch_holds_for_keys_that_were_decoded_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not ed25519.use_native(True):
        missing_peer("rumormill-native is not installed: make native")
    calls = []
    monkeypatch.setattr(ed25519, "crypto_sign_open", lambda *arguments: calls.append(arguments))
    signature = KEY.sign(PAYLOAD)
    assert KEY.public_key.verify(signature, PAYLOAD)
    assert not calls
    ed25519.use_native(False)
    assert KEY.public_key.verify(signature, PAYLOAD)
    assert len(calls) == 1


def test_both_sign_alike() -> None:
    if not ed25519.use_native(True):
        missing_peer("rumormill-native is not installed: make native")
    signature = KEY.sign(PAYLOAD)
    ed25519.use_native(False)
    assert KEY.sign(PAYLOAD) == signature
