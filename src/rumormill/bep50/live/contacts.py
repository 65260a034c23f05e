"""Where to begin: addresses that the user gave, and what became of them on each topic."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from rumormill.bep50.effects import Contact, ContactEnded
from rumormill.bep50.live.addresses import resolve
from rumormill.bep50.wire.addresses import parse_address, peer_text
from rumormill.core.errors import ConfigError, ConnectError, LocalProtocolError
from rumormill.core.machine import Input

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds until a name that nobody knows is looked up again; the delay doubles each time."""

PATIENCE = 30.0
"""Seconds after which an address counts as silent, whatever the machine does with it."""

SENTENCES = {
    "no_answer": "could not reach {address}: no answer",
    "unknown_topic": "{address} takes no part in the topic",
    "not_a_member": "{address} is a node of the DHT that takes no part in topics",
}

Unresolved = Callable[[str, str], None]
"""Called when the host of an address could not be found: the address, and why."""


class Contacts:
    """Gives the machine addresses, and tells who asked what became of them."""

    def __init__(self, feed: Callable[[Input], None], unresolved: Unresolved) -> None:
        self._feed = feed
        self._unresolved = unresolved
        self._own: tuple[str, ...] = ()
        self._peers: dict[str, None] = {}
        self._open: dict[bytes, dict[str, None]] = {}
        self._waiting: dict[str, list[_Waiter]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- topics

    def joined(self, target: bytes) -> None:
        """A topic was joined: all that we know of are tried on it."""
        self._open[target] = dict(self._peers)

    def left(self, target: bytes) -> None:
        """A topic was left."""
        self._open.pop(target, None)

    def trying(self, target: bytes) -> bool:
        """Whether an address was not tried to the end on the topic yet, or has no host yet."""
        return bool(self._open.get(target) or self._tasks)

    # ---- addresses

    def begin(self, addresses: Iterable[str], own: tuple[str, ...]) -> None:
        """Use addresses from now on; hosts that are names are looked up in the background.

        ``own`` are ours: nobody to begin with.
        """
        self._own = own
        known: list[str] = []
        for address in addresses:
            try:
                host, port = parse_address(address)
                if port == 0:
                    raise ConfigError("bootstrap", f"{address} has port 0, which is nobody's")
                known.append(peer_text(host, port))
            except LocalProtocolError:
                task = asyncio.create_task(self._resolve(address))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        if known:
            self._add(tuple(known))

    async def _resolve(self, address: str) -> None:
        delay = FIRST_DELAY
        while True:
            try:
                peer = await resolve(address)
            except ConnectError as error:
                self._unresolved(address, str(error))
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
            else:
                self._add((peer,))
                return

    def _add(self, found: tuple[str, ...]) -> None:
        peers = tuple(peer for peer in found if peer not in self._own)
        for peer in peers:
            self._peers[peer] = None
            for tried in self._open.values():
                tried[peer] = None
        self._feed(Contact(None, peers))

    async def connect(self, address: str, peer: str) -> None:
        """Use an address from now on, and wait until it turned out to be good for one topic.

        Raises :class:`ConnectError` if it is good for none. Without a topic nobody can tell, and
        nothing is waited for.
        """
        if peer in self._own:
            raise ConnectError(f"could not reach {address}: that is this node itself")
        waiter = _Waiter(len(self._open))
        self._waiting.setdefault(peer, []).append(waiter)
        try:
            self._add((peer,))
            problem = await waiter.wait() if self._open else ""
        finally:
            self._waiting[peer].remove(waiter)
            if not self._waiting[peer]:
                del self._waiting[peer]
        if problem:
            raise ConnectError(SENTENCES[problem].format(address=address))

    def ended(self, effect: ContactEnded) -> None:
        """The machine tells what became of an address on a topic."""
        tried = self._open.get(effect.topic)
        if tried is not None:
            tried.pop(effect.peer, None)
        for waiter in self._waiting.get(effect.peer, ()):
            waiter.tell(effect.problem)

    def close(self) -> None:
        """Look up no more names; whoever waits is told that nobody answered."""
        for task in self._tasks:
            task.cancel()
        for waiters in self._waiting.values():
            for waiter in waiters:
                waiter.give_up()


def known_peers(addresses: Iterable[str]) -> list[str]:
    """Those of the addresses whose host is no name.

    >>> known_peers(["localhost:6881", "[0::1]:6881"])
    ['[::1]:6881']
    """
    found: list[str] = []
    for address in addresses:
        with contextlib.suppress(LocalProtocolError):
            found.append(peer_text(*parse_address(address)))
    return found


class _Waiter:
    """Waits for one good end of several."""

    def __init__(self, count: int) -> None:
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._left = count

    async def wait(self) -> str:
        await asyncio.wait((self._ended,), timeout=PATIENCE)
        return self._ended.result() if self._ended.done() else "no_answer"

    def tell(self, problem: str) -> None:
        self._left -= 1
        if (not problem or self._left <= 0) and not self._ended.done():
            self._ended.set_result(problem)

    def give_up(self) -> None:
        if not self._ended.done():
            self._ended.set_result("no_answer")
