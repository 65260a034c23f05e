from __future__ import annotations

from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.key_names import key_name, key_named_by
from rumormill.ndn.security.keys import (
    Ed25519Key,
    HmacKey,
    PublicKey,
    RsaKey,
    public_key,
    public_key_from_pem,
    public_key_from_text,
)
from rumormill.ndn.security.private_keys import KINDS, PrivateKey
from rumormill.ndn.wire.name import name_from_uri, name_to_uri

ALICE = name_from_uri("/alice")
NAME = name_from_uri("/alice/KEY/1")
DER = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
PEM = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def keys_of_all_kinds() -> list[PublicKey]:
    return [
        PrivateKey.generate(Random(1), ALICE, "ed25519").public_key,
        PrivateKey.generate(Random(1), ALICE, "ecdsa").public_key,
        RsaKey(NAME, rsa.generate_private_key(65537, 2048).public_key()),
    ]


def test_a_public_key_is_the_same_after_it_was_written_and_read() -> None:
    for key in keys_of_all_kinds():
        found = public_key_from_text(key.text)
        assert type(found) is type(key)
        assert (found.name, found.spki, found.digest) == (key.name, key.spki, key.digest)


def test_a_shared_secret_has_no_public_text() -> None:
    with pytest.raises(LocalProtocolError, match="a shared secret: it has no public part"):
        HmacKey(NAME, bytes(32)).text  # noqa: B018


def test_a_key_in_pem_gets_its_name_from_the_caller() -> None:
    pem = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(*PEM)
    assert public_key_from_pem(NAME, pem).uri == "/alice/KEY/1"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "one line"),
        ("ssh-ed25519 /a AAAA", "one line"),
        ("ndn-ed25519 /a", "one line"),
        ("ndn-ed25519 /a AAAA more", "one line"),
        ("ndn-ed25519 /a " + "A" * 5000, "one line"),
        ("ndn-ed25519 /a/KEY/1 !!!!", "not base64"),
        ("ndn-ed25519 /a/KEY/1 AAAA", "damaged, or of an unknown kind"),
        ("ndn-ed25519 / " + Ed25519Key(NAME, bytes(32)).text.split()[2], "must have a name"),
        ("ndn-ecdsa /a/KEY/1 " + Ed25519Key(NAME, bytes(32)).text.split()[2], "the key is ndn-ed"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(text: str, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        public_key_from_text(text)


@given(st.binary(max_size=200), st.text(max_size=200))
def test_any_other_bytes_and_texts_are_refused_in_a_sentence(raw: bytes, text: str) -> None:
    for read in (public_key, public_key_from_pem):
        with pytest.raises(LocalProtocolError):
            read(NAME, raw)
    for line in (text, "ndn-ecdsa /a " + text):
        with pytest.raises(LocalProtocolError):
            public_key_from_text(line)


def test_keys_that_are_too_short_or_of_another_kind_are_refused() -> None:
    short = rsa.generate_private_key(65537, 1024).public_key().public_bytes(*DER)
    with pytest.raises(LocalProtocolError, match="1024 bits"):
        public_key(NAME, short)
    strange = ec.generate_private_key(ec.SECP256K1()).public_key().public_bytes(*DER)
    with pytest.raises(LocalProtocolError, match="secp256k1"):
        public_key(NAME, strange)
    other = dsa.generate_parameters(1024).generate_private_key().public_key().public_bytes(*DER)
    with pytest.raises(LocalProtocolError, match="another kind"):
        public_key(NAME, other)
    with pytest.raises(LocalProtocolError, match="5000 bytes"):
        public_key(NAME, bytes(5000))
    with pytest.raises(LocalProtocolError, match="16 bytes at least"):
        HmacKey(NAME, bytes(15))
    with pytest.raises(LocalProtocolError, match="32 bytes, not 5"):
        Ed25519Key(NAME, bytes(5))


# ---- names


@pytest.mark.parametrize(
    ("locator", "key"),
    [
        ("/alice/KEY/1", "/alice/KEY/1"),
        ("/alice/KEY/1/self/54=%01", "/alice/KEY/1"),
        ("/alice/KEY/1/self/54=%01/sha256digest=" + "00" * 32, "/alice/KEY/1"),
        ("/KEY/1", "/KEY/1"),
        ("/KEY/KEY/KEY/KEY", "/KEY/KEY/KEY/KEY"),
        ("/alice/KEY/KEY/KEY/54=%01", "/alice/KEY/KEY/KEY/54=%01"),
        ("/alice/KEY", "/alice/KEY"),
        ("/KEY", "/KEY"),
        ("/alice", "/alice"),
        ("/", "/"),
        ("/alice/KEY/1/a/b/c/d", "/alice/KEY/1/a/b/c/d"),
        ("/alice/32=KEY/1/self/54=%01", "/alice/32=KEY/1/self/54=%01"),
    ],
)
def test_a_certificate_names_its_key(locator: str, key: str) -> None:
    assert name_to_uri(key_named_by(name_from_uri(locator))) == key


def test_a_key_that_is_given_by_its_certificates_name_is_known_by_its_own() -> None:
    assert Ed25519Key(name_from_uri("/alice/KEY/1/self/54=%01"), bytes(32)).uri == "/alice/KEY/1"


# ---- keys of our own


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_of_ours_is_the_same_after_it_was_written_and_read(kind: str) -> None:
    key = PrivateKey.generate(Random(3), ALICE, kind)
    found = PrivateKey.from_json(key.to_json())
    assert (found.kind, found.name, found.type) == (kind, key.name, f"ndn-{kind}")
    value = found.signer.sign(b"x")
    assert key.public_key.verify(b"x", value)
    assert found.signer.key_name == key.name
    assert key.to_json()["secret"] not in repr(key)


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_a_new_key_tells_its_owner_and_is_its_own(kind: str) -> None:
    keys = {PrivateKey.generate(Random(n), ALICE, kind).uri for n in range(5)}
    assert len(keys) == 5
    assert all(uri.startswith("/alice/KEY/") for uri in keys)


def test_one_seed_makes_one_key() -> None:
    for kind in KINDS:
        first, second = (PrivateKey.generate(Random(5), ALICE, kind) for _ in range(2))
        assert first.to_json() == second.to_json()


def test_a_secret_must_fit_its_kind() -> None:
    with pytest.raises(LocalProtocolError, match="no kind of key; there are ed25519, ecdsa, hmac"):
        PrivateKey.generate(Random(1), ALICE, "dsa")
    for number in (bytes(32), b"\xff" * 32, bytes(31) + b"\1" + b"\0"):
        with pytest.raises(LocalProtocolError, match="a number below P-256's order"):
            PrivateKey("ecdsa", NAME, number)
    with pytest.raises(LocalProtocolError, match="at most"):
        PrivateKey("hmac", NAME, bytes(2000))


def test_an_id_is_text() -> None:
    assert key_name(ALICE, "1") == NAME
