from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]


def subscriber(start: Start, *arguments: str) -> tuple[Any, str]:
    """A running ``sub weather``, and the address to reach it."""
    sub = start("sub", "weather", "--json", *arguments)
    return sub, sub.event("ready")["addresses"][0]


@pytest.mark.parametrize("network", ["gossipsub", "floodsub", "randomsub"])
def test_what_pub_sends_sub_prints(start: Start, network: str) -> None:
    sub, address = subscriber(start, "--network", network, "--count", "1")
    pub = start("pub", "weather", "--network", network, "--peer", address, "--json",
                "--data", "rain at noon, 10 °C")  # fmt: skip
    sender = pub.event("ready")["id"]
    receipt = pub.event("published")
    message = sub.event("message")
    assert message["topic"] == "weather"
    assert message["data"] == "rain at noon, 10 °C"
    assert message["sender"] == sender
    assert message["id"] == receipt["id"]
    assert abs(message["received_at"] - time.time()) < 60
    assert receipt["reached"] == [address.rpartition("/")[2]]
    assert 0 < message["received_at"] - receipt["published_at"] < 60  # one clock: a latency
    assert (sub.end(), pub.end()) == (0, 0)
    assert (sub.errors, pub.errors) == ([], [])


def test_each_line_of_stdin_is_a_message(start: Start) -> None:
    sub, address = subscriber(start, "--count", "4")
    pub = start("pub", "weather", "--peer", address)
    pub.write(b"one\ntwo\r\n\nwithout an end")
    pub.close_stdin()
    assert pub.end() == 0
    assert [sub.event("message")["data"] for _ in range(4)] == ["one", "two", "", "without an end"]
    assert sub.end() == 0


def test_sub_tells_how_the_node_stands_as_often_as_it_is_told_to(start: Start) -> None:
    sub, address = subscriber(start, "--status", "0.1")
    status = sub.event("status")
    assert status["topics"] == {"weather": {"subscribers": 0, "mesh": 0, "messages": 0}}
    other, _ = subscriber(start, "--peer", address)
    while (status := sub.event("status"))["topics"]["weather"]["subscribers"] == 0:
        pass
    assert status["peers"] == 1
    assert start("pub", "weather", "--peer", address, "--data", "rain").end() == 0
    assert other.event("message")["data"] == "rain"
    while (line := json.loads(sub.line()))["event"] != "message":
        pass
    assert line["data"] == "rain"
    assert sub.event("status")["topics"]["weather"]["messages"] == 1
    sub.signal(signal.SIGTERM)
    assert sub.end() == 0


def test_a_line_is_published_when_it_comes_not_when_stdin_ends(start: Start) -> None:
    sub, address = subscriber(start)
    pub = start("pub", "weather", "--peer", address)
    pub.write(b"early\n")
    assert sub.event("message")["data"] == "early"


def test_a_file_is_one_message_whatever_its_bytes(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(b"\xff\x00\n" * 1000)
    sub, address = subscriber(start, "--count", "1")
    assert start("pub", "weather", "--peer", address, "--file", str(path)).end() == 0
    message = sub.event("message")
    assert base64.b64decode(message["data_base64"]) == b"\xff\x00\n" * 1000
    assert "data" not in message


def test_many_messages_arrive_without_loss_and_in_order(start: Start) -> None:
    sub, address = subscriber(start, "--count", "2000")
    pub = start("pub", "weather", "--peer", address)
    pub.write(b"".join(b"%d\n" % number for number in range(2000)))
    pub.close_stdin()
    assert pub.end() == 0
    assert [int(sub.event("message")["data"]) for _ in range(2000)] == list(range(2000))


def test_a_pub_that_listens_reaches_a_sub_that_dials(start: Start) -> None:
    pub = start("pub", "weather", "--listen", "/ip4/127.0.0.1/tcp/0", "--json", "--data", "x",
                "--ready", "30")  # fmt: skip
    address = pub.event("ready")["addresses"][0]
    sub, _ = subscriber(start, "--peer", address, "--count", "1")
    assert sub.event("message")["data"] == "x"
    assert (pub.end(), sub.end()) == (0, 0)


def test_pub_says_when_nobody_was_there_in_time(start: Start) -> None:
    _, address = subscriber(start)
    pub = start("pub", "another-topic", "--peer", address, "--data", "x", "--ready", "0.3")
    assert pub.end() == 1
    assert "nobody listened to 'another-topic' within 0.3 s: 0 messages published" in pub.sentence


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(
    start: Start, tmp_path: Path
) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(3_000_000))
    _, address = subscriber(start)
    pub = start("pub", "weather", "--peer", address, "--file", str(path))
    assert pub.end() == 1
    assert "3000000 bytes" in pub.sentence


