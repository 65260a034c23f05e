"""The simulation: machines, links and a script in virtual time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

from rumormill.core.addresses import Addresses, HostPort
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Machine, Verdict
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities
from rumormill.core.trace import TraceEvent, network_opened
from rumormill.simulate.clock import Clock, LivelockError
from rumormill.simulate.levels.datagrams import DatagramAdapter, DatagramLevelInput
from rumormill.simulate.levels.peers import PeerAdapter, PeerLevelInput
from rumormill.simulate.levels.transports import TransportAdapter, TransportLevelInput
from rumormill.simulate.link import Link
from rumormill.simulate.node import Handler, Node
from rumormill.simulate.randomness import derive_random
from rumormill.simulate.record import (
    HEALED,
    NODE_CRASHED,
    NODE_RESTARTED,
    PARTITIONED,
    SCRIPT,
    Record,
)
from rumormill.simulate.world import Adapter, World

Level: TypeAlias = Literal["peers", "transports", "datagrams"]
"""What a machine speaks in: packets to peers, bytes on transports, or datagrams to addresses."""

AnyMachine: TypeAlias = (
    Machine[PeerLevelInput, object]
    | Machine[TransportLevelInput, object]
    | Machine[DatagramLevelInput, object]
)
"""A machine of one of the levels."""

Kind = TypeVar("Kind")


NO_SERVICES: Mapping[str, int] = MappingProxyType({})


class _Place(NamedTuple):
    """What stays the same of a node in all its lives."""

    address: str
    credentials: bytes
    services: Mapping[str, int]


def accept_everything(node: str, subject: Any) -> str:
    """The check of a simulation that was given none."""
    return Verdict.ACCEPT


class Simulation:
    """A network of machines in virtual time; equal seeds give equal traces, byte for byte.

    * ``level``: what machines speak in, unless :meth:`add_node` says otherwise: ``"peers"``
      (``Send`` and ``Received``), ``"transports"`` (``OpenTransport``, ``WriteBytes``...) or
      ``"datagrams"`` (``Send`` and ``Received`` again, where a peer is an address).
    * ``link``: between nodes of which :meth:`connect` said nothing else.
    * ``addresses``: the notation of the family at level ``"transports"``.
    * ``check(node, subject)``: the verdict on a message; it takes ``check_delay`` seconds, one
      check after the other on each node.
    * ``keep_trace``, ``keep_deliveries``: False to count only. ``sink`` gets each trace event
      instead of the list ``trace``.
    * ``tcp_timeout``: how long a connection lasts in a partition; ``connect_timeout``: how long a
      dial waits for an answer; ``chunk``: the smallest and largest piece that written bytes are
      cut into.
    * ``capabilities``: what the network promises. Each node begins its trace with it, and does so
      again when it is restarted; without it no node says anything of the kind.
    * ``livelock_limit``: how often one node may act at one instant.

    What a handler of :meth:`on_effect`, a sink or a check calls (``command``, ``connect``...)
    takes place right after the effects at hand.
    """

    def __init__(
        self,
        seed: int | str,
        start: float = 0.0,
        *,
        level: Level = "peers",
        link: Link | None = None,
        addresses: Addresses | None = None,
        check: Callable[[str, Any], str] = accept_everything,
        check_delay: float = 60e-6,
        keep_trace: bool = True,
        keep_deliveries: bool = True,
        sink: Callable[[TraceEvent], object] | None = None,
        tcp_timeout: float = 20.0,
        connect_timeout: float = 10.0,
        chunk: tuple[int, int] = (1460, 65536),
        livelock_limit: int = 100_000,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.seed = seed
        self.clock = Clock(start)
        self.record = Record(
            self.clock, keep_trace=keep_trace, keep_deliveries=keep_deliveries, sink=sink
        )
        self._world = World(
            self.clock, self.record, link or Link(), check, check_delay, tcp_timeout
        )
        self._adapters: dict[str, Adapter] = {
            "peers": PeerAdapter(self._world),
            "transports": TransportAdapter(
                self._world, addresses or HostPort(), chunk, connect_timeout
            ),
            "datagrams": DatagramAdapter(self._world),
        }
        self._level = self._known_level(level)
        self._levels: dict[str, str] = {}
        self._livelock_limit = livelock_limit
        self._capabilities = capabilities
        self._script_time, self._script_calls = start, 0

    # ---- nodes

    def random_for(self, name: str, life: int = 0) -> random.Random:
        """The random source for the machine of a node, the same whenever it is asked for.

        ``life`` tells the lives of a node that was restarted apart.
        """
        return derive_random(self.seed, "machine", name, life)

    @overload
    def add_node(
        self,
        name: str,
        machine: AnyMachine,
        *,
        level: None = None,
        address: str = "",
        credentials: bytes = b"",
        services: Mapping[str, int] = NO_SERVICES,
    ) -> None: ...

    @overload
    def add_node(
        self,
        name: str,
        machine: Machine[PeerLevelInput, object],
        *,
        level: Literal["peers"],
        address: str = "",
    ) -> None: ...

    @overload
    def add_node(
        self,
        name: str,
        machine: Machine[TransportLevelInput, object],
        *,
        level: Literal["transports"],
        address: str = "",
        credentials: bytes = b"",
        services: Mapping[str, int] = NO_SERVICES,
    ) -> None: ...

    @overload
    def add_node(
        self,
        name: str,
        machine: Machine[DatagramLevelInput, object],
        *,
        level: Literal["datagrams"],
        address: str = "",
    ) -> None: ...

    def add_node(
        self,
        name: str,
        machine: AnyMachine,
        *,
        level: Level | None = None,
        address: str = "",
        credentials: bytes = b"",
        services: Mapping[str, int] = NO_SERVICES,
    ) -> None:
        """Add a node. ``address``: where it listens, if it matters; at level ``"peers"`` it is only
        what others see of it in ``PeerJoined``.

        Level ``"transports"``, for machines on secure transports: ``credentials`` is what others
        see of it in ``TransportOpened.credentials``, and at the port of each of ``services`` it
        listens too, and is told the service by ``TransportOpened.service``.
        """
        if name in self._world.nodes:
            raise LocalProtocolError(f"there is a node {name!r} already")
        self._levels[name] = known = self._level if level is None else self._known_level(level)
        if (credentials or services) and known != "transports":
            raise LocalProtocolError(f"credentials and services are not for the level {known!r}")
        self.record.add_node(name)
        self._say_opened(name)
        self._start(name, machine, _Place(address, credentials, services), life=0)

    def _say_opened(self, name: str) -> None:
        if self._capabilities is not None:
            self.record.emit(network_opened(self.clock.now, name, self._capabilities))

    def machine(self, name: str) -> Any:
        """The machine of a node."""
        return self._world.node(name).machine

    def address(self, name: str, service: str = "") -> str:
        """Where a node listens, or one of its services; at level ``"peers"`` what it was given."""
        node = self._world.node(name)
        return self._adapters[self._levels[name]].address_of(node, service)

    def alive(self, name: str) -> bool:
        """Whether a node is there and has not crashed."""
        return self._world.node(name).alive

    @property
    def names(self) -> list[str]:
        """The names of all nodes, in the order in which they were added."""
        return list(self._world.nodes)

    def connected(self, name: str) -> list[str]:
        """The nodes that a node has a connection to, as far as it knows."""
        ends = self._world.node(name).ends.values()
        return list(dict.fromkeys(end.other.node.name for end in ends))

    def _start(self, name: str, machine: AnyMachine, place: _Place, life: int) -> Node:
        adapter = self._adapters[self._levels[name]]

        def link_random() -> random.Random:
            return derive_random(self.seed, "links", name, life)

        node = Node(
            name, machine, self.clock, adapter.handlers, link_random, self._livelock_limit, life
        )
        node.address, node.credentials, node.services = place
        self._world.nodes[name] = node
        adapter.added(node)
        return node

    def _known_level(self, level: str) -> str:
        if level not in self._adapters:
            raise ConfigError("level", f"must be one of {list(self._adapters)}, not {level!r}")
        return level

    # ---- what the script does to the network

    def command(self, name: str, input: object) -> Sequence[Any]:
        """Give an input to a node now; return its effects, which have been carried out.

        Inside a handler it takes place a little later, and the list is empty.
        """
        node = self._world.living(name)
        if self.clock.acting:
            self.clock.schedule(self.clock.now, node.feed, input)
            return []
        return node.feed(input)

    def connect(
        self,
        a: str,
        b: str,
        link: Link | None = None,
        back: Link | None = None,
        *,
        protocol: str | None = None,
    ) -> None:
        """Connect two nodes; ``a`` is the one that dials.

        ``link`` is the way from ``a`` to ``b``, and back as well unless ``back`` is given.
        Level ``"peers"``: both get a ``PeerJoined``, with the best protocol that they have in
        common. Level ``"transports"``: ``a`` gets a ``Dial`` with the address of ``b``. Level
        ``"datagrams"``: neither is told; it only says what lies between them.
        """
        forward = link or self._world.link
        self.clock.soon(lambda _: self._connect(a, b, forward, back or forward, protocol))

    def _connect(self, a: str, b: str, link: Link, back: Link, protocol: str | None) -> None:
        near, far = self._world.living(a), self._world.living(b)
        if near is far:
            raise LocalProtocolError(f"{a!r} cannot be connected to itself")
        self._adapter_of(near, far).connect(near, far, link, back, protocol)

    def disconnect(self, a: str, b: str, reason: str = "closed") -> None:
        """Part two nodes at once; what is under way between them is lost."""
        self.clock.soon(lambda _: self._disconnect(a, b, reason))

    def _disconnect(self, a: str, b: str, reason: str) -> None:
        near, far = self._world.node(a), self._world.node(b)
        self._adapter_of(near, far).disconnect(near, far, reason)

    def _adapter_of(self, a: Node, b: Node) -> Adapter:
        if self._levels[a.name] != self._levels[b.name]:
            raise LocalProtocolError(f"{a.name!r} and {b.name!r} are not of the same level")
        return self._adapters[self._levels[a.name]]

    def partition(self, groups: Sequence[Iterable[str]]) -> None:
        """Let only nodes of the same group reach each other; those in none are a group too.

        Connections between groups stall, and are lost after ``tcp_timeout``; datagrams that would
        arrive meanwhile are lost at once.
        """
        members = [list(group) for group in groups]
        index = {name: number for number, group in enumerate(members) for name in group}
        for name in index:
            self._world.node(name)
        if len(index) != sum(map(len, members)):
            raise LocalProtocolError("a node cannot be in two groups")
        self.record.event(SCRIPT, PARTITIONED, groups=len(members))
        self.clock.soon(self._divide, index)

    def heal(self) -> None:
        """End the partition. Level ``"peers"``: those who lost each other join again."""
        self.record.event(SCRIPT, HEALED)
        self.clock.soon(self._divide, {})

    def _divide(self, groups: dict[str, int]) -> None:
        self._world.divide(groups)
        for adapter in self._adapters.values():
            adapter.healed()

    def crash(self, name: str, *, silent: bool = False) -> None:
        """Stop a node without a goodbye; its peers see a reset, or if ``silent`` a time-out.

        Level ``"datagrams"``: they see nothing either way.
        """
        self.clock.soon(lambda _: self._crash(name, silent))

    def _crash(self, name: str, silent: bool) -> None:
        node = self._world.living(name)
        self._adapters[self._levels[name]].crashed(node)
        node.alive, node.vanished = False, silent
        for end in list(node.ends.values()):
            if silent:
                end.finish(None)
                patience = self.clock.now + self._world.tcp_timeout
                self.clock.schedule(patience, end.other.finish, "timeout")
            else:
                end.close(None, "reset")
        self.record.event(name, NODE_CRASHED, silent=silent)

    def restart(self, name: str, machine: AnyMachine, *, reconnect: bool = True) -> None:
        """Bring a crashed node back with a new machine.

        Level ``"peers"``: with ``reconnect`` it joins those that it was connected to.
        """
        self.clock.soon(lambda _: self._restart(name, machine, reconnect))

    def _restart(self, name: str, machine: AnyMachine, reconnect: bool) -> None:
        old = self._world.node(name)
        if old.alive:
            raise LocalProtocolError(f"{name!r} has not crashed")
        self._say_opened(name)
        self.record.event(name, NODE_RESTARTED, life=old.life + 1)
        place = _Place(old.address, old.credentials, old.services)
        node = self._start(name, machine, place, old.life + 1)
        self._adapters[self._levels[name]].restarted(node, reconnect)

    def on_effect(self, effect_type: type[Kind], handler: Callable[[str, Kind], object]) -> None:
        """Call ``handler(node, effect)`` for each effect of that type.

        It comes after what the simulation itself does with it, if anything.
        """
        for adapter in self._adapters.values():
            known = adapter.handlers.get(effect_type)
            adapter.handlers[effect_type] = _chained(known, handler)

    # ---- time

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.clock.now

    @property
    def events(self) -> int:
        """How many events there have been."""
        return self.clock.events

    def at(self, time: float, action: Callable[[], object]) -> None:
        """Call ``action`` at a time."""
        self.clock.schedule(time, self._call, action)

    def _call(self, action: Callable[[], object]) -> None:
        if self.clock.now > self._script_time:
            self._script_time, self._script_calls = self.clock.now, 0
        self._script_calls += 1
        if self._script_calls > self._livelock_limit:
            raise LivelockError(SCRIPT, self.clock.now, self._script_calls)
        action()

    def step(self) -> bool:
        """Let one event happen; False if there is none left."""
        return self.clock.step()

    def run_until(self, time: float) -> None:
        """Let everything happen that is due up to ``time``."""
        self.clock.run_until(time)

    def run_for(self, seconds: float) -> None:
        """Let everything happen that is due in the next ``seconds``."""
        self.clock.run_until(self.clock.now + seconds)

    def run_until_idle(self, limit: float) -> bool:
        """Run until nothing is left to happen; False if at the time ``limit`` something is.

        A machine with a heartbeat is never idle.
        """
        return self.clock.run_until_idle(limit)

    # ---- what came of it

    @property
    def trace(self) -> list[TraceEvent]:
        """Every trace event, in order."""
        return self.record.trace

    @property
    def trace_counts(self) -> Counter[str]:
        """How many trace events of each kind there were."""
        return self.record.trace_counts

    def trace_lines(self) -> Iterator[str]:
        """The trace as lines of JSON."""
        return self.record.trace_lines()

    @property
    def deliveries(self) -> dict[str, list[Message]]:
        """What each node delivered to its application, over all its lives."""
        return self.record.deliveries

    @property
    def delivery_counts(self) -> Counter[str]:
        """How much each node delivered."""
        return self.record.delivery_counts

    @property
    def receipts(self) -> dict[str, list[Receipt]]:
        """What came back for each message that an application published."""
        return self.record.receipts

    @property
    def drops(self) -> Counter[str]:
        """How much got lost between the nodes, by reason."""
        return self.record.drops


def _chained(known: Handler | None, handler: Callable[[str, Any], object]) -> Handler:
    def both(node: Node, effect: Any) -> None:
        if known is not None:
            known(node, effect)
        handler(node.name, effect)

    return both
