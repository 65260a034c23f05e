"""The libp2p family, as the rest of the house knows it: gossipsub, floodsub and randomsub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumormill.live.family import (
    NOTHING,
    AttackOutcome,
    AttackProgress,
    AttackWish,
    DemoAct,
    Description,
    Family,
    ScoreAdvice,
    SecretScene,
    SettingsPage,
    TopicWish,
    TrustWish,
)

if TYPE_CHECKING:
    from rumormill.libp2p.live.network import Libp2pNetwork
    from rumormill.libp2p.live.settings import Libp2pSettings
    from rumormill.libp2p.live.topic_file import TopicFile
    from rumormill.libp2p.stack.keys import PrivateKey
    from rumormill.live.configuration.setting_keys import Key

ADDRESSES = ("/ip4/", "/ip6/", "/dns/", "/dns4/", "/dns6/")
"""How a multiaddr begins."""


class Libp2pFamily(Family):
    """gossipsub, floodsub and randomsub over TCP, Noise and yamux."""

    name = "libp2p"
    networks = ("gossipsub", "floodsub", "randomsub")
    order = 0
    listen = "/ip4/127.0.0.1/tcp/0"
    listen_example = "/ip4/0.0.0.0/tcp/4001"
    peer_example = "/ip4/192.0.2.7/tcp/4001/p2p/12D3Koo..."
    key_types = ("ed25519",)

    def make(self, network: str, settings: Libp2pSettings) -> Libp2pNetwork:
        """See :class:`Family`."""
        from rumormill.libp2p.live.network import Libp2pNetwork

        return Libp2pNetwork(network, settings)

    def known_keys(self, network: str) -> dict[str, Key]:
        """See :class:`Family`."""
        from rumormill.libp2p.live.settings import known_keys

        return known_keys(network)

    def read_settings(self, network: str, values: Mapping[str, Any]) -> Libp2pSettings:
        """See :class:`Family`."""
        from rumormill.libp2p.live.settings import read_settings

        return read_settings(network, values)

    # ---- addresses and keys

    def check_address(self, address: str) -> None:
        """A multiaddr with TCP in it."""
        from rumormill.libp2p.stack.multiaddr import Multiaddr

        Multiaddr.parse(address)

    def describe(self, text: str) -> Description | None:
        """The parts of a multiaddr."""
        if not text.startswith(ADDRESSES):
            return None
        from rumormill.libp2p.stack.multiaddr import Multiaddr

        address = Multiaddr.parse(text)
        return Description("address", {
            "address": str(address),
            "host": address.host,
            "port": address.port,
            "family": address.family,
            "id": address.peer,
        })  # fmt: skip

    def create_key(self, path: Path, settings: Mapping[str, str] = NOTHING) -> Mapping[str, Any]:
        """A node's identity."""
        from rumormill.libp2p.live.key_file import create_key

        return _public_part(create_key(path))

    def describe_key(self, path: Path) -> Mapping[str, Any]:
        """Who a node with this key is."""
        from rumormill.libp2p.live.key_file import load_key

        return _public_part(load_key(path))

    def finds_peers(self, settings: Mapping[str, Any]) -> bool:
        """By mDNS, at a rendezvous point, or by memory; Kademlia needs somebody to ask first."""
        ways = settings.get("discovery") or ()
        if isinstance(ways, str):
            ways = [each.strip() for each in ways.split(",")]
        return bool({"mdns", "rendezvous"}.intersection(ways) or settings.get("remember_peers"))

    # ---- topics with descriptors

    topic_file_help = "who may publish, who can read"

    def load_topic(self, path: Path) -> TopicFile:
        """See :class:`Family`."""
        from rumormill.libp2p.live.topic_file import load_topic

        return load_topic(path)

    def create_topic(self, wish: TopicWish) -> Mapping[str, Any]:
        """See :class:`Family`."""
        from rumormill.libp2p.live.topic_maker import create_topic

        return create_topic(wish)

    def describe_topic(self, path: Path) -> Mapping[str, Any]:
        """See :class:`Family`."""
        from rumormill.libp2p.live.topic_maker import describe_topic

        return describe_topic(path)

    def rotate_topic(self, path: Path) -> Mapping[str, Any]:
        """See :class:`Family`."""
        from rumormill.libp2p.live.topic_maker import rotate_topic

        return rotate_topic(path)

    def change_trust(self, wish: TrustWish) -> Mapping[str, Any]:
        """See :class:`Family`."""
        from rumormill.libp2p.live.topic_maker import change_trust

        return change_trust(wish)

    # ---- scores

    def score_advice(
        self, network: str, topic: str, rate: float, mesh_size: int, steady: bool
    ) -> ScoreAdvice | None:
        """Of gossipsub; floodsub treats all peers alike."""
        if network != "gossipsub":
            return None
        from rumormill.libp2p.gossipsub.score import TopicScoreParameters

        advice = TopicScoreParameters.for_rate(rate, mesh_size=mesh_size, steady=steady)
        parameters = advice.parameters.model_dump()
        return ScoreAdvice(parameters, advice.explanation, advice.to_toml(topic))

    # ---- attacks

    def attack(
        self, network: str, wish: AttackWish, tell: AttackProgress
    ) -> Iterator[AttackOutcome]:
        """On gossipsub; the others have no defence to be tried."""
        if network != "gossipsub":
            return super().attack(network, wish, tell)
        from rumormill.libp2p.attacks.running import run_attacks

        return run_attacks(wish, tell)

    # ---- documentation and demo

    def settings_pages(self) -> tuple[SettingsPage, ...]:
        """See :class:`Family`."""
        from rumormill.libp2p.live.settings import settings_page

        return (settings_page(),)

    def acts(self) -> tuple[DemoAct, ...]:
        """A mesh that loses one of its nodes and gets it back."""
        return (
            DemoAct(
                "gossipsub",
                "every message, in a mesh",
                also=("floodsub", "randomsub"),
                topic="weather",
                messages=400,
            ),
        )

    def secret_scene(self, network: str) -> SecretScene | None:
        """A topic with a list of publishers and a shared key."""
        options = ("--auth", "key", "--enc", "shared-key")
        return SecretScene(network, "weather", options, self.listen)


def _public_part(key: PrivateKey) -> dict[str, Any]:
    public = key.public_key
    return {"id": key.peer, "type": public.type.name.lower(), "public_key": public.data.hex()}


FAMILY = Libp2pFamily()
