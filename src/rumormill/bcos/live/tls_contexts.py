"""TLS as this network has it: version 1.2 alone, both sides certified, no names of hosts.

The profile on secp256k1 offers that curve and no other for the key exchange, as nodes do; that of
RSA leaves it to the library. Python's TLS takes one curve or its own list, which has not this one,
so a server that speaks both profiles has two contexts and chooses by what the client offers.
"""

from __future__ import annotations

import ssl
from typing import Final

from rumormill.bcos.live.certificate_set import CertificateFolder, CertificateSet
from rumormill.bcos.live.pem_files import problem

CURVE: Final = "secp256k1"
MOST_TURNS: Final = 8
"""Of each side of a handshake; three are enough."""
CIPHERS: Final = {
    "ec": "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "rsa": "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305",
}
"""Forward secret and authenticated ones; SDKs and nodes of other make prefer the first of each."""


def p2p_server(folder: CertificateFolder) -> ssl.SSLContext:
    """For nodes that connect to this one."""
    return _context(ssl.PROTOCOL_TLS_SERVER, _node(folder).own, folder.own.trusted)


def p2p_client(folder: CertificateFolder) -> ssl.SSLContext:
    """For nodes that this one connects to."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, _node(folder).own, folder.own.trusted)


def channel_server(folder: CertificateFolder) -> ssl.SSLContext:
    """For SDKs that offer secp256k1; their own certificate may be of either profile."""
    return _context(ssl.PROTOCOL_TLS_SERVER, _node(folder).own, _all_trusted(folder))


def rsa_channel_server(folder: CertificateFolder) -> ssl.SSLContext | None:
    """For all other SDKs; None if the node has no certificate of the RSA profile."""
    channel = _node(folder).channel
    if channel is None:
        return None
    return _context(ssl.PROTOCOL_TLS_SERVER, channel, _all_trusted(folder))


def shown_by_sdk(folder: CertificateFolder, *, rsa: bool = False) -> CertificateSet:
    """What an SDK shows to nodes: its own profile, or that of RSA beside it."""
    if not rsa or folder.own.profile == "rsa":
        return folder.own
    if folder.channel is None:
        where = folder.own.certificate.parent
        raise problem(f"{where} holds no certificate of the RSA profile")
    return folder.channel


def sdk_client(folder: CertificateFolder, *, rsa: bool = False) -> ssl.SSLContext:
    """For the nodes that an SDK connects to."""
    chosen = shown_by_sdk(folder, rsa=rsa)
    return _context(ssl.PROTOCOL_TLS_CLIENT, chosen, chosen.trusted)


def check_handshake(chosen: CertificateSet) -> None:
    """Let the certificate meet itself: what the TLS library dislikes is told before others do."""
    try:
        server = _context(ssl.PROTOCOL_TLS_SERVER, chosen, chosen.trusted)
        client = _context(ssl.PROTOCOL_TLS_CLIENT, chosen, chosen.trusted)
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = [
            client.wrap_bio(to_client, to_server),
            server.wrap_bio(to_server, to_client, server_side=True),
        ]
        for _ in range(MOST_TURNS):
            ends = [end for end in ends if not _is_done(end)]
    except ssl.SSLError as error:
        said = getattr(error, "verify_message", "") or error.reason or str(error)
        raise problem(f"{chosen.certificate}: TLS refuses it: {said}") from None
    if ends:
        raise problem(f"{chosen.certificate}: TLS comes to no end with it")


def _is_done(end: ssl.SSLObject) -> bool:
    """Whether one end of a handshake has come to its end."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _node(folder: CertificateFolder) -> CertificateFolder:
    if folder.role != "node":
        where = folder.own.certificate.parent
        raise problem(f"{where} is the folder of an SDK; a node needs one with node.crt")
    return folder


def _all_trusted(folder: CertificateFolder) -> bytes:
    return folder.own.trusted + (folder.channel.trusted if folder.channel else b"")


def _context(protocol: int, chosen: CertificateSet, trusted: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_ciphers(CIPHERS[chosen.profile])
    if chosen.profile == "ec":
        _set_curve(context)
    context.load_verify_locations(cadata=trusted)
    # With a password at hand the library never asks the terminal for one.
    context.load_cert_chain(chosen.certificate, chosen.key, password="")
    return context


def _set_curve(context: ssl.SSLContext) -> None:
    try:
        context.set_ecdh_curve(CURVE)
    except ValueError:
        raise problem(
            f"the TLS library of this Python has no {CURVE}: {ssl.OPENSSL_VERSION}"
        ) from None
