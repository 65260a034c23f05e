"""The commands of the bcos family, from the keys of a chain to a private message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rumormill.cli import main

Start = Callable[..., Any]
NEVER = ("--status", "600")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands") / "chain"
    numbers = ("--nodes", "2", "--sdks", "2", "--topic-keys", "2")
    assert main(["keygen", "--network", "bcos", "--out", str(folder), *numbers]) == 0
    return folder


def bcos(chain: Path, who: str, *peers: str) -> tuple[str, ...]:
    dials = (word for peer in peers for word in ("--peer", peer))
    return ("--network", "bcos", "--certificates", str(chain / who), "--json", *dials)


@pytest.fixture
def channels(start: Start, chain: Path) -> tuple[str, str]:
    """Where SDKs reach two nodes."""
    listen = ("--listen", "127.0.0.1:0", "--set", "channel_listen=127.0.0.1:0", *NEVER)
    first = start("node", *bcos(chain, "nodes/0"), *listen).event("ready")
    second = start("node", *bcos(chain, "nodes/1", first["addresses"][0]), *listen).event("ready")
    return first["services"]["channel"][0], second["services"]["channel"][0]


@pytest.mark.parametrize("mode", ["multicast", "unicast"])
def test_a_message_goes_from_an_sdk_to_another_by_way_of_two_nodes(
    start: Start, chain: Path, channels: tuple[str, str], mode: str
) -> None:
    near, far = channels
    sub = start("sub", "weather", *bcos(chain, "sdks/0", near), "--count", "1")
    sub.event("ready")
    pub = start("pub", "weather", *bcos(chain, "sdks/1", far), "--set", f"mode={mode}",
                "--data", "rain at noon")  # fmt: skip
    pub.event("ready")
    receipt, message = pub.event("published"), sub.event("message")
    assert (message["data"], message["id"]) == ("rain at noon", receipt["id"])
    assert receipt["reached"]
    assert (pub.end(), sub.end()) == (0, 0)


def test_a_private_topic_is_for_who_has_the_key(
    start: Start, chain: Path, channels: tuple[str, str]
) -> None:
    near, far = channels
    keys = chain / "topic_keys"
    sub = start("sub", "secret", *bcos(chain, "sdks/0", near), "--count", "1",
                "--set", f"private_key={keys}/0/private.pem")  # fmt: skip
    sub.event("ready")
    pub = ("pub", "secret", *bcos(chain, "sdks/1", far))
    other = start(*pub, "--data", "for another", "--ready", "5",
                  "--set", f"public_keys={keys}/1/public.pem")  # fmt: skip
    assert other.end() == 1
    assert "nobody with one of the public_keys listened to 'secret' within 5 s" in other.sentence
    both = f"public_keys={keys}/1/public.pem,{keys}/0/public.pem"
    assert start(*pub, "--data", "the safe is open", "--set", both).end() == 0
    assert sub.event("message")["data"] == "the safe is open"


def test_a_folder_of_the_national_profile_is_refused_in_a_sentence(
    start: Start, tmp_path: Path
) -> None:
    for name in "gmca.crt", "gmnode.crt", "gmnode.key":
        (tmp_path / name).touch()
    node = start("node", "--network", "bcos", "--certificates", str(tmp_path), *NEVER)
    assert node.end() == 2
    assert "the GM/SM TLS profile is not supported" in node.sentence
