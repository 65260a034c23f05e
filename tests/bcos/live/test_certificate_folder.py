"""Every way in which certificates can be wrong, before any connection, in a sentence."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from rumormill.bcos.live.certificate_folder import is_sdk_folder, load_certificates, role_of
from rumormill.bcos.live.chain_maker import Authority, key_pem, new_key
from rumormill.core.errors import ConfigError
from tests.helpers.bcos.chains import (
    CA,
    LEAF,
    P256,
    authority,
    certificate,
    good_authorities,
    node_folder,
    openssl,
    openssl_chain,
    rsa_key,
    write_folder,
    write_key,
)


def refused(folder: Path, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        load_certificates(folder)
    assert caught.value.key == "certificates"
    assert "\n" not in str(caught.value)


def test_a_good_folder_tells_who_its_node_is(tmp_path: Path) -> None:
    key = ec.derive_private_key(7, ec.SECP256K1())
    loaded = load_certificates(node_folder(tmp_path / "node", key=key))
    assert (loaded.role, loaded.own.profile, loaded.channel) == ("node", "ec", None)
    assert loaded.identity.node_id.startswith("5cbdf0646e5db4eaa398f365f2ea7a0e3d419b7e0330e39ce9")
    assert (loaded.identity.name, loaded.identity.agency) == ("node0", "agency")


def test_chains_of_the_openssl_command_are_loaded(tmp_path: Path) -> None:
    made = openssl_chain(tmp_path / "made")
    node, sdk = load_certificates(made / "conf"), load_certificates(made / "sdk")
    rsa_sdk = load_certificates(made / "rsa_sdk")
    assert (node.role, sdk.role, rsa_sdk.role) == ("node", "sdk", "sdk")
    assert node.channel is not None
    assert (node.channel.profile, sdk.own.profile, rsa_sdk.own.profile) == ("rsa", "ec", "rsa")
    printed = openssl("x509", "-in", made / "conf/node.crt", "-noout", "-text")
    point = re.sub(r"[\s:]", "", printed.split("pub:")[1].split("ASN1")[0])
    assert "04" + node.identity.node_id == point
    assert sdk.identity.issuer == node.identity.issuer
    assert rsa_sdk.identity.issuer == node.channel.identity.issuer != node.identity.issuer


def test_a_leaf_may_come_from_the_ca_itself(tmp_path: Path) -> None:
    ca, key = authority("ca"), new_key("ec")
    leaf = certificate("node0", key, ca, LEAF)
    folder = write_folder(tmp_path / "node", (leaf,), ca.certificate, key)
    assert load_certificates(folder).identity.agency == "ca"


# ---- files


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    refused(tmp_path / "nothing", "the folder .*nothing is missing")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "the folder .*file is no folder")


def test_a_folder_of_nobody_is_told_and_that_of_a_chain_with_what_to_give(tmp_path: Path) -> None:
    refused(tmp_path, "holds neither node.crt nor sdk.crt$")
    (tmp_path / "nodes").mkdir()
    refused(tmp_path, "give one of its folders nodes/N and sdks/N")


def test_a_folder_of_two_is_told(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node")
    (folder / "sdk.crt").touch()
    refused(folder, "holds both node.crt and sdk.crt")
    assert not is_sdk_folder(folder)


@pytest.mark.parametrize("name", ["ca.crt", "node.key"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = node_folder(tmp_path / "node", lambda made: (made / name).unlink())
    refused(folder, f"{name} is missing$")


@pytest.mark.parametrize("name", ["ca.crt", "node.crt", "node.key"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no PEM at all",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"\xff" * 100,
    ],
)
def test_what_is_no_pem_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    folder = node_folder(tmp_path / "node", lambda made: write_key(made / name, content))
    kind = "private key" if name.endswith("key") else "certificate"
    refused(folder, f"{name} holds no {kind} in PEM that can be read")


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node", lambda made: write_key(made / "ca.crt", b"#" * 100_000))
    refused(folder, "ca.crt has more than 65536 bytes")


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node", lambda made: (made / "node.key").chmod(0o644))
    refused(folder, "node.key can be read or changed by others .*chmod 600")


def test_a_ca_that_others_can_change_is_refused(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node", lambda made: (made / "ca.crt").chmod(0o666))
    refused(folder, "ca.crt can be changed by others")


# ---- keys


def test_the_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    folder = node_folder(
        tmp_path / "node", lambda made: write_key(made / "node.key", key_pem(new_key("ec")))
    )
    refused(folder, "node.key is not the key of .*node.crt")


def test_an_encrypted_key_is_told_with_the_command_that_decrypts_it(tmp_path: Path) -> None:
    key = new_key("ec")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    folder = node_folder(tmp_path / "node", lambda made: write_key(made / "node.key", pem), key=key)
    refused(folder, "node.key is encrypted; decrypt it: openssl pkcs8")


def test_keys_in_the_older_format_with_their_curve_are_read(tmp_path: Path) -> None:
    key = new_key("ec")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    (tmp_path / "encrypted").write_bytes(pem)
    folder = node_folder(tmp_path / "node", key=key)
    openssl("ec", "-in", tmp_path / "encrypted", "-passin", "pass:word", "-out", folder / "new")
    write_key(folder / "node.key", b"".join((
        openssl("ecparam", "-name", "secp256k1").encode(), (folder / "new").read_bytes()
    )))  # fmt: skip
    assert b"BEGIN EC PARAMETERS" in (folder / "node.key").read_bytes()
    assert load_certificates(folder).role == "node"


def test_a_key_on_another_curve_is_refused(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node", key=ec.generate_private_key(P256))
    refused(folder, "node.crt: its key must be on secp256k1.*one on secp256r1")


def test_rsa_is_for_sdks_only(tmp_path: Path) -> None:
    refused(node_folder(tmp_path / "node", key=rsa_key()), "RSA goes into channel_cert")


def test_a_small_rsa_key_is_refused(tmp_path: Path) -> None:
    refused(node_folder(tmp_path / "node", key=rsa_key(1024)), "1024 bits, 2048 are needed")


def test_the_channel_profile_must_be_rsa_and_is_checked_alike(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node")
    node_folder(folder / "channel_cert")
    refused(folder, "channel_cert/node.crt: must be of the RSA profile")
    (folder / "channel_cert/node.key").unlink()
    refused(folder, "channel_cert/node.key is missing")


# ---- what the leaf says


def test_a_leaf_without_basic_constraints_is_refused(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node", constraints=None)
    refused(folder, "node.crt: .*no basicConstraints.*CA:FALSE")


def test_a_leaf_that_is_a_ca_is_refused(tmp_path: Path) -> None:
    refused(node_folder(tmp_path / "node", constraints=CA), "is one of a CA")


def test_an_expired_leaf_is_told_with_its_date(tmp_path: Path) -> None:
    end = datetime.now(UTC) - timedelta(days=2)
    folder = node_folder(tmp_path / "node", begin=timedelta(days=-9), end=timedelta(days=-2))
    refused(folder, f"node.crt: the certificate expired at {end:%Y-%m-%d}")


def test_a_leaf_of_tomorrow_is_told_with_its_date(tmp_path: Path) -> None:
    begin = datetime.now(UTC) + timedelta(days=2)
    folder = node_folder(tmp_path / "node", begin=timedelta(days=2))
    refused(folder, f"not valid before {begin:%Y-%m-%d} .*is the clock right")


def test_dates_are_those_of_the_time_given(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node")
    with pytest.raises(ConfigError, match="expired"):
        load_certificates(folder, now=datetime.now(UTC) + timedelta(days=400))


# ---- who issued it


def issued_by(tmp_path: Path, *issuers: Authority, ca: Authority) -> Path:
    """A folder whose leaf comes with these behind it, the last one first among them."""
    key = new_key("ec")
    leaf = certificate("node0", key, issuers[-1], LEAF)
    behind = tuple(each.certificate for each in reversed(issuers))
    return write_folder(tmp_path / "node", (leaf, *behind), ca.certificate, key)


@pytest.mark.parametrize("name", ["ca", "another"])
def test_another_ca_is_told_apart_by_its_key(tmp_path: Path, name: str) -> None:
    other = authority(name)
    folder = issued_by(tmp_path, other, authority("agency", other), ca=good_authorities()[0])
    refused(folder, "node.crt was issued by another CA than .*ca.crt")


def test_an_agency_of_an_unknown_ca_is_told(tmp_path: Path) -> None:
    other = authority("another")
    folder = issued_by(tmp_path, authority("agency", other), ca=good_authorities()[0])
    refused(folder, "not issued by .*ca.crt: CN=agency was issued by CN=another")


@pytest.mark.parametrize("behind", [(), (0,)])
def test_a_missing_agency_is_told(tmp_path: Path, behind: tuple[int, ...]) -> None:
    authorities, key = good_authorities(), new_key("ec")
    leaf = certificate("node0", key, authorities[1], LEAF)
    chain = (leaf, *(authorities[each].certificate for each in behind))
    folder = write_folder(tmp_path / "node", chain, authorities[0].certificate, key)
    refused(folder, "lacks the certificate of its issuer CN=agency")


def test_a_ca_file_without_a_root_is_told(tmp_path: Path) -> None:
    ca, agency = good_authorities()
    refused(
        issued_by(tmp_path, ca, agency, ca=agency), "ca.crt holds no CA that vouches for itself"
    )


def test_an_expired_agency_or_ca_is_told_by_name(tmp_path: Path) -> None:
    old: dict[str, Any] = {"begin": timedelta(days=-9), "end": timedelta(days=-2)}
    ca = authority("ca")
    folder = issued_by(tmp_path / "1", ca, authority("agency", ca, **old), ca=ca)
    refused(folder, "of its issuer CN=agency expired")
    ca = authority("ca", **old)
    folder = issued_by(tmp_path / "2", ca, authority("agency", ca), ca=ca)
    refused(folder, "ca.crt: the certificate of the CA CN=ca expired")


@pytest.mark.parametrize("constraints", [LEAF, None])
def test_an_agency_that_is_no_ca_is_told(tmp_path: Path, constraints: object) -> None:
    ca = authority("ca")
    folder = issued_by(tmp_path, ca, authority("agency", ca, constraints=constraints), ca=ca)
    refused(folder, "CN=agency issued certificates and is no CA")


def test_certificates_that_vouch_for_each_other_lead_to_no_endless_search(tmp_path: Path) -> None:
    ca, first = authority("ca"), authority("first")
    second = authority("second", first)
    first_again = Authority(certificate("first", first.key, second, CA), first.key)
    folder = issued_by(tmp_path, second, first_again, ca=ca)
    refused(folder, "in a circle")


def test_what_only_the_tls_library_dislikes_is_told_too(tmp_path: Path) -> None:
    root = authority("ca", constraints=None)  # of version 3, where old ones are of version 1
    refused(issued_by(tmp_path, root, ca=root), "node.crt: TLS refuses it: ")


# ---- GM


@pytest.mark.parametrize("name", ["gmca.crt", "gmnode.crt", "gmsdk.crt", "gm/gmsdk.crt"])
def test_files_of_the_gm_profile_are_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    refused(tmp_path, f"{name}: the GM/SM TLS profile is not supported")


@pytest.mark.parametrize("name", ["node.crt", "node.key", "ca.crt"])
def test_the_curve_of_the_gm_profile_is_told(tmp_path: Path, name: str) -> None:
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:SM2")
    openssl("genpkey", *curve, "-out", tmp_path / "made.key")
    openssl("req", "-x509", "-key", tmp_path / "made.key", "-subj", "/CN=sm",
            "-out", tmp_path / "made.crt")  # fmt: skip
    content = (tmp_path / f"made{Path(name).suffix}").read_bytes()
    folder = node_folder(tmp_path / "node", lambda made: write_key(made / name, content))
    refused(folder, f"{name}: the GM/SM TLS profile is not supported")


def test_a_folder_with_both_profiles_is_used_by_the_one_that_works(tmp_path: Path) -> None:
    folder = node_folder(tmp_path / "node", lambda made: (made / "gmnode.crt").touch())
    assert load_certificates(folder).role == "node"


# ---- roles


def test_the_role_is_known_by_names_alone(tmp_path: Path) -> None:
    (tmp_path / "sdk.crt").touch()
    assert role_of(tmp_path) == "sdk"
    assert is_sdk_folder(tmp_path)
    assert is_sdk_folder(str(tmp_path))
    assert not is_sdk_folder(tmp_path / "nothing")
    assert not is_sdk_folder(None)
