"""What libp2p says in mDNS (libp2p/specs, discovery/mdns.md), and what its implementations make
of it.

A question for ``_p2p._udp.local`` is answered with a name for the node, made up at random, and with
its addresses, which are all that counts. What others need, as their sources say:

* go takes nobody without an SRV record and an IP address of the host that it names; and of several
  TXT records the last one, so all addresses are in one;
* rust looks for TXT among the additional records only, and calls itself by a bare name;
* js puts its TXT records among the answers, and tells only addresses of local networks.
"""

from __future__ import annotations

import ipaddress
import random
import string
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.discovery.mdns import dns
from rumormill.libp2p.stack.multiaddr import Multiaddr

SERVICE: dns.Name = (b"_p2p", b"_udp", b"local")
"""What a libp2p node is asked by."""
EVERY_SERVICE: dns.Name = (b"_services", b"_dns-sd", b"_udp", b"local")
"""What tools ask to learn which services there are (RFC 6763, section 9)."""
HOSTS: dns.Name = (b"p2p", b"local")

MENTIONS = (b"p2p", b"_dns-sd")
"""One of these is in every message that concerns us, since a label is never cut in two."""

PREFIX = b"dnsaddr="
MOST_ADDRESSES = 8
"""Of a node, that are told or taken."""
MOST_NODES = 8
"""That one message tells of; each tells of itself, so there is one."""

_LETTERS = string.ascii_lowercase + string.digits


class Nearby(NamedTuple):
    """What a message tells of one node."""

    instance: dns.Name
    """What it is called in DNS."""
    peer: str
    addresses: tuple[Multiaddr, ...]
    """Those that we could dial, with its peer id."""
    ttl: int


def random_name(chance: random.Random) -> bytes:
    """A name for a node, which says nothing of it: 32 to 63 letters and digits."""
    return "".join(chance.choices(_LETTERS, k=chance.randrange(32, 64))).encode()


def concerns_us(raw: bytes) -> bool:
    """Whether a message may be of or for libp2p: printers and screens say much more.

    >>> concerns_us(dns.encode_query(SERVICE)), concerns_us(dns.encode_query((b"_ipp", b"_tcp")))
    (True, False)
    """
    lowered = raw.lower()
    return any(each in lowered for each in MENTIONS)


QUERY = dns.encode_query(SERVICE)
"""Who is there?"""


def service_answer(ttl: int) -> bytes:
    """There are libp2p nodes here."""
    data = dns.encode_name(SERVICE)
    return dns.encode_response([dns.encode_record(EVERY_SERVICE, dns.PTR, ttl, data, ours=False)])


def instance_of(name: bytes) -> dns.Name:
    """The full name of a node."""
    return (name, *SERVICE)


def host_of(name: bytes) -> dns.Name:
    """The name of its host: nobody looks it up, but go wants one."""
    return (name, *HOSTS)


def node_answer(name: bytes, peer: str, addresses: Sequence[Multiaddr], ttl: int) -> bytes:
    """Here we are. ``ttl`` 0 takes it back."""
    instance, host = instance_of(name), host_of(name)
    told = list(addresses[:MOST_ADDRESSES])
    texts = [PREFIX + str(each.with_peer(peer)).encode() for each in told]
    texts = [each for each in texts if len(each) <= dns.LONGEST_STRING]
    port = told[0].port if told else 0
    additional = [
        dns.encode_record(instance, dns.TXT, ttl, dns.encode_strings(texts)),
        dns.encode_record(instance, dns.SRV, ttl, dns.encode_service(port, host)),
        *_host_records(host, told, ttl),
    ]
    pointer = dns.encode_record(SERVICE, dns.PTR, ttl, dns.encode_name(instance), ours=False)
    return dns.encode_response([pointer], additional)


def _host_records(host: dns.Name, addresses: Iterable[Multiaddr], ttl: int) -> list[bytes]:
    hosts = dict.fromkeys(each.host for each in addresses if each.family in ("ip4", "ip6"))
    records = []
    for each in hosts:
        packed = ipaddress.ip_address(each).packed
        records.append(
            dns.encode_record(host, dns.A if len(packed) == 4 else dns.AAAA, ttl, packed)
        )
    return records


def nodes_in(message: dns.Message) -> list[Nearby]:
    """The nodes that a message tells of, a few at most."""
    texts: dict[dns.Name, list[bytes]] = {}
    for record in message.records:
        if record.type == dns.TXT:
            texts.setdefault(record.name, []).extend(record.strings)
    found: dict[dns.Name, Nearby] = {}
    for record in message.records:
        if len(found) >= MOST_NODES:
            break
        if record.type == dns.PTR and record.name == SERVICE and record.target not in found:
            node = _node(record, texts.get(record.target, []))
            if node is not None:
                found[record.target] = node
    return list(found.values())


def _node(pointer: dns.Record, texts: list[bytes]) -> Nearby | None:
    """A node, if at least its id can be read. All its addresses must be of one peer."""
    peer: str | None = None
    addresses: dict[Multiaddr, None] = {}
    for text in texts:
        if not text.startswith(PREFIX) or len(addresses) >= MOST_ADDRESSES:
            continue
        try:
            address = Multiaddr.parse(text[len(PREFIX) :].decode("ascii"))
        except (LocalProtocolError, UnicodeDecodeError):
            continue  # quic, a relay, websockets: nothing wrong with it
        if address.peer is None or peer not in (None, address.peer):
            continue
        peer = address.peer
        addresses[address] = None
    if peer is None:
        return None
    return Nearby(pointer.target, peer, tuple(addresses), pointer.ttl)
