"""``rumormill-native`` and libsodium take the same signatures, and refuse the same ones."""

from __future__ import annotations

import importlib
import math
import os
import platform
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from tests.helpers.interop.real_peers import missing_peer
from tests.helpers.libp2p.edwards25519 import (
    IDENTITY,
    Crafted,
    L,
    P,
    craft,
    craft_until,
    encoded,
    other_encodings,
    point_at,
    small_order,
)

PAYLOAD = b"libp2p-pubsub:" + bytes(range(256))
SECRET, NONCE = 0x1234567890ABCDEF << 100, 0xFEDCBA0987654321 << 90

seeds = st.binary(min_size=32, max_size=32)
scalars = st.integers(1, L - 1)
torsions = st.integers(0, 7)


class Native(Protocol):
    BACKEND: str

    def verify(self, public_key: bytes, signature: bytes, payload: bytes, /) -> bool: ...

    def sign(self, secret: bytes, payload: bytes, /) -> bytes: ...


@pytest.fixture(scope="module")
def native() -> Native:
    try:
        return cast(Native, importlib.import_module("rumormill_native"))
    except ImportError as error:
        missing_peer(f"rumormill-native is not installed ({error}): make native")


def sodium_verifies(public_key: bytes, signature: bytes, payload: bytes) -> bool:
    try:
        crypto_sign_open(signature + payload, public_key)
    except BadSignatureError:
        return False
    return True


def assert_both(native: Native, crafted: Crafted, accepted: bool) -> None:
    """Twice, because the second time the key may be remembered."""
    arguments = crafted.public_key, crafted.signature, crafted.payload
    assert sodium_verifies(*arguments) is accepted
    assert native.verify(*arguments) is accepted
    assert native.verify(*arguments) is accepted


def assert_same(native: Native, public_key: bytes, signature: bytes, payload: bytes) -> None:
    expected = sodium_verifies(public_key, signature, payload)
    assert native.verify(public_key, signature, payload) is expected


# ---- crafted signatures


def test_our_own_curve_makes_signatures_that_both_take(native: Native) -> None:
    assert_both(native, craft(PAYLOAD, secret=SECRET, nonce=NONCE), True)
    assert_both(native, craft(b"", secret=1, nonce=1), True)
    assert_both(native, craft(PAYLOAD, secret=L - 1, nonce=L - 1), True)


# The points of small order that a key and a nonce can have so that the equation holds for some
# payload, each as a multiple of one of order eight.
PAIRS = [(key, nonce) for key in range(8) for nonce in range(0, 8, math.gcd(key, 8))]


@pytest.mark.parametrize(("key", "nonce"), PAIRS)
def test_a_key_of_small_order_is_refused_though_the_equation_holds(
    native: Native, key: int, nonce: int
) -> None:
    crafted = craft_until(True, secret=0, nonce=NONCE, key_torsion=key, nonce_torsion=nonce)
    assert_both(native, crafted, False)


@pytest.mark.parametrize(("key", "nonce"), PAIRS)
def test_key_and_nonce_of_small_order_and_s_zero_are_refused(
    native: Native, key: int, nonce: int
) -> None:
    crafted = craft_until(True, secret=0, nonce=0, key_torsion=key, nonce_torsion=nonce)
    assert crafted.signature[32:] == bytes(32)
    assert_both(native, crafted, False)


def test_a_nonce_that_is_the_identity_is_refused_though_the_equation_holds(native: Native) -> None:
    crafted = craft(PAYLOAD, secret=SECRET, nonce=0)
    assert crafted.holds
    assert crafted.signature[:32] == encoded(IDENTITY)
    assert_both(native, crafted, False)


@pytest.mark.parametrize("torsion", range(8))
def test_a_nonce_of_small_order_is_refused_though_the_equation_holds(
    native: Native, torsion: int
) -> None:
    # The key must have a part of small order too, or the equation holds for the identity alone.
    crafted = craft_until(True, secret=SECRET, nonce=0, key_torsion=1, nonce_torsion=torsion)
    assert_both(native, crafted, False)


