"""What the commands print, as text: for programs (JSON lines) and for people."""

from __future__ import annotations

import codecs
import io
import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from rich.console import Console
from rich.text import Text

from rumormill.core.message import NO_FIELDS, Message
from rumormill.core.receipt import Outcome, Receipt
from rumormill.core.topic import Capabilities
from rumormill.core.words import plural, printable, short

LONGEST_SHOWN = 2000
"""Characters of a message that a person gets to see; ``--json`` has all."""

OUTCOMES = {
    Outcome.DELIVERED: "delivered",
    Outcome.UNKNOWN: "perhaps delivered: no acknowledgement came",
    Outcome.NO_SUBSCRIBER: "not delivered: nobody listens",
}
"""What to say where the network knows what became of a message."""


class TopicStatus(NamedTuple):
    """How a node stands on one topic."""

    subscribers: int
    mesh: int
    messages: int


class Ready(NamedTuple):
    """A node that is up: what the first line of every command says that opens a network."""

    network: str
    id: str
    addresses: Sequence[str]
    capabilities: Capabilities
    services: Mapping[str, Sequence[str]] = NO_FIELDS
    """Where it answers others than its peers, by what that is for."""
    http: str | None = None


class Status(NamedTuple):
    """How a node stands on one network."""

    network: str
    id: str
    peers: int
    topics: Mapping[str, TopicStatus]
    counters: Mapping[str, int]


class Renderer(Protocol):
    """Turns what happened into a line; an empty one is not printed."""

    def ready(self, ready: Ready) -> str:
        """The node is up."""
        ...

    def message(self, message: Message) -> str:
        """A message arrived."""
        ...

    def published(self, receipt: Receipt, at: float) -> str:
        """A message left, ``at`` seconds since the epoch."""
        ...

    def status(self, status: Status) -> str:
        """How the node stands."""
        ...


class JsonRenderer:
    """One JSON object a line."""

    def ready(self, ready: Ready) -> str:
        """The first line of every command that opens a network, with what the network promises."""
        fields: dict[str, Any] = {
            "addresses": list(ready.addresses),
            "id": ready.id,
            "network": ready.network,
            "capabilities": ready.capabilities._asdict(),
        }
        if ready.services:
            fields["services"] = {name: list(where) for name, where in ready.services.items()}
        if ready.http is not None:
            fields["http"] = ready.http
        return json_line("ready", fields)

    def message(self, message: Message) -> str:
        """``topic``, ``data`` or ``data_base64``, ``sender``, ``id``, ``received_at``, ..."""
        return json_line("message", message.to_json())

    def published(self, receipt: Receipt, at: float) -> str:
        """``id``, ``topic``, ``published_at``, the peers ``reached``, ``queued``, ``dropped``."""
        return json_line("published", {**receipt.to_json(), "published_at": at})

    def status(self, status: Status) -> str:
        """Numbers per topic, and every counter of the node."""
        topics = {topic: standing._asdict() for topic, standing in status.topics.items()}
        return json_line("status", {**status._asdict(), "topics": topics})


class HumanRenderer:
    """Lines for people: in colour and with short names on a terminal, plain and whole in a pipe."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._console = Console(
            file=io.StringIO(), force_terminal=terminal, no_color=None if terminal else True
        )

    def ready(self, ready: Ready) -> str:
        """Nothing: stdout is for messages, the commands say this on stderr."""
        return ""

    def message(self, message: Message) -> str:
        """``time sender data``; without a sender, the node that brought it."""
        clock = time.strftime("%H:%M:%S", time.localtime(message.received_at))
        return self._line(
            (clock, "dim"),
            (self._whose(message), "cyan"),
            (shown(message.data), ""),
        )

    def published(self, receipt: Receipt, at: float) -> str:
        """Whom it went to, and whom not."""
        text = f"sent to {plural(len(receipt.peers), 'peer')}" if receipt else "sent to nobody"
        text = OUTCOMES.get(receipt.outcome or "", text)
        losses = [f"{self._name(peer)}: {reason}" for peer, reason in receipt.dropped.items()]
        problem = f"not to {', '.join(losses)}" if losses else ""
        if stored := receipt.fields.get("stored"):
            text = f"stored by {plural(stored, 'node')} of the main DHT, sent to nobody"
        number = f"seq {receipt.fields['seq']}" if "seq" in receipt.fields else ""
        return self._line(
            (receipt.id.hex()[-16:], "dim"), (number, "dim"), (text, ""), (problem, "red")
        )

    def status(self, status: Status) -> str:
        """One line: peers, and each topic's numbers."""
        clock = time.strftime("%H:%M:%S")
        topics = "  ".join(
            f"{printable(topic)}: {plural(standing.messages, 'message')}, "
            f"{plural(standing.subscribers, 'subscriber')}, {standing.mesh} in the mesh"
            for topic, standing in status.topics.items()
        )
        return self._line(
            (clock, "dim"), (status.network, "cyan"), (plural(status.peers, "peer"), ""),
            (topics, ""),
        )  # fmt: skip

    def _whose(self, message: Message) -> str:
        if message.sender is not None:
            return self._name(message.sender)
        by = message.received_from
        return "unsigned" if by is None else f"by way of {self._name(by)}"

    def _name(self, peer: str) -> str:
        return short(peer) if self._terminal else peer

    def _line(self, *parts: tuple[str, str]) -> str:
        if not self._terminal:
            return "  ".join(text for text, _ in parts if text)
        line = Text("  ").join(Text(text, style) for text, style in parts if text)
        with self._console.capture() as capture:
            self._console.print(line, soft_wrap=True, end="")
        return capture.get()


def renderer_for(as_json: bool, terminal: bool) -> Renderer:
    """The renderer for the way we were called."""
    return JsonRenderer() if as_json else HumanRenderer(terminal)


def json_line(event: str, fields: Mapping[str, Any]) -> str:
    """One line of JSON; text stays readable unless it holds what a terminal would obey.

    >>> json_line("message", {"data": "Zürich"})
    '{"event":"message","data":"Zürich"}'
    >>> json_line("message", {"data": "Zürich \\x9b"})
    '{"event":"message","data":"Z\\\\u00fcrich \\\\u009b"}'
    """
    return json_text({"event": event, **fields})


def json_text(value: Mapping[str, Any], allow_nan: bool = True) -> str:
    """The same of any object; ``allow_nan``: whether NaN, which is no JSON, may be in it."""
    write = partial(json.dumps, value, separators=(",", ":"), allow_nan=allow_nan)
    line = write(ensure_ascii=False)
    return line if line.isprintable() else write()


def shown(data: bytes) -> str:
    """Data for a person's eyes.

    >>> shown(b"rain at noon"), shown(b"\\xff\\x00")
    ('rain at noon', '2 bytes: ff00')
    """
    head = data[: 4 * LONGEST_SHOWN]
    try:  # incremental: a character cut in two at the end of the head is no reason to show bytes
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) == len(data))
    except UnicodeDecodeError:
        text, whole = data[:LONGEST_SHOWN].hex(), len(data) <= LONGEST_SHOWN
        return f"{plural(len(data), 'byte')}: {text}{'' if whole else '...'}"
    if len(text) <= LONGEST_SHOWN and len(head) == len(data):
        return printable(text)
    return f"{printable(text[:LONGEST_SHOWN])}... ({plural(len(data), 'byte')})"
