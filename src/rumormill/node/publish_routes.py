"""Publishing over HTTP: one message as JSON, or a batch as an Arrow IPC stream."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rumormill.core.errors import ClosedError, LocalProtocolError, NotReadyError
from rumormill.core.receipt import Receipt
from rumormill.core.topic import check_topic
from rumormill.live.network import Network
from rumormill.node.guard import ARROW, JSON, Refusal, read_body
from rumormill.node.json_body import read_object
from rumormill.node.ledger import LONGEST_KEY, Ledger
from rumormill.node.rows import Row, decode_rows, make_data

LARGEST_JSON: Final = 8 << 20
LARGEST_BATCH: Final = 16 << 20
DECODERS: Final = 2
"""Batches that are taken apart at the same time: each takes several times its size meanwhile."""
LONGEST_WAIT: Final = 30.0
"""Seconds that a caller may let a message wait for its first listener."""


@dataclass
class Outcome:
    """What became of a batch."""

    published: int = 0
    repeated: int = 0
    """Rows of a batch that was published before, and not again."""
    unheard: int = 0
    """Rows that nobody was there for."""
    dropped: int = 0
    """Peers that should have got a row and did not, over all rows."""


class PublishRoutes:
    """Publishes on the networks of this node."""

    def __init__(self, networks: Sequence[Network], ledger: Ledger) -> None:
        self._networks = networks
        self._ledger = ledger
        largest = max((each.capabilities.largest_message for each in networks), default=0)
        # As JSON, what is not ASCII may be three times as long as in UTF-8.
        self._largest_json = min(LARGEST_JSON, 3 * largest + (64 << 10))
        self._decoding = asyncio.Semaphore(DECODERS)

    @property
    def routes(self) -> list[Route]:
        """What is answered here."""
        return [
            Route("/v1/publish", self._one, methods=["POST"]),
            Route("/v1/publish/batch", self._batch, methods=["POST"]),
        ]

    async def _one(self, request: Request) -> Response:
        body = await read_body(request, JSON, self._largest_json)
        message = read_object(body)
        known = {"topic", "data", "data_base64", "key", "key_base64", "headers", "network"}
        for name in message:
            if name not in known:
                raise Refusal(
                    400, f"there is no {name[:40]!r}; there are {', '.join(sorted(known))}"
                )
        for name in ("topic", "network"):
            if not isinstance(message.get(name), str | None):
                raise Refusal(400, f"{name} must be a text")
        network = self._network(message.get("network"))
        try:
            data = make_data(_value(message), _bytes(message, "key"), _headers(message))
            row = Row(check_topic(message.get("topic")), data)
        except LocalProtocolError as error:
            raise Refusal(400, str(error)) from error
        receipt = await self._publish(network, row, _ready(request, 0.0))
        return JSONResponse(receipt.to_json())

    async def _batch(self, request: Request) -> Response:
        key = request.query_params.get("key", "")
        if not key or len(key) > LONGEST_KEY or not key.isprintable():
            raise Refusal(
                400, f"key must name the batch, as QUERY/BATCH/PARTITION, in {LONGEST_KEY} letters"
            )
        network = self._network(request.query_params.get("network"))
        ready = _ready(request, 10.0)
        body = await read_body(request, ARROW, LARGEST_BATCH)
        async with self._decoding:
            found = await asyncio.to_thread(decode_rows, body, network.capabilities.largest_message)
        async with self._ledger.one_at_a_time(key):
            if self._ledger.knows(key, found.digest):
                outcome = Outcome(repeated=len(found.rows))
            else:
                outcome = await self._publish_all(network, found.rows, ready)
                await self._record(key, found.digest)
        return JSONResponse({**vars(outcome), "durable": self._ledger.durable})

    async def _record(self, key: str, digest: bytes) -> None:
        try:
            await self._ledger.record(key, digest)
        except OSError as error:
            # All of it was published; only a repetition would not be recognised after a restart.
            raise Refusal(500, f"the ledger cannot be written: {error.strerror}") from error

    async def _publish_all(self, network: Network, rows: Sequence[Row], ready: float) -> Outcome:
        outcome = Outcome()
        for number, row in enumerate(rows):
            try:
                receipt = await self._publish(network, row, ready)
            except Refusal as refusal:
                refusal.sentence = f"row {number}: {refusal.sentence}"
                raise
            outcome.published += 1
            outcome.dropped += len(receipt.dropped)
            if not receipt and row.topic not in network.topics:
                outcome.unheard += 1
        return outcome

    async def _publish(self, network: Network, row: Row, ready: float) -> Receipt:
        # Who listens here counts, too: what the node itself captures was heard.
        wait = ready if ready and row.topic not in network.topics else None
        try:
            return await network.publish(row.topic, row.data, ready=wait)
        except NotReadyError as error:
            raise Refusal(409, str(error)) from error
        except ClosedError as error:
            raise Refusal(503, str(error)) from error
        except LocalProtocolError as error:
            raise Refusal(422, str(error)) from error

    def _network(self, name: object) -> Network:
        names = [network.name for network in self._networks]
        if name is None and len(names) == 1:
            return self._networks[0]
        for network in self._networks:
            if network.name == name:
                return network
        if name is None:
            raise Refusal(400, f"say which network: {', '.join(names)}")
        raise Refusal(400, f"this node has no network {str(name)[:40]!r}, only {', '.join(names)}")


def _ready(request: Request, default: float) -> float:
    text = request.query_params.get("ready")
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_WAIT:
        raise Refusal(400, f"ready must be 0 to {LONGEST_WAIT:g} seconds, not {text[:40]!r}")
    return seconds


def _value(message: dict[str, Any]) -> bytes:
    value = _bytes(message, "data")
    if value is None:
        raise Refusal(400, "data is missing: a text in data, or bytes in data_base64")
    return value


def _bytes(message: dict[str, Any], name: str) -> bytes | None:
    """A text, or bytes in base64 under the name's other form."""
    text, encoded = message.get(name), message.get(f"{name}_base64")
    if text is not None and encoded is not None:
        raise Refusal(400, f"give {name} or {name}_base64, not both")
    for kind, given in ((name, text), (f"{name}_base64", encoded)):
        if given is not None and not isinstance(given, str):
            raise Refusal(400, f"{kind} must be a text")
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise Refusal(400, f"{name}_base64 is no base64") from None
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:
        raise Refusal(400, f"{name} cannot be written as UTF-8") from None


def _headers(message: dict[str, Any]) -> list[dict[str, Any]]:
    """``{"name": "text"}``; the order is kept."""
    headers = message.get("headers")
    if headers is None:
        return []
    if not isinstance(headers, dict) or not all(isinstance(v, str) for v in headers.values()):
        raise Refusal(400, 'headers must be an object of texts, as {"unit": "mm"}')
    try:
        for name in headers:
            name.encode()
        return [{"key": name, "value": text.encode()} for name, text in headers.items()]
    except UnicodeEncodeError:
        raise Refusal(400, "headers cannot be written as UTF-8") from None
