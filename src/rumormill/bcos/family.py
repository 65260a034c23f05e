"""The bcos family, as the rest of the house knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumormill.core.errors import LocalProtocolError
from rumormill.core.topic import check_topic
from rumormill.live.family import (
    DemoAct,
    Description,
    Family,
    FolderKey,
    KeyOption,
    SettingsPage,
)

if TYPE_CHECKING:
    from rumormill.bcos.live.bcos_network import BcosNetwork
    from rumormill.bcos.live.settings import BcosSettings
    from rumormill.live.configuration.setting_keys import Key


class BcosFamily(Family):
    """Certified nodes, and applications that talk through them."""

    name = "bcos"
    networks = ("bcos",)
    order = 20
    packages = ("cramjam", "coincurve", "Crypto")
    extra = "rumormill[bcos]"
    listen = "127.0.0.1:0"
    listen_example = "0.0.0.0:30300"
    peer_example = "192.0.2.7:30300"
    patient = True
    key_options = (
        KeyOption("nodes", "certificates for nodes", 1),
        KeyOption("sdks", "certificates for SDKs", 1),
        KeyOption("topic_keys", "key pairs for private topics", 0),
    )

    def make(self, network: str, settings: BcosSettings) -> BcosNetwork:
        """See :class:`Family`."""
        from rumormill.bcos.live.make import make_network

        return make_network(network, settings)

    def known_keys(self, network: str) -> dict[str, Key]:
        """See :class:`Family`."""
        from rumormill.bcos.live.settings import known_keys

        return known_keys(network)

    def read_settings(self, network: str, values: Mapping[str, Any]) -> BcosSettings:
        """See :class:`Family`."""
        from rumormill.bcos.live.settings import read_settings

        return read_settings(network, values)

    # ---- addresses and topics

    def default_listen(
        self, settings: Mapping[str, Any], peers: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """An SDK only calls; what is wrong with its folder is told when it is loaded."""
        from rumormill.bcos.live.certificate_folder import is_sdk_folder

        return () if is_sdk_folder(settings.get("certificates")) else (self.listen,)

    def check_address(self, address: str) -> None:
        """``HOST:PORT``."""
        from rumormill.core.addresses import HostPort

        HostPort().parse(address)

    def topic(self, text: str) -> str:
        """A name that fits into a packet."""
        from rumormill.bcos.wire.topic_body import LONGEST_TOPIC

        size = len(check_topic(text).encode())
        if size > LONGEST_TOPIC:
            raise LocalProtocolError(
                f"the topic {text[:40]!r}... has {size} bytes, at most {LONGEST_TOPIC} can be sent"
            )
        return text

    # ---- certificates

    def create_keys(self, folder: Path, counts: Mapping[str, int]) -> Sequence[FolderKey]:
        """A chain of certificates, or more of them in one that is there."""
        from rumormill.bcos.live.chain_folder import extend_chain

        return extend_chain(folder, **counts)

    def describe(self, text: str) -> Description | None:
        """What a certificate, a folder of certificates or a key says."""
        from rumormill.bcos.live.describe import describe_path

        return describe_path(text)

    # ---- documentation and demo

    def settings_pages(self) -> tuple[SettingsPage, ...]:
        """See :class:`Family`."""
        from rumormill.bcos.live.settings import settings_page

        return (settings_page(),)

    def keygen_options(self, nodes: int) -> tuple[str, ...]:
        """A chain of certificates, one for each node."""
        return ("--nodes", str(nodes), "--sdks", "0")

    def identity_options(self, made: Path, number: int) -> tuple[str, ...]:
        """The certificate of a node."""
        return ("--certificates", str(made / "nodes" / str(number)))

    def acts(self) -> tuple[DemoAct, ...]:
        """Certified nodes, each connected to those that it sends to."""
        return (
            DemoAct(
                "bcos",
                "certified nodes of FISCO BCOS",
                topic="weather",
                nodes=6,
                messages=100,
                rate=10.0,
                publishers=2,
                all_linked=True,
                certified=True,
            ),
        )


FAMILY = BcosFamily()
