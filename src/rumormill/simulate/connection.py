"""Connections: two ends, each with a way out; partitions, water marks and goodbyes."""

from __future__ import annotations

from heapq import heappush
from typing import TYPE_CHECKING, Any

from rumormill.simulate.clock import Action
from rumormill.simulate.link import Link, Pipe, no_chance
from rumormill.simulate.node import Node

if TYPE_CHECKING:
    from rumormill.simulate.world import Adapter


class End(Pipe):
    """One side of a connection: it sends into its own link, and gets what the other side sends.

    A side can be over before the other knows: what arrives then is dropped, and written down.
    While a partition lies between them, what arrives is held, as TCP would send it again.
    """

    __slots__ = (
        "_blocked", "_clock", "_epoch", "_full", "_held", "_paused", "_received", "_rests_until",
        "_stalled", "_unfinished", "adapter", "cut", "key", "label", "node", "open", "other",
    )  # fmt: skip

    other: End

    def __init__(self, adapter: Adapter, node: Node, key: Any, label: str, link: Link) -> None:
        super().__init__(link, node.random.random if link.uncertain else no_chance)
        self.adapter = adapter
        self.node = node
        self.key = key
        """What the machine of ``node`` calls the other side."""
        self.label = label
        """What the trace calls the other side."""
        self.open = True
        self.cut = False
        """Whether a partition lies between the two sides."""
        self._clock = node.clock
        self._received = adapter.received
        self._blocked = False  # not open, stalled or paused: the slow case
        self._stalled = False  # cut, or not yet recovered from it
        self._paused = False
        self._rests_until = 0.0
        self._unfinished = False
        self._full = False
        self._held: list[tuple[Action, Any]] = []
        self._epoch = 0

    @staticmethod
    def pair(near: End, far: End) -> None:
        """Make the two sides of one connection know each other."""
        near.other, far.other = far, near

    # ---- data

    def send(self, data: bytes) -> None:
        """Send to the other side."""
        link, clock, size = self.link, self._clock, len(data)
        in_flight = self.in_flight + size
        if in_flight > link.queue:
            self.lost("link_full", size)
            self.adapter.overflowed(self)
            return
        arrives = clock.now + link.latency if link.plain else self.arrival(size, clock.now)
        if arrives is None:
            self.lost("lost", size)
            return
        self.in_flight = in_flight
        # The most frequent thing there is: Clock.schedule, spelled out.
        heappush(clock.queue, (arrives, next(clock.sequence), self.other.arrive, data))
        if in_flight > link.holds_back_above and not self._full:
            self._full = True
            clock.schedule(clock.now, self._tell_writable, False)

    def arrive(self, data: bytes) -> None:
        """Data of the other side is here."""
        if self._blocked and self._keeps_back(data):
            return
        other = self.other
        other.in_flight -= len(data)
        if other._full and other.in_flight <= other.link.goes_on_at:
            other._full = False
            other._clock.schedule(other._clock.now, other._tell_writable, True)
        if not self._blocked:
            self.node.feed(self._received(self.key, data))

    def _keeps_back(self, data: bytes) -> bool:
        """Whether ``data`` has to wait; if it can neither pass nor wait, it is lost."""
        if not self.open:
            self.other.lost("disconnected", len(data))
            return False
        if self._stalled and not self.other.link.reliable:
            self.other.lost("partitioned", len(data))
            return False
        self._held.append((self.arrive, data))
        return True

    def lost(self, reason: str, size: int) -> None:
        """Write down that ``size`` bytes of ours will not arrive."""
        self.adapter.record.drop(self.node, self.label, reason, size, self.adapter.unit)

    def _tell_writable(self, ready: bool) -> None:
        # The marks may have been passed in the other direction meanwhile: then nothing is news.
        if self.open and self._full is not ready:
            self.node.feed(self.adapter.writable(self.key, ready))

    # ---- goodbyes

    def finish(self, reason: str | None) -> None:
        """This side is over; with a ``reason`` its machine is told."""
        if not self.open:
            return
        self.open, self._blocked = False, True
        if self.node.ends.get(self.key) is self:
            del self.node.ends[self.key]
            if reason is not None:
                self._clock.soon(self.node.feed, self.adapter.left(self.key, reason))
        self._drain_if_over()

    def close(self, reason: str | None, farewell: str = "closed") -> None:
        """End it from this side: the other side hears of it after all that was sent before."""
        if self.open:
            self.finish(reason)
            self._clock.schedule(self.end_arrival(self._clock.now), self.other.hear_end, farewell)

    def hear_end(self, farewell: str) -> None:
        """The other side has closed."""
        if self._blocked and self.open:
            self._held.append((self.hear_end, farewell))
        else:
            self.finish(farewell)

    def reset(self, reason: str) -> None:
        """End it on both sides at once."""
        self.finish(reason)
        self.other.finish(reason)

    # ---- waiting

    def pause(self, paused: bool) -> None:
        """While paused, nothing is handed to the machine: the other side's queue fills up."""
        if paused is not self._paused:
            self._paused = paused
            self._blocked = True
            if not paused:
                self._clock.schedule(self._clock.now, self._release)

    def rest(self, seconds: float) -> None:
        """For so long nothing is handed to the machine: the other side's queue fills up.

        Then nothing at all is handed to it, once: it goes on with what it has kept.
        """
        self._unfinished = True
        self._rests_until = max(self._rests_until, self._clock.now + seconds)
        self._blocked = True
        self._clock.schedule(self._rests_until, self._release)

    def stall(self, timeout: float) -> None:
        """A partition has come between the two sides; lose patience after ``timeout``."""
        self.cut = self._stalled = self._blocked = True
        self._epoch += 1
        if self.link.reliable:
            self._clock.schedule(self._clock.now + timeout, self._lose_patience, self._epoch)

    def resume(self) -> None:
        """The partition is over: what was held comes after the time of a retransmission."""
        self.cut = False
        self._epoch += 1
        link, now = self.other.link, self._clock.now
        again = now + link.latency if link.reliable else now
        self._clock.schedule(again, self._recover, self._epoch)

    def _lose_patience(self, epoch: int) -> None:
        if self.open and epoch == self._epoch:
            self.adapter.timed_out(self)
            self.finish("timeout")

    def _recover(self, epoch: int) -> None:
        if epoch == self._epoch:
            self._stalled = False
            self._release()

    def _release(self, _: None = None) -> None:
        """Hand on what was held, unless there is still a reason to wait."""
        resting = self._clock.now < self._rests_until
        if not self.open or self._stalled or self._paused or resting:
            return
        self._blocked = False
        if self._unfinished:
            self._unfinished = False
            self.node.feed(self._received(self.key, b""))
            if self._blocked:
                self._drain_if_over()
                return
        held, self._held = self._held, []
        for position, (action, argument) in enumerate(held):
            action(argument)
            if self._blocked:  # the machine paused it again, or ended it
                self._held[:0] = held[position + 1 :]
                self._drain_if_over()
                return

    def _drain_if_over(self) -> None:
        """Write down what was held for a machine that has ended the connection."""
        if not self.open:
            held, self._held = self._held, []
            for action, argument in held:
                action(argument)
