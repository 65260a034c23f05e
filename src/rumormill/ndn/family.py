"""The ndn family, as the rest of the house knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rumormill.core.topic import check_topic
from rumormill.live.family import NOTHING, DemoAct, Description, Family, SettingsPage

if TYPE_CHECKING:
    from rumormill.live.configuration.setting_keys import Key
    from rumormill.ndn.live.network import NdnNetwork
    from rumormill.ndn.live.settings import NdnSettings


class NdnFamily(Family):
    """Named Data Networking: notifications by Interests, messages as Data, forwarders between."""

    name = "ndn"
    networks = ("ndn",)
    order = 30
    listen = "tcp://127.0.0.1:0"
    listen_example = "tcp://0.0.0.0:6363"
    peer_example = "tcp://192.0.2.7:6363"
    topic_help = "a name, as /weather"
    key_types = ("ndn-ed25519", "ndn-ecdsa", "ndn-hmac")
    key_help = "the key that signs; without it messages carry a digest"
    patient = True
    caller = MappingProxyType({"role": "client"})

    def make(self, network: str, settings: NdnSettings) -> NdnNetwork:
        """See :class:`Family`."""
        from rumormill.ndn.live.make import make_network

        return make_network(network, settings)

    def known_keys(self, network: str) -> dict[str, Key]:
        """See :class:`Family`."""
        from rumormill.ndn.live.settings import known_keys

        return known_keys(network)

    def read_settings(self, network: str, values: Mapping[str, Any]) -> NdnSettings:
        """See :class:`Family`."""
        from rumormill.ndn.live.settings import read_settings

        return read_settings(network, values)

    # ---- addresses and topics

    def default_listen(
        self, settings: Mapping[str, Any], peers: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Who is given forwarders is a program on them; others have one of their own."""
        role = settings.get("role", "auto")
        is_client = role == "client" or (role == "auto" and bool(peers))
        return () if is_client else (self.listen,)

    def check_address(self, address: str) -> None:
        """``tcp://HOST:PORT``, ``udp://HOST:PORT`` or ``unix:///PATH``."""
        from rumormill.ndn.live.settings import check_address

        check_address(address)

    def topic(self, text: str) -> str:
        """A name, in its one true form."""
        from rumormill.ndn.live.topics import canonical_topic

        return canonical_topic(check_topic(text))

    def describe(self, text: str) -> Description | None:
        """What a name, an address or a public key says."""
        from rumormill.ndn.live.describe import describe_text

        return describe_text(text)

    # ---- keys

    key_settings = MappingProxyType(
        {
            "kind": "ed25519, ecdsa or hmac (a shared secret); ed25519 unless told",
            "identity": "whose key it is, a name as /alice; /rumormill unless told",
        }
    )

    def create_key(self, path: Path, settings: Mapping[str, str] = NOTHING) -> Mapping[str, Any]:
        """The key that signs; its public part goes into a file beside it."""
        from rumormill.ndn.live.key_file import create_key

        return create_key(path, **settings)

    def describe_key(self, path: Path) -> Mapping[str, Any]:
        """Whose key it is."""
        from rumormill.ndn.live.key_file import describe_key

        return describe_key(path)

    # ---- documentation and demo

    def settings_pages(self) -> tuple[SettingsPage, ...]:
        """See :class:`Family`."""
        from rumormill.ndn.live.settings import settings_page

        return (settings_page(),)

    def acts(self) -> tuple[DemoAct, ...]:
        """Nodes with forwarders inside, that bring notifications to every subscriber."""
        return (
            DemoAct(
                "ndn",
                "Named Data Networking, forwarders inside",
                topic="/weather",
                nodes=7,
                messages=100,
                rate=10.0,
                publishers=2,
                settings=MappingProxyType({"strategy": "multicast"}),
            ),
        )


FAMILY = NdnFamily()
