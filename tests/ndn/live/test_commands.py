"""The commands of ndn: a forwarder, programs on it, and keys."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
from pathlib import Path

import pytest

from rumormill.cli import main
from tests.helpers.cli.command import Command, StartCommand
from tests.helpers.ndn.live_town import LiveTown

NDN = ("--network", "ndn")


def forwarder(start: StartCommand, *addresses: str) -> tuple[Command, list[str]]:
    """``rumormill node``, and where it listens."""
    options = [word for address in addresses for word in ("--listen", address)]
    node = start("node", *NDN, *options, "--json", "--status", "60")
    return node, node.event("ready")["addresses"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_forwarder_a_subscriber_and_a_publisher(start: StartCommand, tmp_path: Path) -> None:
    path = tmp_path / "ndn.sock"
    node, (tcp, unix) = forwarder(start, "tcp://127.0.0.1:0", f"unix://{path}")
    sub = start("sub", "/weather", *NDN, "--peer", tcp, "--count", "2", "--json")
    ready = sub.event("ready")
    assert ready["addresses"] == []
    assert ready["capabilities"] == {
        "largest_message": ready["capabilities"]["largest_message"],
        "every_message": True,
        "all_subscribers": False,
        "ordered": False,
        "acknowledged": True,
        "signed": False,
        "at_most_once": True,
        "relays": False,
        "fanout": True,
    }
    for address in (tcp, unix):
        pub = start(
            "pub", "/weather", *NDN, "--peer", address, "--set", "prefix=/alice",
            "--data", "rain at noon", "--json",
        )  # fmt: skip
        assert pub.event("ready")["id"] == "/alice"
        published = pub.event("published")
        assert pub.end() == 0, pub.errors
        message = sub.event("message")
        assert (message["data"], message["sender"]) == ("rain at noon", "/alice")
        assert (published["outcome"], published["id"]) == ("delivered", message["id"])
        assert published["attempts"] == 1 and published["reached"] == ["subscriber"]
    assert sub.end() == 0
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    assert not path.exists()


def test_people_are_told_where_a_node_listens_and_what_became_of_a_message(
    start: StartCommand,
) -> None:
    sub = start("sub", "weather/berlin", *NDN)
    assert sub.end() == 2
    assert "'weather/berlin' is no name: it does not begin with /" in sub.sentence
    node = start("node", *NDN, "--listen", "tcp://127.0.0.1:0")
    node.line()
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    _, where = node.errors
    assert where.startswith("rumormill: listening on tcp://127.0.0.1:")
    _, (address,) = forwarder(start, "tcp://127.0.0.1:0")
    sub = start("sub", "/weather", *NDN, "--peer", address, "--count", "1")
    pub = start("pub", "/weather", *NDN, "--peer", address, "--data", "rain")
    assert pub.line().endswith("  delivered")
    assert sub.line().endswith("  rain")
    assert sub.end() == pub.end() == 0


def test_a_message_that_found_nobody_says_so(start: StartCommand) -> None:
    _, (address,) = forwarder(start, "tcp://127.0.0.1:0")
    words = ("pub", "/weather", *NDN, "--peer", address, "--data", "rain", "--ready", "0.1")
    pub = start(*words, "--json")
    pub.event("ready")
    published = pub.event("published")
    assert (published["outcome"], published["reason"]) == ("no_subscriber", "no_route")
    assert published["reached"] == []
    assert pub.end() == 1
    assert pub.sentence == (
        "rumormill: nobody listened to '/weather' within 0.1 s: 0 messages published "
        "(--ready waits longer)"
    )
    pub = start(*words)
    assert pub.line().endswith("  not delivered: nobody listens")
    assert pub.end() == 1


async def test_a_message_of_which_nobody_can_tell_says_so(
    town: LiveTown, start: StartCommand
) -> None:
    node = await town.node()
    node.subscribe("/weather")
    node.add_validator("/weather", lambda message: False)
    pub = start(
        "pub", "/weather", *NDN, "--peer", node.addresses[0], "--data", "rain",
        "--set", "notify_lifetime=0.2", "--json",
    )  # fmt: skip
    assert await asyncio.to_thread(pub.end) == 3
    pub.event("ready")
    assert pub.event("published")["outcome"] == "unknown"
    assert pub.sentence == (
        "rumormill: 1 of 1 message may have arrived or not: a subscriber began to take it, and no "
        "acknowledgement came."
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["sub", "/a", "--peer", "unix:///nowhere/ndn.sock"], "no such file"),
        (["pub", "/a", "--peer", "tcp://127.0.0.1:1", "--data", "x"], "connection refused"),
        (["node", "--listen", "unix:///nowhere/ndn.sock"], "there is no folder /nowhere"),
        (["node", "--listen", "127.0.0.1:6363"], "it must be tcp://HOST:PORT"),
        (["node", "--listen", "unix:///" + "x" * 200], "its path has 201 bytes"),
        (["pub", "/a", "--data", "x"], "whom to publish to?"),
        (["pub", "/", "--data", "x", "--listen", "tcp://127.0.0.1:0"], "cannot be a topic"),
        (["sub", "/a", "--set", "strategy=flood"], "strategy: input should be 'best-route' or"),
        (["sub", "/a", "--set", "strategies=/b=flood"], "strategies: must be /PREFIX=best-route"),
        (["sub", "/a", "--set", "prefix=alice"], "prefix: 'alice' is no name"),
        (["sub", "/a", "--set", "trust=/a=nobody.pub"], "trust: nobody.pub does not exist"),
        (["sub", "/a", "--key-file", "nobody.json"], "key_file: nobody.json does not exist"),
        (["sub", "/a", "--set", "role=king"], "role: input should be"),
        (["node", "--set", "routes=/a"], "routes: a route must be"),
        (
            ["sub", "/a", "--set", "role=client", "--listen", "tcp://127.0.0.1:0"],
            "a client listens nowhere",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code, out, err = run(capsys, *words, *NDN)
    assert code in (1, 2) and out == ""
    assert sentence in err and len(err.splitlines()) == 1 and "should not have happened" not in err


def test_keygen_makes_a_key_and_its_public_part(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "alice.json"
    code, out, _ = run(capsys, "keygen", *NDN, "--out", str(path), "--json")
    key = json.loads(out)
    assert code == 0 and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key["id"].startswith("/rumormill/KEY/") and key["type"] == "ed25519"
    for file in (path, tmp_path / "alice.pub"):
        _, told, _ = run(capsys, "id", str(file), "--json")
        assert json.loads(told)["id"] == key["id"]
        assert json.loads(told)["public_key"] == key["public_key"]
    _, told, _ = run(capsys, "id", key["public_key"], "--json")
    assert json.loads(told)["type"] == "ed25519 (public)"


def test_what_a_trusted_key_has_signed_is_printed(start: StartCommand, tmp_path: Path) -> None:
    key = tmp_path / "alice.json"
    assert start("keygen", *NDN, "--out", str(key)).end() == 0
    rule = f"trust=/weather={tmp_path / 'alice.pub'}"
    sub = start("sub", "/weather", *NDN, "--set", rule, "--count", "1", "--json")
    (address,) = sub.event("ready")["addresses"]
    words = ("pub", "/weather", *NDN, "--peer", address, "--ready", "0.1")
    assert start(*words, "--data", "hail").end() == 1
    pub = start(*words, "--data", "rain", "--key-file", str(key), "--json")
    who = pub.event("ready")["id"]
    assert who.startswith("/rumormill/")
    assert pub.event("published")["outcome"] == "delivered"
    message = sub.event("message")
    assert (message["data"], message["sender"]) == ("rain", who)
    assert message["signed_by"] == who.replace("/rumormill/", "/rumormill/KEY/")


@pytest.mark.parametrize(
    ("text", "kind", "field", "value"),
    [
        ("/weather", "name", "subscribers_register", "/weather/notify"),
        ("ndn:/8=a b", "name", "name", "/a%20b"),
        ("ndn:/a.json", "name", "components", 1),
        ("tcp4://127.0.0.1", "address", "address", "tcp://127.0.0.1:6363"),
        ("unix:///run/ndn.sock", "address", "path", "/run/ndn.sock"),
        ("udp://[2001:db8::1]:6363", "address", "on_this_machine", False),
    ],
)
def test_id_says_what_a_name_or_an_address_is(
    capsys: pytest.CaptureFixture[str], text: str, kind: str, field: str, value: object
) -> None:
    code, out, _ = run(capsys, "id", text, "--json")
    assert (code, json.loads(out)["event"], json.loads(out)[field]) == (0, kind, value)


@pytest.mark.parametrize("text", ["/tmp/nobody.key", "tcp://a:b", "ndn:/", "ndn:/a/.."])
def test_id_of_what_is_nothing_is_one_sentence(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    code, out, err = run(capsys, "id", text)
    assert code in (1, 2) and out == "" and len(err.splitlines()) == 1


def test_a_node_of_a_file_is_a_client_if_it_listens_nowhere(
    start: StartCommand, tmp_path: Path
) -> None:
    _, (address,) = forwarder(start, "tcp://127.0.0.1:0")
    for listen, addresses in (("[]", 0), ('"tcp://127.0.0.1:0"', 1)):
        config = tmp_path / "node.toml"
        config.write_text(
            f'[[network]]\nname = "ndn"\nlisten = {listen}\nbootstrap = "{address}"\n'
            'topics = ["/weather"]\n'
        )
        node = start("node", "--config", str(config), "--json")
        assert len(node.event("ready")["addresses"]) == addresses
        node.signal(signal.SIGTERM)
        assert node.end() == 0
