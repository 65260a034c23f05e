from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from rumormill.bcos.certificates.identity import node_identity_of
from rumormill.bcos.live import tls_contexts
from rumormill.bcos.live.certificate_folder import load_certificates
from rumormill.core.errors import ConfigError
from tests.helpers.bcos.chains import node_folder, openssl_chain

Ends = tuple[ssl.SSLObject, ssl.SSLObject]


def meet(client: ssl.SSLContext, server: ssl.SSLContext) -> Ends:
    """A handshake in memory; whoever refuses raises."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, True)
    left = list(ends)
    for _ in range(8):
        for end in list(left):
            try:
                end.do_handshake()
                left.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert left == []
    return ends


def who(end: ssl.SSLObject) -> str:
    """The node id of the other side."""
    credentials = end.getpeercert(binary_form=True)
    assert credentials is not None
    return node_identity_of(credentials).node_id


def cipher(end: ssl.SSLObject) -> str:
    chosen = end.cipher()
    assert chosen is not None
    return chosen[0]


def test_two_nodes_learn_who_the_other_is(chain: Path) -> None:
    first, second = (load_certificates(chain / "nodes" / n) for n in "01")
    client, server = meet(tls_contexts.p2p_client(first), tls_contexts.p2p_server(second))
    assert who(client) == second.identity.node_id
    assert who(server) == first.identity.node_id
    assert client.version() == "TLSv1.2"
    assert cipher(client) == "ECDHE-ECDSA-AES256-GCM-SHA384"
    assert client.compression() is None


def test_an_sdk_of_each_profile_meets_the_channel(chain: Path) -> None:
    node, sdk = load_certificates(chain / "nodes/0"), load_certificates(chain / "sdks/1")
    _, server = meet(tls_contexts.sdk_client(sdk), tls_contexts.channel_server(node))
    assert who(server) == sdk.identity.node_id
    for_rsa = tls_contexts.rsa_channel_server(node)
    assert for_rsa is not None
    _, server = meet(tls_contexts.sdk_client(sdk, rsa=True), for_rsa)
    assert cipher(server) == "ECDHE-RSA-AES256-GCM-SHA384"
    alone = load_certificates(chain / "sdks/1/channel_cert")
    _, server = meet(tls_contexts.sdk_client(alone), for_rsa)
    assert cipher(server) == "ECDHE-RSA-AES256-GCM-SHA384"


def test_certificates_of_openssl_meet_alike(tmp_path: Path) -> None:
    made = openssl_chain(tmp_path / "made")
    node = load_certificates(made / "conf")
    meet(tls_contexts.p2p_client(node), tls_contexts.p2p_server(node))
    sdk = load_certificates(made / "sdk")
    meet(tls_contexts.sdk_client(sdk), tls_contexts.channel_server(node))
    for_rsa = tls_contexts.rsa_channel_server(node)
    assert for_rsa is not None
    meet(tls_contexts.sdk_client(load_certificates(made / "rsa_sdk")), for_rsa)


def stranger(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> ssl.SSLContext:
    """A client without a certificate, which trusts everyone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if version == ssl.TLSVersion.TLSv1_2:
        context.set_ecdh_curve("secp256k1")  # newer ones have no such group
    return context


def test_a_client_without_a_certificate_is_refused(chain: Path) -> None:
    node = load_certificates(chain / "nodes/0")
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        meet(stranger(), tls_contexts.p2p_server(node))
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        meet(stranger(), tls_contexts.channel_server(node))


def test_no_other_version_is_spoken(chain: Path) -> None:
    node = load_certificates(chain / "nodes/0")
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        meet(stranger(ssl.TLSVersion.TLSv1_3), tls_contexts.p2p_server(node))


def test_no_other_curve_is_used_on_secp256k1_servers(chain: Path) -> None:
    node = load_certificates(chain / "nodes/0")
    client = tls_contexts.p2p_client(node)
    client.set_ecdh_curve("prime256v1")
    with pytest.raises(ssl.SSLError, match="NO_SHARED_CIPHER"):
        meet(client, tls_contexts.p2p_server(node))


def test_each_side_refuses_the_certificate_of_another_ca(chain: Path, tmp_path: Path) -> None:
    node, other = (
        load_certificates(chain / "nodes/0"),
        load_certificates(node_folder(tmp_path / "n")),
    )
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(tls_contexts.p2p_client(node), tls_contexts.p2p_server(other))
    careless = tls_contexts.p2p_client(other)
    careless.verify_mode = ssl.CERT_NONE
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(careless, tls_contexts.p2p_server(node))


def test_nodes_do_not_trust_the_ca_of_the_rsa_profile(chain: Path) -> None:
    node = load_certificates(chain / "nodes/0")
    assert node.channel is not None
    rsa_alone = stranger()
    rsa_alone.load_cert_chain(node.channel.certificate, node.channel.key)
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(rsa_alone, tls_contexts.p2p_server(node))
    meet(rsa_alone, tls_contexts.channel_server(node))


def test_renegotiation_is_off(chain: Path) -> None:
    node = load_certificates(chain / "nodes/0")
    for context in (tls_contexts.p2p_server(node), tls_contexts.p2p_client(node)):
        assert context.options & ssl.OP_NO_RENEGOTIATION
        assert context.options & ssl.OP_NO_COMPRESSION


def test_a_folder_without_the_rsa_profile_has_no_such_server(tmp_path: Path) -> None:
    node = load_certificates(node_folder(tmp_path / "node"))
    assert tls_contexts.rsa_channel_server(node) is None
    with pytest.raises(ConfigError, match="holds no certificate of the RSA profile"):
        tls_contexts.sdk_client(node, rsa=True)


def test_an_sdk_is_no_node(chain: Path) -> None:
    sdk = load_certificates(chain / "sdks/0")
    with pytest.raises(ConfigError, match=r"sdks/0 is the folder of an SDK; a node needs"):
        tls_contexts.p2p_server(sdk)


def test_a_library_without_the_curve_is_told(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_contexts, "CURVE", "secp-of-atlantis")
    with pytest.raises(ConfigError, match=r"has no secp-of-atlantis: .*SSL"):
        load_certificates(chain / "nodes/0")


def test_an_sdk_of_each_profile_has_the_issuer_of_the_node(chain: Path) -> None:
    node, sdk = load_certificates(chain / "nodes/0"), load_certificates(chain / "sdks/0")
    assert set(sdk.issuers) == set(node.issuers)
    assert len(node.issuers) == 2
