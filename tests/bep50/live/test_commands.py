"""The commands on a bep50 network, as a user types them."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rumormill.bep50.live.key_file import create_item_key
from rumormill.cli import main
from rumormill.cli.networks.config import load_config
from rumormill.cli.networks.plan import NetworkPlan, plan_network
from rumormill.cli.words.sentences import UsageError

Start = Callable[..., Any]
BEP50 = ("--network", "bep50")


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "key.json"


@pytest.fixture
def key(key_file: Path) -> str:
    """The public key of the key file, in hex."""
    return create_item_key(key_file).public_key.hex()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---- keys


def test_keygen_prints_the_public_key_in_hex_and_nothing_else(
    capsys: pytest.CaptureFixture[str], key_file: Path
) -> None:
    code, out, err = run(capsys, "keygen", *BEP50, "--out", str(key_file))
    assert (code, err) == (0, "")
    assert re.fullmatch(r"[0-9a-f]{64}\n", out)
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    code, told, _ = run(capsys, "id", str(key_file), "--json")
    assert code == 0
    assert json.loads(told)["public_key"] == json.loads(told)["id"] == out.strip()


def test_keygen_overwrites_only_by_force(
    capsys: pytest.CaptureFixture[str], key_file: Path
) -> None:
    _, first, _ = run(capsys, "keygen", *BEP50, "--out", str(key_file))
    code, out, err = run(capsys, "keygen", *BEP50, "--out", str(key_file))
    assert (code, out) == (1, "")
    assert "--force" in err
    code, second, _ = run(capsys, "keygen", *BEP50, "--out", str(key_file), "--force", "--json")
    assert code == 0
    assert json.loads(second)["public_key"] != first.strip()


def test_id_tells_what_a_topic_is_called_in_the_dht(capsys: pytest.CaptureFixture[str]) -> None:
    # The second vector of BEP 46.
    key = "8543d3e6115f0f98c944077a4493dcd543e49c739fd998550a1f614ab36ed63e"
    link = f"magnet:?xs=urn:btpk:{key}&s=6e"
    code, out, _ = run(capsys, "id", link, "--json")
    assert code == 0
    topic = json.loads(out)
    assert topic["topic"] == f"{key}:n"
    assert topic["target"] == "59ee7c2cb9b4f7eb1986ee2d18fd2fdb8a56554f"
    assert run(capsys, "id", f"{key}:%")[0] == 2


# ---- sub and pub


def subscriber(start: Start, topic: str, *arguments: str) -> tuple[Any, str]:
    """A running ``sub``, and the address to reach it."""
    sub = start("sub", topic, *BEP50, "--listen", "127.0.0.1:0", "--json", *arguments)
    ready = sub.event("ready")
    (address,) = ready["addresses"]
    assert re.fullmatch(r"127\.0\.0\.1:\d+", address)
    assert re.fullmatch(r"[0-9a-f]{40}", ready["id"])
    return sub, address


@pytest.mark.parametrize("salt", ["", ":weather"])
def test_what_pub_sends_sub_prints(start: Start, key: str, key_file: Path, salt: str) -> None:
    topic = key + salt
    sub, address = subscriber(start, topic, "--count", "2")
    pub = start("pub", topic, *BEP50, "--set", f"key_file={key_file}", "--peer", address,
                "--data", "rain at noon, 10 °C", "--json")  # fmt: skip
    pub.event("ready")
    receipt = pub.event("published")
    message = sub.event("message")
    assert (message["topic"], message["data"]) == (topic, "rain at noon, 10 °C")
    assert (message["sender"], message["seq"]) == (key, 1)
    assert message["id"] == receipt["id"]
    assert (receipt["reached"], receipt["seq"]) == ([address], 1)
    assert pub.end() == 0
    pub = start("pub", topic, *BEP50, "--key-file", str(key_file), "--peer", address,
                "--data", "sun", "--cas", "1")  # fmt: skip
    assert pub.end() == 0
    assert "seq 2  sent to 1 peer" in pub.line()
    assert sub.event("message")["seq"] == 2
    assert sub.end() == 0
    assert (sub.errors, pub.errors) == ([], [])


def test_each_line_of_stdin_is_a_new_value_and_the_last_one_stays(
    start: Start, key: str, key_file: Path
) -> None:
    sub, address = subscriber(start, key)
    publish = ("pub", key, *BEP50, "--key-file", str(key_file), "--peer", address)
    for arguments, lines in (((), b"one\ntwo\nthree\n"), (("--cas", "3"), b"four\nfive\n")):
        pub = start(*publish, *arguments)
        pub.write(lines)
        pub.close_stdin()
        assert pub.end() == 0
    numbers: list[int] = []
    while not numbers or numbers[-1] != 5:  # values in between may be skipped
        numbers.append(sub.event("message")["seq"])
    assert numbers == sorted(numbers)
    late, _ = subscriber(start, key, "--peer", address, "--count", "1")
    message = late.event("message")
    assert (message["data"], message["seq"]) == ("five", 5)


def test_the_newest_value_is_everywhere_though_one_is_killed(
    start: Start, key: str, key_file: Path
) -> None:
    first, address = subscriber(start, key)
    others = [subscriber(start, key, "--peer", address) for _ in range(3)]
    publish = ("pub", key, *BEP50, "--key-file", str(key_file), "--data")
    assert start(*publish, "before", "--peer", address).end() == 0
    for sub, _ in others:
        assert sub.event("message")["data"] == "before"
    first.signal(signal.SIGKILL)
    first.end()
    assert start(*publish, "after", "--peer", others[0][1]).end() == 0
    for sub, _ in others:
        assert sub.event("message")["data"] == "after"
    late, _ = subscriber(start, key, "--peer", others[2][1], "--count", "1")
    assert late.event("message")["data"] == "after"
    assert late.end() == 0


def test_a_value_that_is_not_the_one_to_be_replaced_is_told(
    start: Start, key: str, key_file: Path
) -> None:
    _, address = subscriber(start, key)
    publish = ("pub", key, *BEP50, "--key-file", str(key_file), "--peer", address, "--data", "x")
    assert start(*publish).end() == 0
    pub = start(*publish, "--cas", "7")
    assert pub.end() == 1
    assert pub.sentence.endswith("the value to replace has seq 7, but the newest has seq 1.")


def test_the_trace_tells_of_a_delivery_by_addresses(
    start: Start, key: str, key_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    sub, address = subscriber(start, key, "--count", "1", "--trace", str(path))
    pub = start("pub", key, *BEP50, "--key-file", str(key_file), "--peer", address, "--data", "x")
    assert (pub.end(), sub.end()) == (0, 0)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    (delivered,) = [event for event in events if event["event"] == "delivered"]
    message = sub.event("message")
    assert delivered["message_id"] == message["id"]
    assert (delivered["node"], delivered["peer"]) == (address, message["received_from"])


def test_a_signal_ends_sub_cleanly(start: Start, key: str) -> None:
    sub, _ = subscriber(start, key)
    sub.signal(signal.SIGTERM)
    assert sub.end() == 0
    assert sub.errors == []


# ---- what goes wrong: one sentence


def free_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize("command", ["sub", "pub"])
def test_an_unreachable_peer_is_one_sentence_and_exit_1(
    start: Start, key: str, key_file: Path, command: str
) -> None:
    address = free_address()
    process = start(command, key, *BEP50, "--key-file", str(key_file), "--peer", address, "--json",
                    "--set", "query_timeout=0.3")  # fmt: skip
    process.close_stdin()
    assert process.end() == 1
    assert process.sentence == f"rumormill: could not reach {address}: no answer."
    assert process.rest == []


def test_one_of_two_peers_is_enough_and_the_other_is_warned_of(
    start: Start, key: str, key_file: Path
) -> None:
    sub, address = subscriber(start, key)
    pub = start("pub", key, *BEP50, "--key-file", str(key_file), "--peer", free_address(),
                "--peer", address, "--data", "x", "--set", "query_timeout=0.3")  # fmt: skip
    assert pub.end() == 0
    assert sub.event("message")["data"] == "x"
    assert "Going on with the others." in pub.sentence


def test_a_peer_of_another_topic_is_one_sentence(start: Start, key: str, key_file: Path) -> None:
    _, address = subscriber(start, key)
    pub = start("pub", f"{key}:other", *BEP50, "--key-file", str(key_file), "--peer", address,
                "--data", "x")  # fmt: skip
    assert pub.end() == 1
    assert pub.sentence == f"rumormill: {address} takes no part in the topic."


def test_the_key_of_another_topic_is_one_sentence(start: Start, key: str, tmp_path: Path) -> None:
    create_item_key(tmp_path / "other.json")
    _, address = subscriber(start, key)
    pub = start("pub", key, *BEP50, "--set", f"key_file={tmp_path / 'other.json'}",
                "--peer", address, "--data", "x")  # fmt: skip
    assert pub.end() == 1
    assert f"only its own key can publish on {key}" in pub.sentence


KEY = "ab" * 32
NOWHERE = "127.0.0.1:1"
WRONG = [
    (["sub", "weather", *BEP50], "cannot use the topic 'weather'"),
    (["sub", KEY, *BEP50, "--listen", "/ip4/127.0.0.1/tcp/0"], "--listen cannot use the address"),
    (["sub", KEY, *BEP50, "--peer", "here"], "--peer cannot use the address 'here'"),
    (["sub", KEY, *BEP50, "--set", "bucket_sice=2"], "did you mean bucket_size"),
    (["sub", KEY, *BEP50, "--set", "D=8"], "D: there is no such key"),
    (["sub", KEY, *BEP50, "--set", "forward=push"], "forward: .*push"),
    (["sub", KEY, *BEP50, "--listen", "192.0.2.1:1"], "cannot listen on 192.0.2.1:1"),
    (["sub", KEY, *BEP50, "--set", "state_file=/no/such/x"], "state_file: cannot write"),
    (["pub", KEY, *BEP50, "--data", "x"], "whom to publish to"),
    (["pub", KEY, *BEP50, "--peer", NOWHERE, "--data", "x", "--key-file", "/no/such/key"],
     "key_file: /no/such/key does not exist; rumormill keygen"),
    (["pub", KEY, *BEP50, "--peer", NOWHERE, "--data", "x", "--set", "key_file=/no/such/key"],
     "key_file: /no/such/key does not exist"),
    (["pub", KEY, *BEP50, "--peer", NOWHERE, "--key-file", "a", "--set", "key_file=b"], "not both"),
    (["pub", "weather", "--peer", "/ip4/127.0.0.1/tcp/1", "--cas", "1"], "not for gossipsub"),
    (["pub", KEY, *BEP50, "--peer", NOWHERE, "--cas", "-1"], "--cas"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "problem"), WRONG, ids=lambda value: str(value)[-60:])
def test_a_wrong_command_is_one_sentence_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    (sentence,) = err.splitlines()
    assert sentence.startswith("rumormill: ")
    assert re.search(problem, sentence)


def test_a_missing_package_is_named_with_the_command_that_brings_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr("rumormill.system.packages.find_spec", find_nothing)
    for arguments in (["sub", KEY, *BEP50], ["keygen", *BEP50, "--out", "x"], ["id", KEY]):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err == (
            "rumormill: network: bep50 needs bencode2, which is not installed; "
            "pip install 'rumormill[bep50]' brings it.\n"
        )


# ---- node


def test_a_configured_node_keeps_its_state(start: Start, key: str, key_file: Path) -> None:
    config = key_file.parent / "node.toml"
    config.write_text(
        f"""
        [[network]]
        name = "bep50"
        topics = ["{key.upper()}:weather"]
        key_file = "key.json"
        state_file = "node.state"
        query_timeout = 1
        """
    )
    (plan,) = load_config(config).networks
    assert plan.topics == (f"{key}:weather",)
    assert plan.listen == ("127.0.0.1:0",)
    assert plan.settings == {"state_file": key_file.parent / "node.state", "query_timeout": 1}
    ids = set()
    for number in (1, 2):
        node = start("node", "--config", str(config), "--json", "--status", "600")
        ready = node.event("ready")
        ids.add(ready["id"])
        assert node.event("status")["network"] == "bep50"
        pub = start("pub", f"{key}:weather", *BEP50, "--key-file", str(key_file), "--data", "x",
                    "--peer", ready["addresses"][0], "--json")  # fmt: skip
        pub.event("ready")
        assert pub.event("published")["seq"] == number
        node.signal(signal.SIGTERM)
        assert node.end() == 0
    assert len(ids) == 1


def test_a_plan_has_its_topics_in_their_one_true_form() -> None:
    listen = ("127.0.0.1:0",)
    plan = NetworkPlan("bep50", listen, topics=(f"{KEY.upper()}:%77", KEY)).checked()
    assert plan.topics == (f"{KEY}:w", KEY)
    with pytest.raises(UsageError):
        NetworkPlan("bep50", listen, topics=("weather",)).checked()


def test_a_key_file_can_be_set_like_any_other_key() -> None:
    plan = plan_network(
        "bep50", topics=(KEY,), listen=None, peers=("127.0.0.1:6881",), key_file=None,
        settings={"key_file": "key.json", "read_only": "true"},
    )  # fmt: skip
    assert plan.key_file == Path("key.json")
    assert plan.settings == {"read_only": "true"}
