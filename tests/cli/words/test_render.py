from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.cli.words.render import (
    LONGEST_SHOWN,
    HumanRenderer,
    JsonRenderer,
    Ready,
    Status,
    TopicStatus,
    shown,
)
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities

PEER = "12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA"
MESSAGE = Message("weather", b"rain at noon", sender=PEER, id=b"\x01\x02", received_at=1e9)


def test_a_message_line_of_json_has_what_was_promised() -> None:
    row = json.loads(JsonRenderer().message(MESSAGE))
    assert row["event"] == "message"
    assert row["topic"] == "weather"
    assert row["data"] == "rain at noon"
    assert row["sender"] == PEER
    assert row["id"] == "0102"
    assert row["received_at"] == 1e9


def test_data_that_is_no_text_is_base64_in_json() -> None:
    row = json.loads(JsonRenderer().message(MESSAGE._replace(data=b"\xff")))
    assert row["data_base64"] == "/w=="
    assert "data" not in row


@given(st.binary())
def test_any_message_is_one_line_that_a_terminal_does_not_obey(data: bytes) -> None:
    message = MESSAGE._replace(data=data)
    assert HumanRenderer(terminal=False).message(message).isprintable()
    line = JsonRenderer().message(message)
    assert line.isprintable()
    assert json.loads(line)["topic"] == "weather"


def test_the_ready_line_has_addresses_id_and_what_the_network_promises() -> None:
    promised = Capabilities(largest_message=65536, every_message=False)
    ready = Ready("gossipsub", PEER, ("/ip4/127.0.0.1/tcp/1",), promised)
    row = json.loads(JsonRenderer().ready(ready))
    assert row == {
        "event": "ready",
        "addresses": ["/ip4/127.0.0.1/tcp/1"],
        "id": PEER,
        "network": "gossipsub",
        "capabilities": {
            "largest_message": 65536,
            "every_message": False,
            "all_subscribers": True,
            "ordered": False,
            "acknowledged": False,
            "signed": True,
            "at_most_once": True,
            "relays": False,
            "fanout": True,
        },
    }


def test_the_ready_line_has_where_else_a_node_answers() -> None:
    services = {"channel": ("127.0.0.1:20200",)}
    ready = Ready("gossipsub", PEER, (), Capabilities(1), services, "http://127.0.0.1:7700")
    row = json.loads(JsonRenderer().ready(ready))
    assert row["services"] == {"channel": ["127.0.0.1:20200"]}
    assert row["http"] == "http://127.0.0.1:7700"


def test_a_pipe_gets_whole_names_and_no_colour() -> None:
    line = HumanRenderer(terminal=False).message(MESSAGE)
    assert "\x1b" not in line
    assert line.endswith(f"{PEER}  rain at noon")


def test_a_terminal_gets_short_names_and_markup_in_data_stays_text() -> None:
    line = HumanRenderer(terminal=True).message(MESSAGE._replace(data=b"[red]rain[/red]"))
    assert PEER not in line
    assert "12D3..QAJU5SA" in line
    assert "[red]rain[/red]" in line


def test_a_long_message_is_cut_for_people() -> None:
    text = shown(b"a" * 100_000)
    assert text.endswith("... (100,000 bytes)")
    assert len(text) < LONGEST_SHOWN + 50
    assert shown(b"\xff" * 100_000).startswith("100,000 bytes: ffff")


def test_a_character_cut_in_two_does_not_make_text_binary() -> None:
    data = ("a" + "ä" * 100_000).encode()
    assert shown(data).startswith("aääää")


def test_a_receipt_tells_who_did_not_get_it() -> None:
    receipt = Receipt(b"\x01", "weather", reached=("a", "b"), dropped={"c": "queue_full"})
    line = HumanRenderer(terminal=False).published(receipt, 0.0)
    assert "sent to 2 peers" in line
    assert "not to c: queue_full" in line
    nobody = HumanRenderer(terminal=False).published(Receipt(b"\x01", "weather"), 0.0)
    assert "sent to nobody" in nobody


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("delivered", "delivered"),
        ("unknown", "perhaps delivered: no acknowledgement came"),
        ("no_subscriber", "not delivered: nobody listens"),
    ],
)
def test_a_receipt_tells_what_became_of_the_message_where_that_is_known(
    outcome: str, words: str
) -> None:
    receipt = Receipt(b"\x01", "weather", fields={"outcome": outcome})
    assert HumanRenderer(terminal=False).published(receipt, 0.0) == f"01  {words}"
    assert json.loads(JsonRenderer().published(receipt, 0.0))["outcome"] == outcome


def test_a_status_line_has_numbers_for_each_topic() -> None:
    status = Status("gossipsub", PEER, 3, {"weather": TopicStatus(2, 1, 7)}, {"delivered": 7})
    line = HumanRenderer(terminal=False).status(status)
    assert "3 peers" in line
    assert "weather: 7 messages, 2 subscribers, 1 in the mesh" in line
    row = json.loads(JsonRenderer().status(status))
    assert row["topics"]["weather"] == {"subscribers": 2, "mesh": 1, "messages": 7}
    assert row["counters"] == {"delivered": 7}


def test_a_message_that_nobody_signed_is_shown_with_the_node_that_brought_it() -> None:
    show = HumanRenderer(terminal=False).message
    brought = MESSAGE._replace(sender=None, received_from="node-1")
    assert show(brought).endswith("  by way of node-1  rain at noon")
    own = MESSAGE._replace(sender=None, received_from=None)
    assert show(own).endswith("  unsigned  rain at noon")
