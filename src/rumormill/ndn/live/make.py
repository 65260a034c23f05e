"""Which network it is: a node with a forwarder inside, or a program on somebody's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from rumormill.ndn.client.machine import ClientMachine
from rumormill.ndn.live.key_file import IDENTITY, load_key, load_trust
from rumormill.ndn.live.network import NdnMachine, NdnNetwork
from rumormill.ndn.live.settings import NdnSettings, read_strategy
from rumormill.ndn.node.machine import NodeMachine
from rumormill.ndn.node.parameters import NodeParameters
from rumormill.ndn.security.key_names import KEY
from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.name import Name, component, components, name_from_uri, name_to_uri

RANDOM_NAME: Final = 8
"""Bytes that make a name of nobody else's."""


def make_network(name: str, settings: NdnSettings) -> NdnNetwork:
    """A network that is not started yet; :class:`ConfigError` for keys that cannot be read."""
    live = settings.live
    key = None if live.key_file is None else load_key(live.key_file)
    trust = load_trust(live.trust, () if key is None else (key.public_key,))
    prefix = name_from_uri(live.prefix) if live.prefix else own_name(key)
    signer = DigestSigner() if key is None else key.signer
    # Of the system: who could foresee nonces could acknowledge what it never got.
    source = random.SystemRandom()

    def build(validated: Callable[[str], bool]) -> NdnMachine:
        if settings.is_client:
            return ClientMachine(
                prefix,
                source,
                network=name,
                client=settings.client,
                faces=settings.faces,
                pubsub=settings.pubsub,
                signer=signer,
                trust=trust,
                validated=validated,
            )
        parameters = NodeParameters(
            settings.faces,
            settings.forwarder,
            settings.routing,
            settings.pubsub,
            tuple(map(read_strategy, live.strategies)),
        )
        return NodeMachine(
            prefix, source, parameters, signer=signer, trust=trust, network=name,
            validated=validated,
        )  # fmt: skip

    return NdnNetwork(
        name=name,
        id=name_to_uri(prefix),
        settings=settings,
        build=build,
        trust=trust,
        signed=key is not None,
    )


def own_name(key: PrivateKey | None) -> Name:
    """What we are called if nobody says: by our key, or by a name that nobody else has.

    ``/alice/KEY/1f2e`` is the key of /alice; one of no identity of its own makes a name by its id.
    """
    family = name_from_uri(IDENTITY)
    if key is None:
        return family + component(random.SystemRandom().randbytes(RANDOM_NAME).hex().encode())
    parts = components(key.name)
    if len(parts) < 2 or parts[-2] != KEY:
        return key.name
    identity = b"".join(parts[:-2])
    return identity if identity and identity != family else identity + parts[-1]
