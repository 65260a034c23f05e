from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from cryptography import x509

from rumormill.bcos.live.certificate_folder import load_certificates
from rumormill.bcos.live.chain_folder import MOST, extend_chain
from rumormill.bcos.live.chain_maker import LIFETIME
from rumormill.bcos.live.pem_files import read_certificates, read_public_key, read_topic_key
from rumormill.core.errors import ConfigError
from tests.helpers.bcos.chains import openssl, verify

LEAVES = [
    *(f"nodes/{n}/{part}node" for n in range(2) for part in ("", "channel_cert/")),
    *(f"sdks/{n}/{part}sdk" for n in range(2) for part in ("", "channel_cert/")),
]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain with one node, to be copied: RSA keys take their time."""
    folder = tmp_path_factory.mktemp("original") / "chain"
    extend_chain(folder, nodes=1, sdks=0, topic_keys=0)
    return folder


@pytest.fixture
def small(original: Path, tmp_path: Path) -> Path:
    """A chain with one node, which a test may change."""
    return shutil.copytree(original, tmp_path / "small")


@pytest.mark.parametrize("leaf", LEAVES)
def test_openssl_verifies_every_leaf(chain: Path, leaf: str) -> None:
    path = chain / f"{leaf}.crt"
    top = chain / "channel" if "channel_cert" in leaf else chain
    assert f"{path}: OK" in verify(path, path.with_name("ca.crt"))
    assert f"{path}: OK" in verify(path, top / "ca.crt")
    other = chain if "channel_cert" in leaf else chain / "channel"
    with pytest.raises(AssertionError, match="verification failed"):
        verify(path, other / "ca.crt")


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_has_the_shape_that_other_tools_give_it(chain: Path, leaf: str) -> None:
    path = chain / f"{leaf}.crt"
    own, agency, ca = read_certificates(path)
    text = openssl("x509", "-in", path, "-noout", "-text")
    unit = path.stem
    number = path.relative_to(chain).parts[1]
    assert f"Subject: CN = {unit}{number}, O = fisco-bcos, OU = {unit}\n" in text
    assert "OU = agency" in text
    assert "CA:FALSE" in text
    assert "Digital Signature, Non Repudiation, Key Encipherment" in text
    rsa = "channel_cert" in leaf
    assert ("Public-Key: (2048 bit)" if rsa else "ASN1 OID: secp256k1") in text
    signature = "sha256WithRSAEncryption" if rsa else "ecdsa-with-SHA256"
    assert f"Signature Algorithm: {signature}" in text
    assert "Subject Key Identifier" in text
    assert "Authority Key Identifier" in text
    assert own.not_valid_after_utc - own.not_valid_before_utc > LIFETIME
    own.verify_directly_issued_by(agency)
    agency.verify_directly_issued_by(ca)
    assert [ca] == read_certificates(path.with_name("ca.crt"))


def test_keys_are_pkcs8_for_their_owner_alone_and_certificates_for_all(chain: Path) -> None:
    keys = [path for path in chain.rglob("*") if path.suffix == ".key" or path.stem == "private"]
    assert len(keys) == 4 + 2 * 4 + 1
    for key in keys:
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert key.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    for certificate in chain.rglob("*.crt"):
        assert certificate.stat().st_mode & stat.S_IRUSR


@pytest.mark.parametrize("place", ["nodes/0", "nodes/1", "sdks/0", "sdks/1", "sdks/0/channel_cert"])
def test_what_was_made_can_be_loaded(chain: Path, place: str) -> None:
    loaded = load_certificates(chain / place)
    assert loaded.role == ("node" if place.startswith("nodes") else "sdk")
    if not place.endswith("channel_cert"):
        assert loaded.channel is not None
        assert loaded.channel.profile == "rsa"


def test_the_keys_of_a_topic_are_a_pair_on_secp256k1(chain: Path) -> None:
    folder = chain / "topic_keys/0"
    private = read_topic_key(folder / "private.pem", "private_key")
    public = read_public_key(folder / "public.pem", "public_keys")
    assert private.public_key() == public
    assert (
        openssl("pkey", "-in", folder / "private.pem", "-pubout")
        == (folder / "public.pem").read_text()
    )
    with pytest.raises(ConfigError, match=r"^public_keys: .*holds no public key"):
        read_public_key(folder / "private.pem", "public_keys")
    with pytest.raises(
        ConfigError, match=r"^private_key: .*must be a key on secp256k1, not an RSA"
    ):
        read_topic_key(chain / "nodes/0/channel_cert/node.key", "private_key")


def test_a_second_call_adds_and_changes_nothing_that_is_there(small: Path) -> None:
    before = contents(small)
    made = extend_chain(small, nodes=2, sdks=1, topic_keys=1)
    told = [(key.kind, key.folder.relative_to(small).as_posix(), key.new) for key in made]
    assert told == [
        ("node", "nodes/0", False),
        ("node", "nodes/1", True),
        ("sdk", "sdks/0", True),
        ("topic_key", "topic_keys/0", True),
    ]
    after = contents(small)
    assert {path: after[path] for path in before} == before
    first, second = (load_certificates(small / "nodes" / n) for n in "01")
    assert first.own.trusted == second.own.trusted
    assert made[1].id == second.identity.node_id
    assert [key.id for key in extend_chain(small, 0, 0, 0)] == [key.id for key in made]
    assert contents(small) == after


def test_the_key_of_the_ca_may_be_elsewhere_once_there_is_an_agency(small: Path) -> None:
    (small / "ca.key").unlink()
    extend_chain(small, nodes=2, sdks=0, topic_keys=0)
    assert load_certificates(small / "nodes/1").role == "node"
    assert not (small / "ca.key").exists()


@pytest.mark.parametrize("lost", ["node.crt", "ca.crt", "channel_cert/node.crt"])
def test_what_a_killed_call_left_out_is_completed_with_the_same_key(small: Path, lost: str) -> None:
    before = load_certificates(small / "nodes/0").identity
    (small / "nodes/0" / lost).unlink()
    extend_chain(small, nodes=1, sdks=0, topic_keys=0)
    assert load_certificates(small / "nodes/0").identity == before


@pytest.mark.parametrize("stem", ["nodes/0/node", "agency"])
def test_a_lost_key_is_never_replaced_by_another(small: Path, stem: str) -> None:
    (small / f"{stem}.key").unlink()
    before = contents(small)
    with pytest.raises(ConfigError, match=rf"{stem}.key is missing, the key of .*{stem}.crt"):
        extend_chain(small, nodes=1, sdks=0, topic_keys=0)
    assert contents(small) == before


def test_an_agency_with_the_key_of_another_issues_nothing(small: Path) -> None:
    (small / "agency.key").write_bytes((small / "ca.key").read_bytes())
    with pytest.raises(ConfigError, match=r"agency.key is not the key of .*agency.crt"):
        extend_chain(small, nodes=2, sdks=0, topic_keys=0)
    assert not (small / "nodes/1").exists()


def test_keys_of_topics_need_no_chain(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    extend_chain(folder, nodes=0, sdks=0, topic_keys=2)
    assert [path.name for path in folder.iterdir()] == ["topic_keys"]
    extend_chain(folder, nodes=1, sdks=0, topic_keys=2)
    assert load_certificates(folder / "nodes/0").role == "node"


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, chain: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ConfigError, match=r"holds thesis.txt and no chain"):
        extend_chain(tmp_path, 1, 1, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(ConfigError, match=r"nodes/0 holds channel_cert and no chain"):
        extend_chain(chain / "nodes/0", 1, 1, 0)
    with pytest.raises(ConfigError, match=r"thesis.txt is a file"):
        extend_chain(tmp_path / "thesis.txt", 1, 1, 0)


def test_absurd_numbers_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"sdks: at most {MOST}"):
        extend_chain(tmp_path / "chain", 1, MOST + 1, 0)
    assert not (tmp_path / "chain").exists()


def test_authorities_say_that_they_are_ones(chain: Path) -> None:
    for place in (chain, chain / "channel"):
        for name in ("ca", "agency"):
            (found,) = read_certificates(place / f"{name}.crt")
            constraints = found.extensions.get_extension_for_class(x509.BasicConstraints)
            assert constraints.critical
            assert constraints.value.ca
