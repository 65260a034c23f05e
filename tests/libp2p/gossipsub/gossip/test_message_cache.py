"""The message cache: windows of a heartbeat each, newest first."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rumormill.libp2p.gossipsub.gossip.message_cache import MessageCache
from rumormill.libp2p.wire.message import WireMessage, build_message

PLENTY = 1 << 30


def message(name: str, *topics: str, size: int = 4) -> WireMessage:
    made = build_message(data=bytes(size), topics=topics or ("t",))
    made.id = name.encode()
    return made


def test_a_message_can_be_asked_for_during_all_windows() -> None:
    cache = MessageCache(windows=5, gossip_windows=3, most_bytes=PLENTY)
    cache.put(message("a"))
    for _ in range(4):
        cache.shift()
        assert cache.get(b"a") is not None
    cache.shift()
    assert cache.get(b"a") is None
    assert len(cache) == 0


def test_a_message_is_told_about_only_during_the_newest_windows() -> None:
    cache = MessageCache(windows=5, gossip_windows=3, most_bytes=PLENTY)
    cache.put(message("a"))
    told = []
    for _ in range(5):
        told.append(cache.gossip_ids("t") == [b"a"])
        cache.shift()
    assert told == [True, True, True, False, False]


def test_only_ids_of_the_topic_are_told() -> None:
    cache = MessageCache(windows=5, gossip_windows=3, most_bytes=PLENTY)
    cache.put(message("a", "t"))
    cache.put(message("b", "u"))
    cache.put(message("c", "u", "t"))
    assert cache.gossip_ids("t") == [b"a", b"c"]
    assert cache.gossip_ids("u") == [b"b", b"c"]
    assert cache.gossip_ids("v") == []


def test_a_message_put_twice_is_kept_once_and_in_its_first_window() -> None:
    cache = MessageCache(windows=2, gossip_windows=1, most_bytes=PLENTY)
    cache.put(message("a"))
    cache.shift()
    cache.put(message("a"))
    assert cache.gossip_ids("t") == []
    cache.shift()
    assert cache.get(b"a") is None


def test_sends_are_counted_for_each_message_and_peer() -> None:
    cache = MessageCache(windows=2, gossip_windows=1, most_bytes=PLENTY)
    cache.put(message("a"))
    cache.put(message("b"))
    counts = [cache.count_send(b"a", "ann") for _ in range(3)]
    assert counts == [1, 2, 3]
    assert cache.count_send(b"a", "bob") == 1
    assert cache.count_send(b"b", "ann") == 1


def test_the_counts_go_with_the_message() -> None:
    cache = MessageCache(windows=1, gossip_windows=1, most_bytes=PLENTY)
    cache.put(message("a"))
    cache.count_send(b"a", "ann")
    cache.shift()
    assert not cache._sent
    cache.put(message("a"))
    assert cache.count_send(b"a", "ann") == 1


def test_past_its_bytes_the_oldest_go_first_and_are_counted() -> None:
    size = len(message("x").raw)
    cache = MessageCache(windows=3, gossip_windows=3, most_bytes=3 * size)
    for name in ("a", "b"):
        cache.put(message(name))
    cache.shift()
    for name in ("c", "d", "e"):
        cache.put(message(name))
    assert sorted(cache._messages) == [b"c", b"d", b"e"]
    assert cache.evicted == 2
    cache.put(message("f"))
    assert sorted(cache._messages) == [b"d", b"e", b"f"]


def test_one_message_is_kept_however_large() -> None:
    cache = MessageCache(windows=3, gossip_windows=3, most_bytes=10)
    cache.put(message("a", size=1000))
    assert cache.get(b"a") is not None
    cache.put(message("b", size=1000))
    assert cache.get(b"a") is None
    assert cache.get(b"b") is not None


class CacheAgainstModel(RuleBasedStateMachine):
    """The model: a list of messages with the number of the heartbeat they came in."""

    WINDOWS, GOSSIP, MOST = 4, 2, 600
    names = st.sampled_from([f"{number}" for number in range(30)])

    def __init__(self) -> None:
        super().__init__()
        self.cache = MessageCache(self.WINDOWS, self.GOSSIP, self.MOST)
        self.heartbeat = 0
        self.model: list[tuple[int, WireMessage]] = []
        self.evicted = 0

    @rule(name=names, topic=st.sampled_from("tu"), size=st.sampled_from([0, 10, 100, 700]))
    def put(self, name: str, topic: str, size: int) -> None:
        made = message(name, topic, size=size)
        self.cache.put(made)
        if all(made.id != each.id for _, each in self.model):
            self.model.append((self.heartbeat, made))
        while len(self.model) > 1 and self._bytes() > self.MOST:
            self.model.pop(0)
            self.evicted += 1

    @rule()
    def shift(self) -> None:
        self.cache.shift()
        self.heartbeat += 1
        oldest = self.heartbeat - self.WINDOWS
        self.model = [(born, each) for born, each in self.model if born > oldest]

    @rule(name=names, peer=st.sampled_from("ab"))
    def count(self, name: str, peer: str) -> None:
        if self.cache.get(name.encode()) is not None:
            self.cache.count_send(name.encode(), peer)

    def _bytes(self) -> int:
        return sum(len(each.raw) for _, each in self.model)

    @invariant()
    def both_hold_the_same(self) -> None:
        assert sorted(self.cache._messages) == sorted(each.id for _, each in self.model)
        assert self.cache._bytes == self._bytes()
        assert self.cache.evicted == self.evicted
        assert set(self.cache._sent) <= set(self.cache._messages)

    @invariant()
    def both_tell_of_the_same(self) -> None:
        for topic in "tu":
            recent = [
                each.id
                for born, each in self.model
                if born > self.heartbeat - self.GOSSIP and topic in each.topics
            ]
            assert sorted(self.cache.gossip_ids(topic)) == sorted(recent)


TestCacheAgainstModel = CacheAgainstModel.TestCase
