from __future__ import annotations

import json
import stat
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ndn.app_support.security_v2 import self_sign
from ndn.security.signer import DigestSha256Signer

from rumormill.cli.keys import replace_key
from rumormill.core.errors import ConfigError
from rumormill.ndn.live.key_file import (
    create_key,
    describe_key,
    load_key,
    load_public_key,
    load_signer,
    load_trust,
    split_rule,
)
from rumormill.ndn.security.private_keys import KINDS, PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.name import name_from_uri, name_to_uri
from rumormill.ndn.wire.signature import Signature, Signer

WEATHER = name_from_uri("/weather")
NEWS = name_from_uri("/news")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "alice.json"


def write(path: Path, content: dict[str, Any]) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(content))


def signature_of(signer: Signer) -> Signature:
    return Signature(signer.type, signer.key_name, None, signer.sign(b"covered"), b"covered")


DIGEST = signature_of(DigestSigner())

# ---- keys of our own


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_found_again_and_is_its_owners_alone(path: Path, kind: str) -> None:
    made = create_key(path, "/alice", kind)
    assert describe_key(path) == made
    assert list(made) == ["id", "type", "public_key"]
    assert made["id"].startswith("/alice/KEY/")
    assert made["type"] == kind
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_signer(path).key_name == name_from_uri(made["id"])
    with pytest.raises(FileExistsError):
        path.with_suffix(".pub").unlink(missing_ok=True)
        create_key(path)


def test_the_public_part_lies_beside_it_for_everybody_to_read(path: Path) -> None:
    made = create_key(path)
    beside = path.with_suffix(".pub")
    assert beside.read_text() == made["public_key"] + "\n"
    assert stat.S_IMODE(beside.stat().st_mode) & 0o444 == 0o444
    assert load_public_key(beside) == load_key(path).public_key


def test_a_shared_secret_has_no_public_part(path: Path) -> None:
    made = create_key(path, kind="hmac")
    assert made["public_key"] is None
    assert [file.name for file in path.parent.iterdir()] == ["alice.json"]


def test_a_public_part_of_somebody_elses_is_not_overwritten(path: Path) -> None:
    path.with_suffix(".pub").write_text("of Alice")
    with pytest.raises(ConfigError, match=r"alice\.pub exists"):
        create_key(path)
    assert not path.exists()


def test_a_key_that_replaces_another_replaces_its_public_part_too(path: Path) -> None:
    first = create_key(path)
    second = replace_key(path, create_key)
    assert first["id"] != second["id"]
    assert describe_key(path) == second
    assert path.with_suffix(".pub").read_text() == second["public_key"] + "\n"
    assert len(list(path.parent.iterdir())) == 2


