from __future__ import annotations

import threading
from hashlib import sha256
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.keys import Ed25519Key, PublicKey
from rumormill.ndn.security.private_keys import KINDS, PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import CHEAP, Trust
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.signature import Signature, SignatureType, Signer

WEATHER = name_from_uri("/weather")
BERLIN = name_from_uri("/weather/berlin")
NEWS = name_from_uri("/news")
COVERED = b"what is covered"


def private_key(name: str = "alice", kind: str = "ed25519") -> PrivateKey:
    return PrivateKey.generate(Random(name), name_from_uri(f"/{name}"), kind)


ALICE = private_key("alice")
BOB = private_key("bob", "ecdsa")


def signature_of(signer: Signer, *, key_name: bytes | None = None) -> Signature:
    named = signer.key_name if key_name is None else key_name
    return Signature(signer.type, named, None, signer.sign(COVERED), COVERED)


DIGEST = signature_of(DigestSigner())
WRONG_DIGEST = Signature(SignatureType.DIGEST, None, None, bytes(32), COVERED)


def ruled(*keys: PrivateKey) -> Trust:
    return Trust({WEATHER: [key.public_key for key in keys]})


# ---- without rules


def test_a_digest_is_enough_for_an_open_topic_if_it_is_right() -> None:
    trust = Trust.open()
    assert trust.verdict(WEATHER, DIGEST)
    assert not trust.verdict(WEATHER, WRONG_DIGEST)


def test_an_interest_without_a_signature_is_worth_as_much_as_one_with_a_digest() -> None:
    assert Trust.open().verdict(WEATHER, None)
    assert not ruled(ALICE).verdict(WEATHER, None)
    assert ruled(ALICE).verdict(NEWS, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_that_claims_to_be_somebodys_is_verified_or_refused(kind: str) -> None:
    key = private_key("alice", kind)
    good = signature_of(key.signer)
    bad = Signature(good.type, good.key_name, None, good.value, COVERED + b"!")
    assert not Trust.open().verdict(WEATHER, good)
    known = Trust.open([key.public_key])
    assert known.verdict(WEATHER, good)
    assert not known.verdict(WEATHER, bad)


@pytest.mark.parametrize("below", ["", "/self/54=%01", "/issuer/v1"])
def test_a_locator_may_name_the_key_or_a_certificate_of_it(below: str) -> None:
    trust = Trust.open([ALICE.public_key])
    locator = name_from_uri(ALICE.uri + below)
    assert trust.verdict(WEATHER, signature_of(ALICE.signer, key_name=locator))


def test_a_locator_may_have_the_digest_of_the_key() -> None:
    good = signature_of(ALICE.signer)
    digest = sha256(ALICE.public_key.spki).digest()
    by_digest = good._replace(key_name=None, key_digest=digest)
    assert Trust.open([ALICE.public_key]).verdict(WEATHER, by_digest)
    assert not Trust.open([BOB.public_key]).verdict(WEATHER, by_digest)


def test_a_signature_that_names_no_key_or_another_is_refused() -> None:
    trust = Trust.open([ALICE.public_key, private_key("carol", "hmac").public_key])
    good = signature_of(ALICE.signer)
    for name, digest in ((None, None), (b"", None), (None, b""), (BOB.name, None), (None, b"x")):
        assert not trust.verdict(WEATHER, good._replace(key_name=name, key_digest=digest))


def test_a_key_verifies_signatures_of_its_own_kind_alone() -> None:
    trust = Trust.open([ALICE.public_key, BOB.public_key])
    for type in range(300):
        expected = type == SignatureType.ED25519
        assert trust.verdict(WEATHER, signature_of(ALICE.signer)._replace(type=type)) is expected


@given(st.integers(0, 1 << 64), st.binary(max_size=80), st.binary(max_size=80))
def test_a_signature_of_an_unknown_type_is_refused(type: int, value: bytes, digest: bytes) -> None:
    trust = Trust.open([ALICE.public_key])
    signature = Signature(type, ALICE.name, digest, value, COVERED)
    assert not trust.verdict(WEATHER, signature)


# ---- with rules


def test_below_a_prefix_with_a_rule_only_its_keys_count() -> None:
    trust = Trust({WEATHER: [ALICE.public_key]}, [BOB.public_key])
    for topic in (WEATHER, BERLIN):
        assert trust.verdict(topic, signature_of(ALICE.signer))
        assert not trust.verdict(topic, signature_of(BOB.signer))
        assert not trust.verdict(topic, DIGEST)
    assert trust.verdict(NEWS, signature_of(BOB.signer))
    assert trust.verdict(NEWS, signature_of(ALICE.signer))
    assert trust.verdict(NEWS, DIGEST)
    assert trust.verdict(name_from_uri("/weatherman"), DIGEST)


def test_the_longest_prefix_counts() -> None:
    trust = Trust({
        b"": [],
        WEATHER: [ALICE.public_key],
        BERLIN: [BOB.public_key],
        NEWS: None,
    })  # fmt: skip
    assert trust.verdict(WEATHER, signature_of(ALICE.signer))
    assert trust.verdict(name_from_uri("/weather/bonn"), signature_of(ALICE.signer))
    assert not trust.verdict(BERLIN, signature_of(ALICE.signer))
    assert trust.verdict(name_from_uri("/weather/berlin/mitte"), signature_of(BOB.signer))
    assert not trust.verdict(name_from_uri("/else"), signature_of(ALICE.signer))
    assert not trust.verdict(name_from_uri("/else"), DIGEST)
    assert trust.verdict(name_from_uri("/news/today"), DIGEST)


def test_several_keys_may_publish_below_one_prefix() -> None:
    trust = ruled(ALICE, BOB)
    assert trust.verdict(WEATHER, signature_of(ALICE.signer))
    assert trust.verdict(WEATHER, signature_of(BOB.signer))


def test_one_key_may_be_given_twice_but_two_of_one_name_are_a_mistake() -> None:
    again = PrivateKey.from_json(ALICE.to_json()).public_key
    Trust({WEATHER: [ALICE.public_key, again]}, [again])
    other: PublicKey = Ed25519Key(ALICE.name, bytes(32))
    with pytest.raises(LocalProtocolError, match=f"two keys are called {ALICE.uri}"):
        Trust({WEATHER: [ALICE.public_key], NEWS: [other]})


def test_one_shared_secret_may_be_given_twice_too() -> None:
    secret = private_key("carol", "hmac")
    again = PrivateKey.from_json(secret.to_json()).public_key
    Trust({WEATHER: [secret.public_key], NEWS: [again]})
    other = PrivateKey("hmac", secret.name, bytes(32)).public_key
    with pytest.raises(LocalProtocolError, match="two keys are called"):
        Trust({WEATHER: [secret.public_key], NEWS: [other]})


# ---- what it costs


def test_only_what_is_verified_is_dear() -> None:
    trust = Trust.open([ALICE.public_key])
    assert trust.cost(None) == trust.cost(DIGEST) == CHEAP
    assert trust.cost(signature_of(BOB.signer)) == CHEAP
    assert trust.cost(signature_of(ALICE.signer)) == ALICE.public_key.cost > CHEAP


def test_any_thread_may_ask() -> None:
    trust = ruled(ALICE, BOB)
    found: list[bool] = []

    def ask() -> None:
        for _ in range(20):
            found.append(trust.verdict(WEATHER, signature_of(ALICE.signer)))
            found.append(trust.verdict(WEATHER, signature_of(BOB.signer)))
            found.append(not trust.verdict(WEATHER, DIGEST))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 240
    assert all(found)
