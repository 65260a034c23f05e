"""Whom to dial and when: addresses, time-outs, and coming back with growing delays."""

from __future__ import annotations

import random
from collections.abc import Callable

from rumormill.core.errors import LocalProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.trace import CONNECTION_FAILED, DIAL_SCHEDULED, TraceEvent, type_of_field
from rumormill.core.transport import CancelTransport, DialEnded, OpenTransport
from rumormill.libp2p.host.effects import HostEffect
from rumormill.libp2p.host.hearsay import Hearsay
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.target import Phase, Target
from rumormill.libp2p.stack.multiaddr import Multiaddr


class Dialer:
    """Decides what is dialed; its host tells it what became of it.

    ``connected`` says whether a peer has a connection, whoever opened it: then it need not be
    dialed. Effects go to ``effects``. ``unreached`` hears of peers whom hearsay did not lead to.
    """

    def __init__(
        self,
        *,
        node: str,
        parameters: HostParameters,
        random: random.Random,
        connected: Callable[[str], bool],
        effects: list[HostEffect],
        alarm: Alarm | None = None,
        unreached: Callable[[str, str, float], None] | None = None,
    ) -> None:
        self._node = node
        self._unreached = unreached or (lambda peer, reason, now: None)
        self._parameters = parameters
        self._random = random
        self._connected = connected
        self._effects = effects
        self._targets: dict[str, Target] = {}
        self._dials: dict[int, Target] = {}
        self._last_dial = 0
        self._hearsay = Hearsay()
        # Keys: a dial's number for its time-out, an address for its next turn.
        self._timers: Timers[int | str] = Timers(alarm)

    def __len__(self) -> int:
        """How many addresses are being dialed or kept."""
        return len(self._targets)

    @property
    def hearsay(self) -> int:
        """How many peers that others told us of are being dialed, or wait for it."""
        return len(self._hearsay)

    def kept(self) -> set[str]:
        """The peers that the user wants us to be connected to at all times."""
        targets = self._targets.values()
        return {target.peer for target in targets if target.keep and target.peer is not None}

    # ---- what the user wants

    def dial(self, address: str, keep: bool, now: float) -> None:
        """Connect to ``address``; :class:`LocalProtocolError` if it is none."""
        expected = Multiaddr.parse(address).peer
        if expected == self._node:
            self._effects.append(DialEnded(address, None, f"{address} is our own address"))
            return
        target = self._targets.get(address)
        if target is None:
            target = self._targets[address] = Target(address, expected)
        target.keep = target.keep or keep
        target.owed = True
        if target.peer is not None and self._connected(target.peer):
            if target.phase in (Phase.WAITING, Phase.CONNECTED):
                self.established(target, target.peer, now)
        elif target.phase is Phase.WAITING:
            self._open(target, now)

    def wanted(self, peer: str, addresses: tuple[str, ...], now: float) -> None:
        """``peer`` would be welcome: if its address waits for its turn, this is its turn.

        ``addresses`` are where others say that it is, and may be nonsense: they are tried one after
        the other, each once, when not too many peers are tried so.
        """
        for target in list(self._targets.values()):
            if target.peer == peer and target.phase is Phase.WAITING:
                self._open(target, now)
        if peer == self._node or any(each.peer == peer for each in self._targets.values()):
            return  # its dial is under way
        if not addresses or peer in self._hearsay:
            return
        if self._hearsay.add(peer, addresses):
            self._begin_hearsay(now)
        else:
            self._trace_failed(peer, addresses[0], "too_many_dials", now)
            self._unreached(peer, "too_many_dials", now)

    def _begin_hearsay(self, now: float) -> None:
        while (peer := self._hearsay.begin()) is not None:
            self._try_hearsay(peer, now)

    def _try_hearsay(self, peer: str, now: float) -> None:
        """Dial the first of the peer's addresses that are left and make sense."""
        if self._connected(peer):
            self._hearsay.end(peer)
        while (text := self._hearsay.next_address(peer)) is not None:
            address = self._read_hearsay(peer, text, now)
            if address is not None and address not in self._targets:
                target = self._targets[address] = Target(address, peer)
                target.hearsay = True
                self._open(target, now)
                return
        if not self._connected(peer):
            self._unreached(peer, "no_address_answers", now)

    def _read_hearsay(self, peer: str, text: str, now: float) -> str | None:
        try:
            address = Multiaddr.parse(text)
        except LocalProtocolError:
            self._trace_failed(peer, text, "bad_address", now)
            return None
        if address.peer not in (None, peer):
            self._trace_failed(peer, text, "wrong_peer", now)
            return None
        return str(address.with_peer(peer))

    def _end_hearsay(self, target: Target, reached: bool, now: float) -> None:
        """One of a peer's addresses was tried: go on with the next, or with the next peer."""
        assert target.expected is not None
        if reached:
            self._hearsay.end(target.expected)
        else:
            self._try_hearsay(target.expected, now)
        self._begin_hearsay(now)

    def stop(self) -> None:
        """Dial nothing any more."""
        self._hearsay.clear()
        for target in list(self._targets.values()):
            self._give_up(target, "the node is shutting down")

    def _give_up(self, target: Target, problem: str) -> None:
        if target.phase is Phase.OPENING:
            self._end_dial(target)
            self._effects.append(CancelTransport(target.dial))
        self._report(target, None, problem)
        self._remove(target)

    # ---- what became of it

    def opened(self, dial: int) -> Target | None:
        """The transport of ``dial`` stands; None if nobody waits for it any more."""
        target = self._dials.get(dial)
        if target is not None:
            self._end_dial(target)
            target.phase = Phase.SHAKING
        return target

    def transport_failed(self, dial: int, problem: str, now: float) -> None:
        """The transport of ``dial`` came to nothing."""
        target = self._dials.get(dial)
        if target is not None:
            self._end_dial(target)
            self._transport_failed(target, problem, now)

    def _transport_failed(self, target: Target, problem: str, now: float) -> None:
        if not target.owed and not target.keep:
            # Nobody waits for the answer and nobody will try again: the trace has to say it.
            self._trace_failed(target.peer, target.address, problem, now)
        self.failed(target, problem, now)

    def established(self, target: Target, peer: str, now: float) -> bool:
        """``target`` is reached; False if it was given up in the meantime."""
        if self._targets.get(target.address) is not target:
            return False
        if target.phase is not Phase.CONNECTED:
            target.phase = Phase.CONNECTED
            target.connected_at = now
        target.peer = peer
        self._timers.cancel(target.address)
        self._report(target, peer)
        if not target.keep:
            self._remove(target)
        if target.hearsay:
            self._end_hearsay(target, True, now)
        return True

    def failed(self, target: Target, problem: str, now: float, *, final: bool = False) -> None:
        """``target`` was not reached; ``final`` if another try would end the same way."""
        if self._targets.get(target.address) is not target:
            return
        self._report(target, None, problem)
        if target.keep and not final:
            self._put_off(target, now)
        else:
            self._remove(target)
        if target.hearsay:
            self._end_hearsay(target, False, now)

    def lost(self, peer: str, now: float) -> None:
        """The last connection of ``peer`` is gone."""
        for target in self._targets.values():
            if target.peer == peer and target.phase is Phase.CONNECTED:
                if now - target.connected_at >= self._parameters.stable_after:
                    target.attempt = 0
                self._put_off(target, now)

    # ---- time

    def wake(self, now: float) -> None:
        """Dial what is due, and give up what takes too long."""
        for key in self._timers.due(now):
            if isinstance(key, int):
                target = self._dials.pop(key)
                self._effects.append(CancelTransport(key))
                seconds = self._parameters.dial_timeout
                self._transport_failed(target, f"no answer within {seconds:g} s", now)
            else:
                self._turn(self._targets[key], now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _turn(self, target: Target, now: float) -> None:
        if target.peer is not None and self._connected(target.peer):
            self.established(target, target.peer, now)
        else:
            self._open(target, now)

    def _open(self, target: Target, now: float) -> None:
        self._timers.cancel(target.address)
        self._last_dial += 1
        target.dial = self._last_dial
        target.phase = Phase.OPENING
        self._dials[target.dial] = target
        self._timers.set(target.dial, now + self._parameters.dial_timeout)
        self._effects.append(OpenTransport(target.dial, target.address))

    def _put_off(self, target: Target, now: float) -> None:
        target.phase = Phase.WAITING
        target.attempt += 1
        delay = self._delay(target.attempt)
        self._timers.set(target.address, now + delay)
        fields: dict[str, type_of_field] = {
            "address": target.address,
            "delay": delay,
            "attempt": target.attempt,
        }
        self._effects.append(
            TraceEvent(now, self._node, DIAL_SCHEDULED, peer=target.peer, fields=fields)
        )

    def _delay(self, attempt: int) -> float:
        """Between the first and the longest delay, doubled each time, with jitter on top."""
        parameters = self._parameters
        spread = 1.0 + parameters.redial_jitter * self._random.random()
        most = parameters.redial_longest_delay
        # The exponent is bounded because a float is.
        grown = parameters.redial_first_delay * 2.0 ** min(attempt - 1, 64)
        return min(min(grown, most / (1.0 + parameters.redial_jitter)) * spread, most)

    # ---- small matters

    def _trace_failed(self, peer: str | None, address: str, reason: str, now: float) -> None:
        fields: dict[str, type_of_field] = {"address": address, "reason": reason}
        self._effects.append(
            TraceEvent(now, self._node, CONNECTION_FAILED, peer=peer, fields=fields)
        )

    def _report(self, target: Target, peer: str | None, problem: str = "") -> None:
        if target.owed:
            target.owed = False
            if problem:
                problem = f"could not connect to {target.address}: {problem}"
            self._effects.append(DialEnded(target.address, peer, problem))

    def _end_dial(self, target: Target) -> None:
        del self._dials[target.dial]
        self._timers.cancel(target.dial)

    def _remove(self, target: Target) -> None:
        del self._targets[target.address]
        self._timers.cancel(target.address)
