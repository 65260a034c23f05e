"""The bcos family, as the rest of the house knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumormill.core.errors import LocalProtocolError
from rumormill.live.family import Description, Family, FolderKey, KeyOption

if TYPE_CHECKING:
    from rumormill.live.network import Network
    from rumormill.live.setting_keys import Key


class BcosFamily(Family):
    """FISCO BCOS 2.x: nodes and SDKs with certificates."""

    name = "bcos"
    networks = ("bcos",)
    order = 20
    extra = "rumormill[bcos]"
    listen = "127.0.0.1:0"
    listen_example = "0.0.0.0:30300"
    peer_example = "192.0.2.7:30300"
    key_options = (
        KeyOption("nodes", "certificates for nodes", 1),
        KeyOption("sdks", "certificates for SDKs", 1),
        KeyOption("topic_keys", "key pairs for private topics", 0),
    )

    def make(self, network: str, settings: Any) -> Network:
        """See :class:`Family`."""
        raise LocalProtocolError("networks of bcos cannot be opened yet")

    def known_keys(self, network: str) -> dict[str, Key]:
        """See :class:`Family`."""
        from rumormill.live.setting_keys import Key

        return {
            **super().known_keys(network),
            "certificates": Key("certificates", Path | None, None),
        }

    def default_listen(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """An SDK only calls; what is wrong with its folder is told when it is loaded."""
        from rumormill.bcos.live.certificate_folder import is_sdk_folder

        return () if is_sdk_folder(settings.get("certificates")) else (self.listen,)

    def check_address(self, address: str) -> None:
        """``HOST:PORT``."""
        from rumormill.core.addresses import HostPort

        HostPort().parse(address)

    # ---- keys

    def create_keys(self, folder: Path, counts: Mapping[str, int]) -> Sequence[FolderKey]:
        """A chain of certificates, or more of them in one that is there."""
        from rumormill.bcos.live.chain_folder import extend_chain

        return extend_chain(folder, **counts)

    def describe(self, text: str) -> Description | None:
        """What a certificate, a folder of certificates or a key says."""
        from rumormill.bcos.live.describe import describe_path

        return describe_path(text)


FAMILY = BcosFamily()
