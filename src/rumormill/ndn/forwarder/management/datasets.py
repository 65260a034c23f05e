"""What programs may ask: status/general, faces/list, fib/list, rib/list, and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.traffic import NONE, Traffic
from rumormill.ndn.forwarder.management.strategy_commands import strategy_name
from rumormill.ndn.forwarder.management.tables import Tables
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.wire import dataset
from rumormill.ndn.wire.name import Name

VERSION: Final = "rumormill"
ADMITS_AND_SERVES: Final = 3
"""Flags of a content store that is used."""


class Datasets:
    """The contents of all lists."""

    def __init__(self, turn: Turn, parameters: ForwarderParameters, tables: Tables) -> None:
        self._turn = turn
        self._capacity = parameters.max_cs_packets
        self._tables = tables
        self._started: float | None = None

    def contents(self) -> dict[tuple[str, str], Callable[[], bytes]]:
        """What each of them is made by."""
        return {
            ("status", "general"): self.general,
            ("faces", "list"): self.faces,
            ("fib", "list"): self.fib,
            ("rib", "list"): self.rib,
            ("strategy-choice", "list"): self.strategies,
            ("cs", "info"): self.store,
        }

    def started(self) -> None:
        """The forwarder has begun."""
        if self._started is None:
            self._started = self._turn.now

    def general(self) -> bytes:
        """The forwarder as a whole."""
        tables, now = self._tables, self._turn.now
        counted = tables.statistics
        started = now if self._started is None else self._started
        return dataset.encode_general_status(
            dataset.GeneralStatus(
                version=VERSION,
                start=int(started * 1000),
                now=int(now * 1000),
                fib_entries=tables.fib.sizes()["prefixes"],
                pit_entries=len(tables.pit),
                cs_entries=len(tables.store),
                in_interests=counted.in_interests,
                in_data=counted.in_data,
                in_nacks=counted.in_nacks,
                out_interests=counted.out_interests,
                out_data=counted.out_data,
                out_nacks=counted.out_nacks,
                satisfied=counted.satisfied + counted.stored,
                unsatisfied=counted.unsatisfied,
            )
        )

    def faces(self) -> bytes:
        """All faces."""
        return dataset.encode_faces(map(_face, self._tables.faces()))

    def fib(self) -> bytes:
        """All prefixes with their next hops."""
        return dataset.encode_fib(
            dataset.FibEntry(
                prefix, tuple(dataset.NextHop(hop.face.id, hop.cost) for hop in hops)
            )
            for prefix, hops in self._tables.fib.entries()
        )  # fmt: skip

    def rib(self) -> bytes:
        """All routes as they were registered."""
        return dataset.encode_rib(self._registered())

    def _registered(self) -> Iterator[dataset.RibEntry]:
        now = self._turn.now
        prefix: Name | None = None
        rows: list[dataset.Route] = []
        for route in self._tables.fib.routes():
            if prefix is not None and prefix != route.prefix:
                yield dataset.RibEntry(prefix, tuple(rows))
                rows = []
            prefix = route.prefix
            left = None if route.expires is None else max(0, int((route.expires - now) * 1000))
            rows.append(dataset.Route(route.face.id, route.origin, route.cost, route.flags, left))
        if prefix is not None:
            yield dataset.RibEntry(prefix, tuple(rows))

    def strategies(self) -> bytes:
        """The strategies of all prefixes that have one."""
        return dataset.encode_strategies(
            dataset.StrategyChoice(prefix, strategy_name(strategy))
            for prefix, strategy in self._tables.strategies.choices()
        )

    def store(self) -> bytes:
        """The content store."""
        store = self._tables.store
        flags = ADMITS_AND_SERVES if store.keeps else 0
        return dataset.encode_store_info(
            dataset.StoreInfo(self._capacity, flags, len(store), store.hits, store.misses)
        )


def _face(face: Face) -> dataset.FaceStatus:
    traffic = getattr(face, "traffic", NONE)
    counted = traffic if isinstance(traffic, Traffic) else NONE
    scope = dataset.FaceScope.LOCAL if face.local else dataset.FaceScope.NON_LOCAL
    dialed = bool(getattr(face, "dialed", ""))
    return dataset.FaceStatus(
        face_id=face.id,
        uri=face.uri,
        local_uri=face.uri.partition("://")[0] + "://",
        scope=scope,
        persistency=(
            dataset.FacePersistency.PERSISTENT if dialed else dataset.FacePersistency.ON_DEMAND
        ),
        in_interests=counted.in_interests,
        in_data=counted.in_data,
        in_nacks=counted.in_nacks,
        out_interests=counted.out_interests,
        out_data=counted.out_data,
        out_nacks=counted.out_nacks,
        in_bytes=counted.in_bytes,
        out_bytes=counted.out_bytes,
    )
