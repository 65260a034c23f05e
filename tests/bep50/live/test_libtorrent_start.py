"""How libtorrent is started: on which addresses, and as a part of which DHT."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

import rumormill
from rumormill.bep50.live.libtorrent_start import plan_of
from rumormill.bep50.main_dht.parameters import SessionParameters
from rumormill.core.errors import ConfigError

OWN = "127.0.0.1:7000"
NODE = "127.0.0.9:6881"


def parameters(**given: Any) -> SessionParameters:
    return SessionParameters(main_dht=True, **{"main_dht_nodes": NODE, **given})


async def test_a_private_dht_is_joined_by_the_given_nodes_alone() -> None:
    settings, nodes = await plan_of(parameters(), (OWN,))
    assert nodes == (NODE,)
    assert settings["dht_bootstrap_nodes"] == ""
    assert settings["listen_interfaces"] == "127.0.0.1:0"
    assert settings["dht_restrict_routing_ips"] is False


async def test_given_nodes_of_the_internet_are_no_reason_to_trust_one_network() -> None:
    given = parameters(main_dht_nodes=["8.8.8.8:6881"], main_dht_listen="127.0.0.1:0")
    settings, _ = await plan_of(given, (OWN,))
    assert settings["dht_bootstrap_nodes"] == ""
    assert "dht_restrict_routing_ips" not in settings


async def test_the_public_dht_is_not_joined_from_loopback() -> None:
    with pytest.raises(ConfigError, match=r"main_dht_nodes: must be given where we listen on this"):
        await plan_of(parameters(main_dht_nodes=[]), (OWN, "[::1]:7000"))


async def test_the_public_dht_is_joined_by_libtorrents_own_list() -> None:
    settings, nodes = await plan_of(parameters(main_dht_nodes=[]), (OWN, "192.0.2.1:7000"))
    assert "dht_bootstrap_nodes" not in settings
    assert nodes == ()
    # Nobody would find us on loopback.
    assert settings["listen_interfaces"] == "192.0.2.1:0"


async def test_a_node_whose_name_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(
        ConfigError, match=r"main_dht_nodes: could not reach no-such[^:]*:[0-9]+: name not found"
    ):
        await plan_of(parameters(main_dht_nodes=["no-such-host.invalid:6881"]), (OWN,))


async def test_a_dht_that_cannot_listen_is_told_in_one_sentence() -> None:
    with pytest.raises(ConfigError, match="main_dht_listen: libtorrent cannot listen"):
        await rumormill.open(
            "bep50", listen="127.0.0.1:0", main_dht=True, main_dht_nodes=[NODE],
            main_dht_listen="192.0.2.1:0",
        )  # fmt: skip


async def test_a_missing_libtorrent_is_told_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "libtorrent", raising=False)
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "libtorrent":
            raise ImportError("No module named 'libtorrent'")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        ConfigError, match=r"main_dht: libtorrent.*pip install 'rumormill\[bep50\]'"
    ):
        await rumormill.open("bep50", listen="127.0.0.1:0", main_dht=True, main_dht_nodes=[NODE])
