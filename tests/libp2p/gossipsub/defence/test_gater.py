"""The gater: whose messages are read while more come than can be checked."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import ConfigError
from rumormill.core.machine import Verdict
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.gossipsub.defence import gater
from rumormill.libp2p.wire import Control, IHave, Rpc
from tests.helpers.libp2p.workbench import Workbench, gossipsub, signed

HOME = "/ip4/192.0.2.7/tcp/4001"
AWAY = "/ip4/192.0.2.8/tcp/4001"


class Traffic:
    """Messages of two peers, ever new ones, and what becomes of them."""

    def __init__(self, **parameters: Any) -> None:
        self.bench = bench = gossipsub(
            score=None, answer_checks=False, **{"gater": True, **parameters}
        )
        bench.subscribe("t")
        bench.join("ann", "t", address=HOME)
        bench.join("bob", "t", address=AWAY)
        self.sequence = 0

    def send(self, peer: str, verdict: str) -> bool:
        """Let a peer send a message; says whether it was read."""
        self.sequence += 1
        self.bench.send_message(peer, signed("author", "t", b"rain", self.sequence))
        if not self.bench.open_checks:
            return False
        self.bench.answer(self.bench.open_checks.pop(), verdict)
        return True

    def overload(self, count: int = 50) -> None:
        """Nobody has time for so many messages."""
        for _ in range(count):
            self.send("bob", Verdict.OVERLOADED)

    def share(self, peer: str, count: int = 200) -> float:
        """The part of the peer's messages that is read; all are of use, and none of it counts."""
        source = self.bench.router._gater._peers[peer]  # type: ignore[attr-defined]
        read = 0
        for _ in range(count):
            before = source.delivered
            read += self.send(peer, Verdict.ACCEPT)
            source.delivered = before
        return read / count


def test_while_everything_is_checked_everything_is_read() -> None:
    traffic = Traffic()
    for _ in range(50):
        traffic.send("ann", Verdict.REJECT)
    assert traffic.share("ann") == 1.0


def test_under_overload_who_sends_bad_messages_is_seldom_read() -> None:
    traffic = Traffic(max_rejections=1000)
    for _ in range(20):
        traffic.send("ann", Verdict.REJECT)
    traffic.overload(300)
    assert traffic.share("ann") < 0.1
    ignored = traffic.bench.events(trace.IGNORED, peer="ann", reason="gate_control_only")
    assert ignored, "what was not read is traced"


def test_under_overload_who_sends_messages_of_use_is_read() -> None:
    traffic = Traffic()
    for _ in range(20):
        traffic.send("ann", Verdict.ACCEPT)
    traffic.overload(100)
    assert traffic.share("ann") == 1.0


def test_who_has_sent_nothing_yet_is_read() -> None:
    traffic = Traffic()
    traffic.overload()
    traffic.bench.join("cyd", "t", address="/ip4/192.0.2.9/tcp/1")
    assert traffic.send("cyd", Verdict.ACCEPT)


@pytest.mark.parametrize(("ignored", "least", "most"), [(1, 0.35, 0.65), (9, 0.04, 0.2)])
def test_the_less_of_it_is_of_use_the_less_is_read(ignored: int, least: float, most: float) -> None:
    traffic = Traffic()
    for _ in range(ignored):
        traffic.send("ann", Verdict.IGNORE)
    traffic.overload(300)
    assert least < traffic.share("ann") < most


def test_duplicates_count_little() -> None:
    traffic = Traffic()
    traffic.send("bob", Verdict.ACCEPT)
    for _ in range(8):
        traffic.bench.send_message("ann", signed("author", "t", b"rain", 1))
    traffic.overload(300)
    assert 0.35 < traffic.share("ann") < 0.65


def test_its_control_is_read_all_the_same() -> None:
    traffic = Traffic(max_rejections=1000)
    for _ in range(100):
        traffic.send("ann", Verdict.REJECT)
    traffic.overload(300)
    bench = traffic.bench
    bench.took("ann")
    message = signed("author", "t", b"rain", 10_000)
    for number in range(5):
        ihave = Control((IHave("t", (b"%d" % number,)),))
        bench.say("ann", Rpc(messages=(message,), control=ihave))
    assert len([each for each in bench.took_items("ann") if each[0] == "iwant"]) == 5


