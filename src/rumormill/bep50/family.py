"""The bep50 family, as the rest of the house knows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rumormill.core.topic import check_topic
from rumormill.live.family import NOTHING, DemoAct, Description, Family, SettingsPage
from rumormill.live.family.families import family_of

if TYPE_CHECKING:
    from rumormill.bep50.live.network import Bep50Network
    from rumormill.bep50.live.settings import Bep50Settings
    from rumormill.bep50.wire.keys import ItemKey
    from rumormill.live.configuration.setting_keys import Key

TOPIC = re.compile(r"magnet:.*|[0-9a-fA-F]{64}(:.*)?", re.DOTALL)
"""What looks like a topic of this family."""


class Bep50Family(Family):
    """The newest value of a topic, on the BitTorrent DHT."""

    name = "bep50"
    networks = ("bep50",)
    order = 10
    packages = ("bencode2",)
    extra = "rumormill[bep50]"
    listen = "127.0.0.1:0"
    listen_example = "0.0.0.0:6881"
    peer_example = "192.0.2.7:6881"
    topics_of_keys = True
    topic_help = "PUBLIC_KEY or PUBLIC_KEY:SALT"
    key_types = ("bep50",)
    key_help = "the key of its topics, for those who publish"
    replaces = True
    publisher_options = " --key-file KEYFILE"
    visitor = MappingProxyType({"read_only": True})

    def make(self, network: str, settings: Bep50Settings) -> Bep50Network:
        """See :class:`Family`."""
        from rumormill.bep50.live.network import Bep50Network

        return Bep50Network(network, settings)

    def known_keys(self, network: str) -> dict[str, Key]:
        """See :class:`Family`."""
        from rumormill.bep50.live.settings import known_keys

        return known_keys(network)

    def read_settings(self, network: str, values: Mapping[str, Any]) -> Bep50Settings:
        """See :class:`Family`."""
        from rumormill.bep50.live.settings import read_settings

        return read_settings(network, values)

    # ---- addresses, topics and keys

    def check_address(self, address: str) -> None:
        """``HOST:PORT``."""
        from rumormill.bep50.wire.addresses import parse_address

        parse_address(address)

    def topic(self, text: str) -> str:
        """A topic belongs to a key."""
        from rumormill.bep50.wire.topics import parse_topic

        return parse_topic(check_topic(text)).text

    def describe(self, text: str) -> Description | None:
        """The parts of a topic, and what it is called in the DHT."""
        if not TOPIC.fullmatch(text):
            return None
        family_of(self.name)  # what is missing is told in a sentence
        from rumormill.bep50.wire.topics import parse_topic

        topic = parse_topic(text)
        return Description("topic", {
            "topic": topic.text,
            "public_key": topic.public_key.hex(),
            "salt": topic.salt.hex() or None,
            "target": topic.target.hex(),
        })  # fmt: skip

    def create_key(self, path: Path, settings: Mapping[str, str] = NOTHING) -> Mapping[str, Any]:
        """The key of topics."""
        from rumormill.bep50.live.key_file import create_item_key

        return _public_part(create_item_key(path))

    def describe_key(self, path: Path) -> Mapping[str, Any]:
        """Whose topics a key is for."""
        from rumormill.bep50.live.key_file import load_item_key

        return _public_part(load_item_key(path))

    def finds_peers(self, settings: Mapping[str, Any]) -> bool:
        """Members of a topic find each other on the main DHT."""
        return "main_dht" in settings

    # ---- documentation and demo

    def settings_pages(self) -> tuple[SettingsPage, ...]:
        """See :class:`Family`."""
        from rumormill.bep50.live.settings import settings_page

        return (settings_page(),)

    def acts(self) -> tuple[DemoAct, ...]:
        """A value that is everywhere, though one node misses some of its versions."""
        return (
            DemoAct(
                "bep50",
                "the newest value, on the BitTorrent DHT",
                nodes=6,
                messages=40,
                rate=10.0,
                publishers=1,
            ),
        )


def _public_part(key: ItemKey) -> dict[str, Any]:
    public = key.public_key.hex()
    return {"id": public, "type": "ed25519", "public_key": public}


FAMILY = Bep50Family()
