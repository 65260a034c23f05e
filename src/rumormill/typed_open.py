"""``rumormill.open`` with the type of the network that each name opens.

What it does is :func:`rumormill.live.open.open`; a family of another distribution gets the type
:class:`~rumormill.live.network.Network`, or its own by a ``cast`` of its user.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from rumormill.live import open as untyped
from rumormill.live.network import Network
from rumormill.live.open import Opening

if TYPE_CHECKING:
    from rumormill.bcos.live.bcos_network import BcosNetwork
    from rumormill.bep50.live.network import Bep50Network
    from rumormill.libp2p.live.network import Libp2pNetwork
    from rumormill.ndn.live.network import NdnNetwork


@overload
def open(
    network: Literal["gossipsub", "floodsub", "randomsub"],
    *,
    listen: str | Sequence[str] | None = None,
    bootstrap: str | Sequence[str] = (),
    key_file: str | Path | None = None,
    spool: str | Path | None = None,
    **settings: Any,
) -> Opening[Libp2pNetwork]: ...


@overload
def open(
    network: Literal["bep50"],
    *,
    listen: str | Sequence[str] | None = None,
    bootstrap: str | Sequence[str] = (),
    key_file: str | Path | None = None,
    spool: str | Path | None = None,
    **settings: Any,
) -> Opening[Bep50Network]: ...


@overload
def open(
    network: Literal["bcos"],
    *,
    listen: str | Sequence[str] | None = None,
    bootstrap: str | Sequence[str] = (),
    spool: str | Path | None = None,
    **settings: Any,
) -> Opening[BcosNetwork]: ...


@overload
def open(
    network: Literal["ndn"],
    *,
    listen: str | Sequence[str] | None = None,
    bootstrap: str | Sequence[str] = (),
    key_file: str | Path | None = None,
    spool: str | Path | None = None,
    **settings: Any,
) -> Opening[NdnNetwork]: ...


@overload
def open(
    network: str,
    *,
    listen: str | Sequence[str] | None = None,
    bootstrap: str | Sequence[str] = (),
    key_file: str | Path | None = None,
    spool: str | Path | None = None,
    **settings: Any,
) -> Opening[Network]: ...


def open(network: str, **settings: Any) -> Opening[Any]:
    """Open a network: ``gossipsub``, ``floodsub``, ``randomsub``, ``bep50``, ``bcos``, ``ndn``, or
    one of another family.

    ``listen`` is where others can reach us; without it, nobody is told of us. ``bootstrap`` are
    addresses to call at once, in the background, and again whenever they are lost. ``key_file``
    keeps our key: our identity in libp2p, where it is made if it does not exist; in bep50 the key
    that signs what we publish, and in ndn too, what we acknowledge; bcos has ``certificates``
    instead. ``spool`` is a folder in which all delivered messages and trace events are kept.
    Everything else is a key of the network's settings, such as ``D`` or ``max_connections``
    (:func:`rumormill.known_keys` lists them).

    Nothing happens before the result is awaited or entered, except that wrong settings raise
    :class:`ConfigError` here.
    """
    return untyped.open(network, **settings)