@pytest.mark.parametrize("key_torsion", range(8))
@pytest.mark.parametrize("nonce_torsion", range(8))
def test_parts_of_small_order_are_taken_exactly_where_the_equation_holds(
    native: Native, key_torsion: int, nonce_torsion: int
) -> None:
    for number in range(16):
        crafted = craft(
            b"payload %d" % number,
            secret=SECRET,
            nonce=NONCE,
            key_torsion=key_torsion,
            nonce_torsion=nonce_torsion,
        )
        assert_both(native, crafted, crafted.holds)


@pytest.mark.parametrize("torsion", range(1, 8))
def test_a_signature_that_holds_only_with_the_cofactor_is_refused(
    native: Native, torsion: int
) -> None:
    honest_key = craft(PAYLOAD, secret=SECRET, nonce=NONCE, nonce_torsion=torsion)
    assert not honest_key.holds
    assert_both(native, honest_key, False)
    mixed_key = craft_until(False, secret=SECRET, nonce=NONCE, key_torsion=torsion)
    assert_both(native, mixed_key, False)


@pytest.mark.parametrize("rounds", range(1, 15))
def test_an_s_that_is_not_reduced_is_refused(native: Native, rounds: int) -> None:
    assert_both(native, craft(PAYLOAD, secret=SECRET, nonce=NONCE, rounds=rounds), False)
    mixed = craft_until(True, secret=SECRET, nonce=NONCE, key_torsion=4, rounds=rounds)
    assert_both(native, mixed, False)


@pytest.mark.parametrize("s", [0, 1, L - 1, L, L + 1, 2**252, 2**253, 2**255, 2**256 - 1])
def test_an_s_at_a_border_is_judged_alike(native: Native, s: int) -> None:
    honest = craft(PAYLOAD, secret=SECRET, nonce=NONCE)
    signature = honest.signature[:32] + s.to_bytes(32, "little")
    assert_both(native, honest._replace(signature=signature), False)


def test_an_s_with_all_its_upper_bits_is_taken(native: Native) -> None:
    candidates = (craft(b"%d" % number, secret=SECRET, nonce=NONCE) for number in range(200))
    crafted = next(crafted for crafted in candidates if crafted.signature[63] == 0x0F)
    assert_both(native, crafted, True)


IDENTITIES = other_encodings(IDENTITY)


def test_there_are_three_other_encodings_of_the_identity() -> None:
    assert [raw.hex() for raw in IDENTITIES] == [
        "01" + "00" * 30 + "80",
        "ee" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "ff",
    ]


@pytest.mark.parametrize("raw", IDENTITIES)
def test_other_encodings_of_the_identity_as_nonce_are_refused(native: Native, raw: bytes) -> None:
    crafted = craft(PAYLOAD, secret=SECRET, nonce=0, nonce_bytes=raw)
    assert_both(native, crafted, False)


SMALL_ORDER_ENCODINGS = [
    (torsion, raw)
    for torsion, point in enumerate(small_order())
    for raw in [encoded(point), *other_encodings(point)]
]


@pytest.mark.parametrize(("torsion", "raw"), SMALL_ORDER_ENCODINGS)
def test_every_encoding_of_a_point_of_small_order_is_refused_as_key_and_as_nonce(
    native: Native, torsion: int, raw: bytes
) -> None:
    as_key = craft_until(True, secret=0, nonce=NONCE, key_torsion=torsion, key_bytes=raw)
    assert_both(native, as_key, False)
    mixed_key = {"secret": SECRET, "key_torsion": 1}
    as_nonce = craft_until(True, nonce=0, nonce_torsion=torsion, nonce_bytes=raw, **mixed_key)
    assert_both(native, as_nonce, False)
    for _, other in SMALL_ORDER_ENCODINGS:
        assert_both(native, Crafted(raw, other + bytes(32), PAYLOAD, True), False)


@pytest.mark.parametrize("y", range(P, 2**255))
def test_no_key_and_no_nonce_is_taken_in_an_encoding_beyond_the_field(
    native: Native, y: int
) -> None:
    for sign in (0, 1 << 255):
        raw = (y | sign).to_bytes(32, "little")
        honest = craft(PAYLOAD, secret=SECRET, nonce=NONCE)
        assert_both(native, honest._replace(public_key=raw), False)
        assert_both(native, honest._replace(signature=raw + honest.signature[32:]), False)
        assert_both(native, craft(PAYLOAD, secret=0, nonce=NONCE, key_bytes=raw), False)