@pytest.mark.parametrize("command", ["sub", "pub"])
def test_an_unreachable_peer_is_one_sentence_and_exit_1(start: Start, command: str) -> None:
    address = "/ip4/127.0.0.1/tcp/1"
    process = start(command, "weather", "--peer", address, "--json")
    process.close_stdin()
    assert process.end() == 1
    assert address in process.sentence
    assert process.rest == []


def test_one_of_two_peers_is_enough_and_the_other_is_warned_of(start: Start) -> None:
    sub, address = subscriber(start)
    pub = start("pub", "weather", "--peer", "/ip4/127.0.0.1/tcp/1", "--peer", address,
                "--data", "x")  # fmt: skip
    assert pub.end() == 0
    assert sub.event("message")["data"] == "x"
    assert "/ip4/127.0.0.1/tcp/1" in pub.sentence


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_sub_cleanly(start: Start, number: signal.Signals) -> None:
    sub, _ = subscriber(start)
    sub.signal(number)
    assert sub.end() == 0
    assert sub.errors == []


def test_a_signal_ends_a_pub_that_waits_for_input(start: Start) -> None:
    _, address = subscriber(start)
    pub = start("pub", "weather", "--peer", address, "--json")
    pub.event("ready")
    pub.signal(signal.SIGINT)
    assert pub.end() == 130
    assert "interrupted after 0 messages" in pub.sentence


@pytest.fixture
def piped_sub() -> Iterator[tuple[subprocess.Popen[bytes], int, str]]:
    """A ``sub`` whose output only the test reads: the process, its pipe, its address."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "rumormill.cli", "sub", "weather", "--json"],
        stdout=writer, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(writer)
    with process:
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(reader, 65536)
        yield process, reader, json.loads(line)["addresses"][0]
        process.kill()


def test_a_reader_that_goes_away_ends_sub_cleanly(
    start: Start, piped_sub: tuple[subprocess.Popen[bytes], int, str]
) -> None:
    sub, reader, address = piped_sub
    os.close(reader)
    assert start("pub", "weather", "--peer", address, "--data", "x").end() == 0
    _, errors = sub.communicate(timeout=30)
    assert (sub.returncode, errors) == (0, b"")


def test_a_reader_that_stops_reading_does_not_keep_sub_from_ending(
    start: Start, piped_sub: tuple[subprocess.Popen[bytes], int, str]
) -> None:
    sub, reader, address = piped_sub
    pub = start("pub", "weather", "--peer", address)
    pub.write((b"x" * 1000 + b"\n") * 500)
    pub.close_stdin()
    assert pub.end() == 0
    sub.terminate()
    _, errors = sub.communicate(timeout=30)
    assert (sub.returncode, errors) == (0, b"")
    os.close(reader)


def test_a_pipe_gets_plain_lines(start: Start) -> None:
    _, first = subscriber(start)
    sub = start("sub", "weather", "--peer", first, "--count", "1")
    while not sub.errors:  # "waiting for messages ..."
        time.sleep(0.05)
    pub = start("pub", "weather", "--peer", first, "--data", "[bold]rain\x1b[31m")
    assert pub.end() == 0
    line = sub.line()
    assert line.endswith(r"  [bold]rain\x1b[31m")
    assert line.isprintable()


def test_the_trace_tells_of_a_delivery(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sub, address = subscriber(start, "--count", "1", "--trace", str(path))
    assert start("pub", "weather", "--peer", address, "--data", "x").end() == 0
    assert sub.end() == 0
    events = [json.loads(line) for line in path.read_text().splitlines()]
    (delivered,) = [event for event in events if event["event"] == "delivered"]
    assert delivered["topic"] == "weather"
    assert delivered["message_id"] == sub.event("message")["id"]


def test_a_setting_reaches_the_network(start: Start, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(9000))
    _, address = subscriber(start)
    pub = start("pub", "weather", "--peer", address, "--file", str(large),
                "--set", "max_rpc_size=8192", "--set", "max_control_size=2048")  # fmt: skip
    assert pub.end() == 1
    assert "9000 bytes" in pub.errors[0]


def test_a_lost_peer_is_dialed_again(start: Start, tmp_path: Path) -> None:
    key = str(tmp_path / "node.key")
    node = start("node", "--topic", "weather", "--key-file", key, "--json", "--status", "600")
    address = node.event("ready")["addresses"][0]
    sub, _ = subscriber(start, "--peer", address, "--count", "1", "--set", "redial_first_delay=0.1")
    node.process.kill()
    node.end()
    again = start("node", "--topic", "weather", "--key-file", key, "--json", "--status", "0.1",
                  "--listen", address.partition("/p2p/")[0])  # fmt: skip
    assert again.event("ready")["addresses"] == [address]
    while not again.event("status")["topics"]["weather"]["subscribers"]:
        pass  # the subscriber is not back yet
    pub = start("pub", "weather", "--peer", address, "--data", "still there?", "--ready", "30")
    assert pub.end() == 0
    assert sub.event("message")["data"] == "still there?"
