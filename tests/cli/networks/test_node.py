from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]
NEVER = ("--status", "600")


def test_a_node_relays_between_two_that_do_not_know_each_other(start: Start) -> None:
    node = start("node", "--topic", "weather", "--json", *NEVER)
    address = node.event("ready")["addresses"][0]
    sub = start("sub", "weather", "--peer", address, "--json", "--count", "1")
    sub.event("ready")
    pub = start("pub", "weather", "--peer", address, "--data", "over the bridge", "--json")
    sender = pub.event("ready")["id"]
    message = sub.event("message")
    assert message["sender"] == sender
    assert message["received_from"] == address.rpartition("/")[2]


def test_a_node_relays_for_others_what_it_does_not_listen_to(start: Start) -> None:
    node = start("node", "--relay", "weather", "--json", "--status", "0.1")
    address = node.event("ready")["addresses"][0]
    sub = start("sub", "weather", "--peer", address, "--json", "--count", "1")
    sub.event("ready")
    pub = start("pub", "weather", "--peer", address, "--data", "over the bridge", "--json")
    assert sub.event("message")["data"] == "over the bridge"
    assert pub.end() == 0
    while (status := node.event("status"))["topics"]["weather"]["messages"] < 1:
        pass
    assert status["counters"]["relayed"] == 1
    assert "delivered" not in status["counters"]


def test_a_network_that_cannot_relay_says_so(start: Start) -> None:
    node = start("node", "--network", "ndn", "--relay", "/weather")
    assert node.end() != 0
    assert "ndn cannot relay '/weather' for others alone: its nodes forward" in node.errors[-1]


def test_a_configured_node_opens_every_network_and_keeps_its_identity(
    start: Start, tmp_path: Path
) -> None:
    config = tmp_path / "node.toml"
    config.write_text(
        """
        [[network]]
        name = "gossipsub"
        topics = ["weather"]
        key_file = "node.key"
        D = 7

        [[network]]
        name = "floodsub"
        topics = ["news"]
        """
    )
    first = start("node", "--config", str(config), "--json", *NEVER)
    gossipsub, floodsub = first.event("ready"), first.event("ready")
    assert (gossipsub["network"], floodsub["network"]) == ("gossipsub", "floodsub")
    assert list(first.event("status")["topics"]) == ["weather"]
    assert list(first.event("status")["topics"]) == ["news"]
    for kind, topic, ready in (("gossipsub", "weather", gossipsub), ("floodsub", "news", floodsub)):
        pub = start("pub", topic, "--network", kind, "--peer", ready["addresses"][0],
                    "--data", "x")  # fmt: skip
        assert pub.end() == 0
    second = start("node", "--config", str(config), "--json", *NEVER)
    assert second.event("ready")["id"] == gossipsub["id"]


def test_status_lines_count_peers_and_messages(start: Start) -> None:
    node = start("node", "--topic", "weather", "--json", "--status", "0.1")
    address = node.event("ready")["addresses"][0]
    assert node.event("status")["peers"] == 0
    sub = start("sub", "weather", "--peer", address, "--json")
    sub.event("ready")
    while node.event("status")["topics"]["weather"]["subscribers"] < 1:
        pass  # what the subscriber wants is on its way
    pub = start("pub", "weather", "--peer", address, "--data", "x")
    assert pub.end() == 0
    while (status := node.event("status"))["topics"]["weather"]["messages"] < 1:
        pass
    assert status["topics"]["weather"]["subscribers"] == 1
    assert status["counters"]["delivered"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_node_cleanly(start: Start, number: signal.Signals) -> None:
    node = start("node", "--topic", "weather", "--json", *NEVER)
    node.event("ready")
    node.event("status")
    node.signal(number)
    assert node.end() == 0
    assert node.errors == []


def test_a_peer_on_the_command_line_must_be_there(start: Start) -> None:
    node = start("node", "--peer", "/ip4/127.0.0.1/tcp/1")
    assert node.end() == 1
    assert "/ip4/127.0.0.1/tcp/1" in node.sentence


def test_a_configured_bootstrap_peer_may_come_later(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text(
        '[[network]]\nname = "gossipsub"\nbootstrap = "/ip4/127.0.0.1/tcp/1"\n', encoding="utf-8"
    )
    node = start("node", "--config", str(config), "--json", *NEVER)
    assert node.event("ready")["network"] == "gossipsub"


def test_an_address_that_is_taken_is_one_sentence(start: Start) -> None:
    first = start("node", "--json", *NEVER)
    address = first.event("ready")["addresses"][0].partition("/p2p/")[0]
    second = start("node", "--listen", address)
    assert second.end() != 0
    assert address in second.sentence
    assert "in use" in second.sentence
