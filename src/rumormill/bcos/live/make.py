"""Which network it is: a node or an SDK, as the certificates say."""

from __future__ import annotations

from rumormill.bcos.live.bcos_network import BcosNetwork
from rumormill.bcos.live.certificate_folder import load_certificates
from rumormill.bcos.live.settings import BcosSettings
from rumormill.core.errors import ConfigError


def make_network(name: str, settings: BcosSettings) -> BcosNetwork:
    """A network that is not started yet; :class:`ConfigError` for what does not go together."""
    live = settings.live
    if live.certificates is None:
        raise ConfigError(
            "certificates",
            "is missing: the folder with node.crt or sdk.crt, as 'rumormill keygen' makes it",
        )
    folder = load_certificates(live.certificates)
    if folder.role == "node":
        from rumormill.bcos.live.node_network import BcosNodeNetwork

        if live.private_key is not None or live.public_keys:
            key = "public_keys" if live.private_key is None else "private_key"
            raise ConfigError(key, "is for SDKs; nodes do not verify each other by topics")
        return BcosNodeNetwork(name, settings, folder)
    from rumormill.bcos.live.sdk_network import BcosSdkNetwork

    for key in ("listen", "channel_listen"):
        if getattr(live, key):
            raise ConfigError(key, "an SDK listens nowhere; that is for nodes, with node.crt")
    return BcosSdkNetwork(name, settings, folder)