def test_a_missing_file_is_told_with_the_command_that_makes_it(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_signer(path)
    assert str(caught.value) == (
        f"key_file: {path} does not exist; rumormill keygen --network ndn --out {path} makes it"
    )


def test_a_key_that_others_can_read_is_refused(path: Path) -> None:
    create_key(path)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read or changed by others"):
        load_signer(path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"type": "ed25519"}, "its \"type\" is 'ed25519', not one of ndn-ed25519"),
        ({"type": ["ndn-ed25519"]}, 'its "type" is'),
        ({"name": None}, '"name" is missing'),
        ({"name": "/"}, "must have a name"),
        ({"name": "/%zz"}, "holds no key for ndn"),
        ({"secret": "zz"}, '"secret" is missing or not hex'),
        ({"secret": None}, '"secret" is missing or not hex'),
        ({"secret": "00"}, "32 bytes, not 1"),
        ({"type": "ndn-hmac", "secret": "00"}, "16 bytes at least, not 1"),
        ({"type": "ndn-ecdsa", "secret": "00" * 32}, "a number below P-256's order"),
        ({"public_key": "00" * 32}, '"public_key" is not the one of its secret'),
    ],
)
def test_a_file_without_a_key_is_named(path: Path, change: dict[str, Any], problem: str) -> None:
    create_key(path)
    content = json.loads(path.read_text())
    write(path, {**content, **change})
    with pytest.raises(ConfigError) as caught:
        load_signer(path)
    assert str(caught.value).startswith(f"key_file: {path} holds no key for ndn: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"[1]", b"[" * 60_000, b"x" * 100_000])
def test_any_other_file_is_no_key(path: Path, raw: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(raw)
    with pytest.raises(ConfigError, match="holds no key"):
        load_signer(path)
    with pytest.raises(ConfigError, match="holds no key"):
        load_public_key(path)


def test_a_wrong_kind_or_identity_is_named(path: Path) -> None:
    with pytest.raises(ConfigError, match="kind: 'dsa' is no kind of key"):
        create_key(path, kind="dsa")
    with pytest.raises(ConfigError, match="identity: "):
        create_key(path, "/%zz")


# ---- keys of others


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_names_the_key_of_a_topic(path: Path, kind: str) -> None:
    create_key(path, "/alice", kind)
    file = path if kind == "hmac" else path.with_suffix(".pub")
    trust = load_trust([f"/weather={file}"])
    signature = signature_of(load_signer(path))
    assert trust.verdict(WEATHER, signature)
    assert not trust.verdict(WEATHER, DIGEST)
    assert trust.verdict(NEWS, DIGEST)


def test_a_rule_may_hold_the_key_itself(path: Path) -> None:
    made = create_key(path)
    for rule in (f"/weather={made['public_key']}", f"/8=weather={made['public_key']}"):
        trust = load_trust([rule])
        assert trust.verdict(WEATHER, signature_of(load_signer(path)))
        assert not trust.verdict(WEATHER, DIGEST)


def test_a_key_without_a_topic_is_known_for_all_open_ones(path: Path) -> None:
    made = create_key(path)
    for known in (str(path.with_suffix(".pub")), str(path), made["public_key"]):
        trust = load_trust([known])
        assert trust.verdict(WEATHER, signature_of(load_signer(path)))
        assert trust.verdict(WEATHER, DIGEST)


def test_our_own_key_is_known(path: Path) -> None:
    create_key(path)
    key = load_key(path)
    assert load_trust([], [key.public_key]).verdict(WEATHER, signature_of(key.signer))


def test_several_rules_add_up_and_a_topic_can_be_opened_again(tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        create_key(tmp_path / f"{name}.json", f"/{name}")
    trust = load_trust([
        f"/={tmp_path}/alice.pub", f"/={tmp_path}/bob.pub", "/news=open",
    ])  # fmt: skip
    for name in ("alice", "bob"):
        assert trust.verdict(WEATHER, signature_of(load_signer(tmp_path / f"{name}.json")))
    assert not trust.verdict(WEATHER, DIGEST)
    assert trust.verdict(NEWS, DIGEST)


def test_a_certificate_will_do(tmp_path: Path) -> None:
    key = PrivateKey.generate(Random(1), name_from_uri("/alice"), "ecdsa")
    _, raw = self_sign(key.uri, key.public_key.spki, DigestSha256Signer())
    file = tmp_path / "alice.ndncert"
    file.write_bytes(bytes(raw))
    assert load_trust([f"/weather={file}"]).verdict(WEATHER, signature_of(key.signer))


@pytest.mark.parametrize(
    ("rule", "prefix", "key"),
    [
        ("/a=b.pub", "/a", "b.pub"),
        ("ndn:/a=b.pub", "/a", "b.pub"),
        ("/54=%01=b.pub", "/54=%01", "b.pub"),
        ("/=b.pub", "/", "b.pub"),
        ("b.pub", None, "b.pub"),
        ("/home/alice/b.pub", None, "/home/alice/b.pub"),
        ("/a=ndn-rsa /54=x/KEY/1 AA==", "/a", "ndn-rsa /54=x/KEY/1 AA=="),
        ("/54=%01=ndn-rsa /x/KEY/1 AA==", "/54=%01", "ndn-rsa /x/KEY/1 AA=="),
        ("ndn-rsa /54=x/KEY/1 AA==", None, "ndn-rsa /54=x/KEY/1 AA=="),
    ],
)
def test_a_rule_is_a_topic_prefix_and_a_key(rule: str, prefix: str | None, key: str) -> None:
    found, given = split_rule(rule)
    assert (None if found is None else name_to_uri(found), given) == (prefix, key)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("/weather=", "/weather=: no file follows the ="),
        ("weather=x.pub", "weather=x.pub: weather is no topic prefix: "),
        ("/weather=/nowhere/x.pub", "x.pub"),
        ("/weather=ndn-rsa /a/KEY/1 AAAA", "ndn-rsa /a/KEY/1 AAAA: the public key is damaged"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_with_it(rule: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_trust([rule])
    assert str(caught.value).startswith("trust: ")
    assert problem in str(caught.value)


def test_what_is_wrong_with_a_file_is_told_with_its_name(tmp_path: Path, path: Path) -> None:
    file = tmp_path / "x.pub"
    with pytest.raises(ConfigError, match=f"trust: {file} does not exist"):
        load_trust([f"/weather={file}"])
    file.write_text("ndn-ed25519 /a/KEY/1 AAAA")
    with pytest.raises(ConfigError, match=f"trust: {file} holds no key: the public key is damaged"):
        load_trust([f"/weather={file}"])
    file.write_text("-----BEGIN PUBLIC KEY-----\n")
    with pytest.raises(ConfigError, match="PEM has no name for it"):
        load_trust([str(file)])
    file.chmod(0o666)
    with pytest.raises(ConfigError, match=r"trust: .*x\.pub can be changed by others"):
        load_trust([str(file)])
    create_key(path, kind="hmac")
    path.chmod(0o644)
    with pytest.raises(ConfigError, match=r"trust: .*alice\.json can be read or changed by others"):
        load_trust([str(path)])


def test_two_keys_of_one_name_are_named(tmp_path: Path) -> None:
    name = name_from_uri("/alice/KEY/1")
    lines = [PrivateKey("ed25519", name, bytes([n] * 32)).public_text for n in range(2)]
    with pytest.raises(ConfigError, match="trust: two keys are called /alice/KEY/1"):
        load_trust([f"/weather={line}" for line in lines])
