from __future__ import annotations

import json
import signal
import stat
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rumormill.capture.open import open_log
from rumormill.capture.reading.node_client import NodeClient

Start = Callable[..., Any]
NEVER = ("--status", "600")
TOKEN = "a-long-random-token"


def publish(address: str, topic: str, data: str, token: str | None = None) -> dict[str, Any]:
    client = NodeClient(address, token=token)
    body = json.dumps({"topic": topic, "data": data}).encode()
    try:
        return client.post("/v1/publish", body, "application/json").json()
    finally:
        client.close()


def test_what_is_published_over_http_reaches_a_subscriber_and_the_spool(
    start: Start, tmp_path: Path
) -> None:
    node = start(
        "node", "--topic", "weather", "--http", "127.0.0.1:0", "--spool", str(tmp_path / "spool"),
        "--json", *NEVER,
    )  # fmt: skip
    ready = node.event("ready")
    assert ready["http"].startswith("http://127.0.0.1:")
    sub = start("sub", "weather", "--peer", ready["addresses"][0], "--json", "--count", "1")
    sub.event("ready")
    receipt = publish(ready["http"], "weather", "rain at noon")
    while not receipt["reached"] and not receipt["queued"]:  # the subscription is on its way
        receipt = publish(ready["http"], "weather", "rain at noon")
    assert sub.event("message")["data"] == "rain at noon"
    log = open_log(ready["http"], "messages")
    while log.bounds().latest == 0:
        pass
    ((offset, batch),) = list(log.read(0, 1))
    assert (offset, batch.column("value").to_pylist()) == (0, [b"rain at noon"])
    log.close()  # type: ignore[attr-defined]


def test_a_node_with_http_ends_cleanly_on_a_signal(start: Start) -> None:
    node = start("node", "--http", "127.0.0.1:0", "--json", *NEVER)
    address = node.event("ready")["http"]
    with urllib.request.urlopen(f"{address}/v1/node") as answer:
        assert json.loads(answer.read())["network"] == "gossipsub"
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    assert node.errors == []


def test_people_are_told_where_it_answers(start: Start) -> None:
    node = start("node", "--http", "127.0.0.1:0", "--status", "0.1")
    node.line()
    node.signal(signal.SIGINT)
    assert node.end() == 0
    assert any("answering on http://127.0.0.1:" in line for line in node.errors)


def test_a_configured_node_answers_with_its_token(start: Start, tmp_path: Path) -> None:
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text(TOKEN)
    config = tmp_path / "node.toml"
    config.write_text(
        '[[network]]\nname = "gossipsub"\ntopics = ["weather"]\n'
        '[http]\nlisten = "127.0.0.1:0"\ntoken_file = "token"\n'
    )
    node = start("node", "--config", str(config), "--json", *NEVER)
    address = node.event("ready")["http"]
    assert publish(address, "weather", "rain", TOKEN)["topic"] == "weather"


def test_beyond_loopback_a_token_is_asked_for_in_one_sentence(start: Start) -> None:
    node = start("node", "--http", "0.0.0.0:0")
    assert node.end() == 2
    assert "0.0.0.0 can be reached from other machines" in node.sentence
    assert "--http-token-file" in node.sentence


def test_a_port_that_is_taken_is_one_sentence(start: Start) -> None:
    first = start("node", "--http", "127.0.0.1:0", "--json", *NEVER)
    place = first.event("ready")["http"].removeprefix("http://")
    second = start("node", "--http", place, *NEVER)
    assert second.end() == 2
    assert place in second.errors[-1] and "in use" in second.errors[-1]


def test_a_token_without_http_is_a_mistake(start: Start, tmp_path: Path) -> None:
    node = start("node", "--http-token-file", str(tmp_path / "token"))
    assert node.end() == 2
    assert "--http HOST:PORT" in node.sentence
    absent = tmp_path / "absent" / "token"
    node = start("node", "--http", "127.0.0.1:0", "--http-token-file", str(absent))
    assert node.end() == 2
    assert f"cannot write {absent}: No such file or directory" in node.sentence


def test_a_token_is_made_where_there_is_none_and_stays(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "token"
    for expected in (["with a new token in it"], []):
        arguments = ("--http", "127.0.0.1:0", "--http-token-file", str(file), "--json", *NEVER)
        node = start("node", "--topic", "weather", *arguments)
        address = node.event("ready")["http"]
        token = file.read_text().strip()
        assert len(token) >= 32 and stat.S_IMODE(file.stat().st_mode) == 0o600
        assert publish(address, "weather", "rain", token)["topic"] == "weather"
        node.signal(signal.SIGTERM)
        assert node.end() == 0
        assert len(node.errors) == len(expected)
        assert all(word in line for word, line in zip(expected, node.errors, strict=True))