def test_what_is_not_on_the_curve_is_no_key_and_no_nonce(native: Native) -> None:
    outside = [y for y in range(2, 40) if point_at(y) is None]
    assert outside
    honest = craft(PAYLOAD, secret=SECRET, nonce=NONCE)
    for y in outside:
        raw = y.to_bytes(32, "little")
        assert_both(native, honest._replace(public_key=raw), False)
        assert_both(native, honest._replace(signature=raw + honest.signature[32:]), False)


def test_the_negative_of_key_or_nonce_is_another_one(native: Native) -> None:
    honest = craft(PAYLOAD, secret=SECRET, nonce=NONCE)
    key, signature = bytearray(honest.public_key), bytearray(honest.signature)
    key[31] ^= 0x80
    signature[31] ^= 0x80
    assert_both(native, honest._replace(public_key=bytes(key)), False)
    assert_both(native, honest._replace(signature=bytes(signature)), False)


@given(
    secret=st.one_of(st.just(0), scalars),
    nonce=st.one_of(st.just(0), scalars),
    key_torsion=torsions,
    nonce_torsion=torsions,
    rounds=st.one_of(st.just(0), st.integers(0, 14)),
    payload=st.binary(max_size=64),
)
def test_signatures_crafted_at_random_are_taken_by_the_rules(
    native: Native,
    secret: int,
    nonce: int,
    key_torsion: int,
    nonce_torsion: int,
    rounds: int,
    payload: bytes,
) -> None:
    crafted = craft(
        payload,
        secret=secret,
        nonce=nonce,
        key_torsion=key_torsion,
        nonce_torsion=nonce_torsion,
        rounds=rounds,
    )
    strict = secret != 0 and nonce != 0 and rounds == 0
    assert_both(native, crafted, strict and crafted.holds)


# ---- signatures as they come


@given(seed=seeds, payload=st.binary(max_size=3000))
@example(seed=bytes(32), payload=b"")
@example(seed=b"\xff" * 32, payload=bytes(1 << 20))
def test_both_sign_alike_and_take_each_others_signatures(
    native: Native, seed: bytes, payload: bytes
) -> None:
    public_key, secret = crypto_sign_seed_keypair(seed)
    signature = native.sign(secret, payload)
    assert signature == crypto_sign(payload, secret)[:64]
    assert native.sign(secret, payload) == signature
    assert native.verify(public_key, signature, payload)
    assert sodium_verifies(public_key, signature, payload)


@given(seed=seeds, payload=st.binary(min_size=1, max_size=300), data=st.data())
def test_a_damaged_signature_key_or_payload_is_judged_alike(
    native: Native, seed: bytes, payload: bytes, data: st.DataObject
) -> None:
    public_key, secret = crypto_sign_seed_keypair(seed)
    parts = [bytearray(public_key), bytearray(native.sign(secret, payload)), bytearray(payload)]
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.sampled_from(parts))
        part[data.draw(st.integers(0, len(part) - 1))] ^= data.draw(st.integers(1, 255))
    assert_same(native, bytes(parts[0]), bytes(parts[1]), bytes(parts[2]))


@given(
    public_key=st.binary(min_size=32, max_size=32),
    signature=st.binary(min_size=64, max_size=64),
    payload=st.binary(max_size=100),
)
def test_arbitrary_bytes_are_judged_alike(
    native: Native, public_key: bytes, signature: bytes, payload: bytes
) -> None:
    assert_same(native, public_key, signature, payload)


@given(public_key=st.binary(max_size=70), signature=st.binary(max_size=130))
def test_wrong_lengths_verify_nothing_and_raise_nothing(
    native: Native, public_key: bytes, signature: bytes
) -> None:
    assert native.verify(public_key, signature, PAYLOAD) is False


