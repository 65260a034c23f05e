"""The routes of a node, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rumormill.live.network import Network
from rumormill.node.connections import Connections
from rumormill.node.guard import Guard, Refusal, on_http_error, on_refusal
from rumormill.node.ledger import Ledger
from rumormill.node.metrics import CONTENT_TYPE, exposition
from rumormill.node.publish_routes import PublishRoutes
from rumormill.node.settings import HttpSettings
from rumormill.node.spool_routes import SpoolRoutes
from rumormill.node.tally import Tally

LEDGER: Final = "published"
"""The ledger's file, in the folder of the spool."""


@dataclass(frozen=True)
class NodeParts:
    """What the HTTP side shows of a node."""

    networks: Sequence[Network]
    spool: Path | None = None
    """The folder of the spool, if the node keeps one."""


class HttpState(NamedTuple):
    """How the HTTP side itself stands."""

    tally: Tally
    connections: Connections | None = None
    """None without a server."""

    def describe(self) -> dict[str, Any]:
        """As ``/v1/node`` tells it."""
        sizes = self.sizes()
        if self.connections is not None:
            sizes["max_connections"] = self.connections.most
        return {**sizes, "counters": dict(self.tally.counters)}

    def sizes(self) -> dict[str, int]:
        """Connections and what is kept of them."""
        return {} if self.connections is None else self.connections.sizes()


def build_app(
    parts: NodeParts, settings: HttpSettings, state: HttpState | None = None
) -> Starlette:
    """Everything that is answered over HTTP."""
    state = state or HttpState(Tally())
    ledger = Ledger(None if parts.spool is None else parts.spool / LEDGER)
    spool = SpoolRoutes(parts.spool)
    description = _Description(parts, spool, state)
    return Starlette(
        routes=[
            Route("/v1/node", description.node),
            Route("/v1/topics", description.topics),
            Route("/metrics", description.metrics),
            *spool.routes,
            *PublishRoutes(parts.networks, ledger).routes,
        ],
        middleware=[Middleware(Guard, settings=settings, tally=state.tally)],
        exception_handlers={
            Refusal: on_refusal,
            HTTPException: on_http_error,
        },
    )


class _Description:
    """Who this node is, and what it listens to."""

    def __init__(self, parts: NodeParts, spool: SpoolRoutes, state: HttpState) -> None:
        self._parts = parts
        self._state = state
        self._spool = spool

    async def node(self, request: Request) -> Response:
        networks = [
            {
                "id": network.id,
                "network": network.name,
                "addresses": list(network.addresses),
                "peers": len(network.peers),
            }
            for network in self._parts.networks
        ]
        first: dict[str, Any] = networks[0] if networks else {}
        spool = await self._spool.describe()
        return JSONResponse(
            {**first, "networks": networks, "spool": spool, "http": self._state.describe()}
        )

    async def topics(self, request: Request) -> Response:
        topics = [
            {
                "topic": topic,
                "network": network.name,
                "subscribed": topic in network.topics,
                "peers": len(network.subscribers(topic)),
                "mesh": len(network.mesh(topic)),
            }
            for network in self._parts.networks
            for topic in dict.fromkeys((*network.topics, *network.relayed))
        ]
        return JSONResponse({"topics": topics})

    async def metrics(self, request: Request) -> Response:
        text = exposition(self._parts.networks, self._state.sizes())
        return Response(text, media_type=CONTENT_TYPE)