def test_who_was_not_read_has_broken_no_promise() -> None:
    traffic = Traffic(max_rejections=1000)
    for _ in range(100):
        traffic.send("ann", Verdict.REJECT)
    traffic.overload(300)
    traffic.bench.ihave("ann", "t", b"id")
    while traffic.send("ann", Verdict.ACCEPT):
        pass
    assert traffic.bench.pubsub.sizes()["promises"] == 0


def test_a_little_overload_is_none() -> None:
    traffic = Traffic(gater_threshold=0.5)
    for _ in range(10):
        traffic.send("ann", Verdict.IGNORE)
    for _ in range(100):
        traffic.send("bob", Verdict.ACCEPT)
    traffic.overload(20)
    assert traffic.share("ann") == 1.0


def test_after_a_quiet_while_everything_is_read_again() -> None:
    traffic = Traffic(gater_quiet=60.0, gater_decay=1e6)
    for _ in range(50):
        traffic.send("ann", Verdict.IGNORE)
    traffic.overload()
    assert traffic.share("ann", 50) < 0.5
    traffic.bench.run_until(traffic.bench.now + 61.0)
    assert traffic.share("ann", 50) == 1.0


def test_a_new_name_from_the_same_place_changes_nothing() -> None:
    traffic = Traffic(max_rejections=1000)
    for _ in range(50):
        traffic.send("ann", Verdict.REJECT)
    traffic.overload(300)
    traffic.bench.leave("ann")
    traffic.bench.join("also ann", "t", address=HOME.replace("4001", "5555"))
    assert traffic.share("also ann") < 0.1


def test_what_is_known_of_a_place_fades_also_while_nobody_is_there() -> None:
    traffic = Traffic(gater_source_decay=10.0)
    for _ in range(50):
        traffic.send("ann", Verdict.IGNORE)
    traffic.bench.leave("ann")
    traffic.bench.run_until(30.0)
    traffic.bench.join("ann", "t", address=HOME)
    traffic.overload()
    assert traffic.share("ann", 50) == 1.0


def test_places_are_forgotten_after_their_time() -> None:
    traffic = Traffic(gater_retain=20.0)
    traffic.bench.leave("ann")
    assert traffic.bench.pubsub.sizes()["gater_places"] == 2
    traffic.bench.run_until(30.0)
    assert traffic.bench.pubsub.sizes()["gater_places"] == 1


def test_places_that_were_left_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gater, "MOST_PLACES", 10)
    traffic = Traffic()
    for number in range(100):
        traffic.bench.join(f"guest{number}", address=f"/ip4/198.51.100.{number}/tcp/1")
        traffic.bench.leave(f"guest{number}")
    assert traffic.bench.pubsub.sizes()["gater_places"] == 12


def test_messages_of_topics_we_are_not_in_are_nobodys_fault() -> None:
    traffic = Traffic()
    for number in range(50):
        traffic.bench.send_message("ann", signed("author", "other", b"rain", number))
    traffic.overload()
    assert traffic.share("ann", 50) == 1.0


def test_equal_seeds_draw_equally() -> None:
    def drawn() -> list[bool]:
        traffic = Traffic(seed=5)
        for _ in range(3):
            traffic.send("ann", Verdict.IGNORE)
        traffic.overload()
        return [traffic.send("ann", Verdict.ACCEPT) for _ in range(50)]

    assert drawn() == drawn()


def test_without_it_nothing_is_counted() -> None:
    bench: Workbench = gossipsub()
    assert "gater_places" not in bench.pubsub.sizes()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gater", "perhaps"), ("gater_threshold", 0), ("gater_quiet", 0), ("gater_decay", 0),
        ("gater_source_decay", float("nan")), ("gater_retain", -1),
        ("gater_duplicate_weight", -1), ("gater_ignore_weight", float("inf")),
        ("gater_reject_weight", "heavy"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_key(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        GossipsubParameters(**{key: value})  # type: ignore[arg-type]
    assert caught.value.key == key