def test_a_signature_cannot_borrow_from_the_payload(native: Native) -> None:
    public_key, secret = crypto_sign_seed_keypair(bytes(32))
    signature = native.sign(secret, PAYLOAD)
    assert not native.verify(public_key, signature[:63], signature[63:] + PAYLOAD)
    assert not native.verify(public_key, signature + PAYLOAD[:1], PAYLOAD[1:])
    assert not native.verify(public_key + signature[:1], signature[1:], PAYLOAD)


@pytest.mark.parametrize("nonsense", [None, 7, "text", [1, 2]])
def test_what_is_not_bytes_is_a_type_error(native: Native, nonsense: Any) -> None:
    for arguments in (
        (nonsense, bytes(64), b""),
        (bytes(32), nonsense, b""),
        (bytes(32), bytes(64), nonsense),
    ):
        with pytest.raises(TypeError):
            native.verify(*arguments)
    with pytest.raises(TypeError):
        native.sign(nonsense, b"")


# ---- secrets


@pytest.mark.parametrize("length", [0, 32, 63, 65, 96])
def test_a_secret_of_another_length_is_refused(native: Native, length: int) -> None:
    with pytest.raises(ValueError, match=f"64 bytes, not {length}"):
        native.sign(bytes(length), PAYLOAD)


def test_halves_that_do_not_belong_together_never_sign(native: Native) -> None:
    # Two signatures with one seed and two public keys would tell the secret.
    first_public, first = crypto_sign_seed_keypair(b"1" * 32)
    second_public, second = crypto_sign_seed_keypair(b"2" * 32)
    expected = native.sign(first, PAYLOAD), native.sign(second, PAYLOAD)
    for mixed in (first[:32] + second_public, second[:32] + first_public, first[:32] + bytes(32)):
        with pytest.raises(ValueError, match="belong together"):
            native.sign(mixed, PAYLOAD)
    assert (native.sign(first, PAYLOAD), native.sign(second, PAYLOAD)) == expected


# ---- what is remembered, and threads


def test_more_authors_than_are_remembered_verify_again_and_again(native: Native) -> None:
    authors = [crypto_sign_seed_keypair(number.to_bytes(32, "big")) for number in range(5000)]
    signatures = [native.sign(secret, PAYLOAD) for _, secret in authors]
    for _ in range(2):
        for (public_key, _), signature in zip(authors, signatures, strict=True):
            assert native.verify(public_key, signature, PAYLOAD)
            assert not native.verify(public_key, signature, PAYLOAD[1:])


def test_threads_do_not_disturb_each_other(native: Native) -> None:
    authors = [crypto_sign_seed_keypair(number.to_bytes(32, "big")) for number in range(20)]

    def work(number: int) -> bool:
        public_key, secret = authors[number % 20]
        payload = b"payload %d" % number
        signature = native.sign(secret, payload)
        return native.verify(public_key, signature, payload) and not native.verify(
            authors[(number + 1) % 20][0], signature, payload
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(2000)))


def test_other_threads_run_while_a_signature_is_checked(native: Native) -> None:
    public_key, secret = crypto_sign_seed_keypair(bytes(32))
    payload = bytes(64 << 20)
    signature = native.sign(secret, payload)
    assert any(runs_meanwhile(native, public_key, signature, payload) for _ in range(20))


def runs_meanwhile(native: Native, public_key: bytes, signature: bytes, payload: bytes) -> bool:
    """Whether this thread was seen at work in the middle of a long check in another one."""
    span: list[float] = []

    def check() -> None:
        span.append(time.perf_counter())
        native.verify(public_key, signature, payload)
        span.append(time.perf_counter())

    thread = threading.Thread(target=check)
    thread.start()
    seen = []
    while thread.is_alive():
        seen.append(time.perf_counter())
        time.sleep(0)
    thread.join()
    begin, end = span
    margin = (end - begin) / 4
    return any(begin + margin < moment < end - margin for moment in seen)


# ---- the build


def test_the_build_asks_for_avx512_by_itself(native: Native) -> None:
    if platform.machine() != "x86_64" or not shutil.which("rustc") or "RUSTFLAGS" in os.environ:
        pytest.skip("built elsewhere, or not for this processor")
    version = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout
    newer = tuple(map(int, version.split()[1].split(".")[:2])) >= (1, 89)
    expected = "avx512" if newer else "default"
    assert expected == native.BACKEND
