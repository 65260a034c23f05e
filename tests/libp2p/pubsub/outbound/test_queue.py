"""What waits for one peer: control before messages, nothing twice, nothing out of order."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rumormill.core.protobuf import fields
from rumormill.libp2p.pubsub.outbound.queue import PeerQueue
from rumormill.libp2p.wire import (
    GRAFT,
    IHAVE,
    IWANT,
    PRUNE,
    Control,
    Graft,
    IHave,
    IWant,
    Prune,
    Rpc,
    RpcLimits,
    decode_rpc,
    message_frame,
)
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from rumormill.libp2p.wire.gossip import MOST_WAITING_PRUNES
from rumormill.libp2p.wire.limits import TAKEN_BY_ALL
from rumormill.libp2p.wire.merging import ID_COST, each_id_once
from rumormill.libp2p.wire.message import build_message

MAX_CONTROL, MAX_RPC, ENOUGH = 1024, 4096, 1 << 20


class Queue(PeerQueue):
    """A queue with the words of gossipsub, within what every peer takes."""

    __slots__ = ()

    def put(self, frame: bytes) -> int | None:
        """Queue one of our own messages; returns how many are before it."""
        return self.add((frame, b"id", "t"), None)

    def graft(self, topic: str) -> int:
        return self.control(GRAFT, Graft(topic))

    def prune(self, prune: Prune) -> int:
        return self.control(PRUNE, prune)

    def ihave(self, topic: str, ids: list[bytes]) -> int:
        return self.control(IHAVE, IHave(topic, tuple(ids)))

    def iwant(self, ids: list[bytes]) -> int:
        return self.control(IWANT, IWant(tuple(ids)))

    def packet(
        self,
        most_bytes: int,
        max_control_size: int,
        max_rpc_size: int,
        limits: RpcLimits = TAKEN_BY_ALL,
    ) -> bytes:
        return super().packet(most_bytes, max_control_size, max_rpc_size, limits)


def message(data: bytes) -> bytes:
    """The frame of a message."""
    return message_frame(build_message(data=data, topics=("t",)))


def frames_of(packet: bytes) -> list[bytes]:
    reader = FrameReader(largest=ENOUGH)
    frames = reader.feed(packet)
    assert reader.pending == 0, "a packet holds whole frames only"
    return frames


def taken(queue: Queue, most_bytes: int = ENOUGH) -> list[Rpc]:
    frames = frames_of(queue.packet(most_bytes, MAX_CONTROL, MAX_RPC))
    return [decode_rpc(frame, RpcLimits()) for frame in frames]


def data_of(rpcs: list[Rpc]) -> list[bytes]:
    return [each.data for rpc in rpcs for each in rpc.messages]


def control_of(rpcs: list[Rpc]) -> list[Control]:
    return [rpc.control for rpc in rpcs if rpc.control is not None]


def empty(most_messages: int = 100, most_bytes: int = ENOUGH) -> Queue:
    return Queue(most_messages, most_bytes)


# ---- messages


def test_messages_leave_in_the_order_in_which_they_came() -> None:
    queue = empty()
    for number in range(5):
        assert queue.put(message(b"%d" % number)) == number
    assert data_of(taken(queue)) == [b"0", b"1", b"2", b"3", b"4"]
    assert queue.packet(ENOUGH, MAX_CONTROL, MAX_RPC) == b""


def test_a_full_queue_refuses_and_remembers_that_it_did() -> None:
    queue = empty(most_messages=2)
    before = [queue.put(message(b"x")) for _ in range(3)]
    assert before == [0, 1, None]
    assert queue.full()
    assert queue.was_full
    assert queue.count == 2


def test_a_queue_is_bounded_in_bytes_too() -> None:
    frame = message(bytes(100))
    queue = empty(most_bytes=2 * len(frame))
    before = [queue.put(frame) for _ in range(3)]
    assert before == [0, 1, None]


def test_one_message_always_fits_however_large() -> None:
    queue = empty(most_bytes=10)
    assert queue.put(message(bytes(1000))) == 0
    assert queue.put(message(b"")) is None


def test_room_is_told_of_the_size_that_is_asked_for() -> None:
    frame = message(bytes(100))
    queue = empty(most_bytes=3 * len(frame))
    queue.put(frame)
    assert not queue.full(2 * len(frame))
    assert queue.full(2 * len(frame) + 1)


def test_what_was_taken_makes_room_again() -> None:
    queue = empty(most_messages=4)
    for _ in range(4):
        queue.put(message(b"x"))
    assert not queue.half_empty()
    queue.packet(len(message(b"x")) * 2, MAX_CONTROL, MAX_RPC)
    assert queue.half_empty()
    assert queue.put(message(b"y")) == 2


def test_a_turn_takes_no_more_than_it_should_but_at_least_one_message() -> None:
    queue = empty()
    size = len(message(bytes(100)))
    for _ in range(6):
        queue.put(message(bytes(100)))
    assert len(taken(queue, most_bytes=3 * size)) == 3
    assert len(taken(queue, most_bytes=1)) == 1
    assert queue.count == 2


# ---- control


def test_control_overtakes_messages() -> None:
    queue = empty()
    queue.put(message(bytes(4080)))
    queue.put(message(b"second"))
    queue.announce("t", True)
    queue.graft("t")
    first, *rest = taken(queue)
    assert first.subscriptions
    assert first.control is not None
    assert not first.messages, "it would not have fitted"
    assert data_of(rest) == [bytes(4080), b"second"]


def test_control_rides_on_the_first_message_if_both_fit_into_one_rpc() -> None:
    queue = empty()
    queue.put(message(b"rain"))
    queue.graft("t")
    queue.iwant([b"id"])
    (rpc,) = taken(queue)
    assert data_of([rpc]) == [b"rain"]
    assert rpc.control is not None
    assert rpc.control.of(Graft)
    assert rpc.control.of(IWant)


def test_subscriptions_and_control_share_an_rpc() -> None:
    queue = empty()
    for topic in ("a", "b"):
        queue.announce(topic, True)
        queue.graft(topic)
    (rpc,) = taken(queue)
    assert [each.topic for each in rpc.subscriptions] == ["a", "b"]
    assert rpc.control is not None
    assert [each.topic for each in rpc.control.of(Graft)] == ["a", "b"]


def test_a_graft_that_a_prune_overtook_is_never_sent() -> None:
    queue = empty()
    queue.graft("t")
    queue.prune(Prune("t"))
    (control,) = control_of(taken(queue))
    assert (control.of(Graft), control.of(Prune)) == ((), (Prune("t"),))


def test_a_prune_that_a_graft_overtook_is_never_sent() -> None:
    queue = empty()
    queue.prune(Prune("t"))
    queue.graft("t")
    (control,) = control_of(taken(queue))
    assert control.of(Prune) == ()
    assert [each.topic for each in control.of(Graft)] == ["t"]


def test_of_announcements_that_wait_the_last_word_counts() -> None:
    queue = empty()
    queue.announce("t", True)
    queue.announce("t", False)
    (rpc,) = taken(queue)
    assert [(each.topic, each.subscribe) for each in rpc.subscriptions] == [("t", False)]


def test_the_same_id_is_told_and_asked_for_once() -> None:
    queue = empty()
    for _ in range(2):
        queue.ihave("t", [b"a", b"b"])
        queue.iwant([b"a", b"b"])
    (control,) = control_of(taken(queue))
    assert [each.message_ids for each in control.of(IHave)] == [(b"a", b"b")]
    assert [each.message_ids for each in control.of(IWant)] == [(b"a", b"b")]


def test_what_many_peers_are_told_is_written_once_for_all_of_them() -> None:
    written = []

    def encode(entry: IHave) -> bytes:
        written.append(entry)
        return IHAVE.encode(entry)

    ihave = IHAVE._replace(encode=encode, merge=each_id_once(10_000))
    queues, entry = [empty() for _ in range(5)], IHave("t", (b"a", b"b", b"a"))
    for queue in queues:
        queue.control(ihave, entry)
    told = [control.of(IHave) for queue in queues for control in control_of(taken(queue))]
    assert told == [(IHave("t", (b"a", b"b")),)] * 5
    assert len(written) == 1


def test_what_one_peer_is_told_beside_it_does_not_reach_the_others() -> None:
    one, other, entry = empty(), empty(), IHave("t", (b"a",))
    one.control(IHAVE, entry)
    other.control(IHAVE, entry)
    one.ihave("t", [b"b"])
    other.ihave("u", [b"c"])
    later = empty()
    later.control(IHAVE, entry)
    told = [
        control.of(IHave) for queue in (one, other, later) for control in control_of(taken(queue))
    ]
    assert told == [
        (IHave("t", (b"a", b"b")),),
        (IHave("t", (b"a",)), IHave("u", (b"c",))),
        (IHave("t", (b"a",)),),
    ]


def test_to_tell_of_nothing_is_to_say_nothing() -> None:
    queue = empty()
    assert queue.ihave("t", []) == 0
    assert queue.iwant([]) == 0
    assert not queue.has_control
    assert taken(queue) == []


def test_a_long_list_of_ids_is_cut_into_rpcs_within_the_limit() -> None:
    queue = empty()
    ids = [number.to_bytes(20, "big") for number in range(1000)]
    queue.ihave("t", ids)
    packet = queue.packet(ENOUGH, MAX_CONTROL, MAX_RPC)
    frames = frames_of(packet)
    assert max(map(len, frames)) <= MAX_CONTROL + 4
    controls = control_of([decode_rpc(frame) for frame in frames])
    told = [each for control in controls for part in control.of(IHave) for each in part.message_ids]
    assert told == ids


def test_many_subscriptions_are_cut_into_rpcs_within_the_limit() -> None:
    queue = empty()
    topics = [f"topic-{number}" for number in range(1000)]
    for topic in topics:
        queue.announce(topic, True)
    frames = frames_of(queue.packet(ENOUGH, MAX_CONTROL, MAX_RPC))
    assert max(map(len, frames)) <= MAX_CONTROL
    told = [each.topic for frame in frames for each in decode_rpc(frame).subscriptions]
    assert told == topics


def test_the_longest_topics_and_ids_still_fit_the_smallest_rpc() -> None:
    queue = empty()
    topic = "t" * 1024
    queue.announce(topic, True)
    queue.graft(topic)
    queue.ihave(topic, [bytes(500), b"x" * 500])
    frames = frames_of(queue.packet(ENOUGH, 1024, 2048))
    assert max(map(len, frames)) <= 2048


# ---- bounds


def test_ids_that_wait_are_bounded_in_bytes() -> None:
    rule = each_id_once(10 * (ID_COST + 8))
    ihave, iwant = IHAVE._replace(merge=rule), IWANT._replace(merge=rule)
    queue = empty()
    ids = tuple(number.to_bytes(8, "big") for number in range(20))
    assert queue.control(iwant, IWant(ids[:8])) == 0
    assert queue.control(ihave, IHave("t", ids[8:14])) == 4
    assert queue.control(iwant, IWant(ids[:8])) == 0, "these wait already"
    assert queue.control(iwant, IWant(ids[14:])) == 6
    taken(queue)
    assert queue.control(ihave, IHave("t", ids[:10])) == 0, "there is room again"


def test_what_is_said_again_takes_no_room_again() -> None:
    rule = each_id_once(10 * (ID_COST + 8))
    ihave = IHAVE._replace(merge=rule)
    queue = empty()
    ids = tuple(number.to_bytes(8, "big") for number in range(10))
    for _ in range(3):
        assert queue.control(ihave, IHave("t", ids[:5])) == 0
    assert queue.control(ihave, IHave("t", ids[5:])) == 0


def test_one_giant_id_costs_as_much_as_many() -> None:
    iwant = IWANT._replace(merge=each_id_once(10_000))
    queue = empty()
    assert queue.control(iwant, IWant((bytes(9000),))) == 0
    assert queue.control(iwant, IWant((b"x" * 9000,))) == 1


def test_prunes_that_wait_are_bounded() -> None:
    queue = empty()
    answers = [queue.prune(Prune(f"{number}")) for number in range(MOST_WAITING_PRUNES + 2)]
    assert answers == [0] * MOST_WAITING_PRUNES + [1] * 2
    assert queue.prune(Prune("0")) == 0, "said again, it takes no more room"
    assert queue.graft("1") == 0
    assert queue.prune(Prune("2nd")) == 0, "a GRAFT took the place of one"
    assert queue.prune(Prune("3rd")) == 1


def test_grafts_of_twenty_thousand_topics_find_room() -> None:
    queue = empty()
    assert not any(queue.graft(f"a topic of middling length {n}") for n in range(20_000))


# ---- any order of calls


class QueueAgainstModel(RuleBasedStateMachine):
    """The model: what the peer should know in the end, and the messages in order."""

    topics = st.sampled_from(["a", "b", "t" * 300])
    ids = st.lists(st.sampled_from([b"%d" % n * 30 for n in range(40)]), max_size=30)

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue(most_messages=6, most_bytes=2000)
        self.messages: list[bytes] = []
        self.subscriptions: dict[str, bool] = {}
        self.mesh: dict[str, str] = {}
        self.ihave: dict[str, set[bytes]] = {}
        self.iwant: set[bytes] = set()

    @rule(data=st.binary(max_size=600))
    def add_message(self, data: bytes) -> None:
        frame = message(data)
        waiting = [message(each) for each in self.messages]
        has_room = len(waiting) < 6 and (not waiting or sum(map(len, waiting)) + len(frame) <= 2000)
        assert self.queue.full(len(frame)) is not has_room
        assert self.queue.put(frame) == (len(waiting) if has_room else None)
        assert self.queue.crowded or not self.queue.full()
        if has_room:
            self.messages.append(data)

    @rule(topic=topics, subscribe=st.booleans())
    def announce(self, topic: str, subscribe: bool) -> None:
        self.queue.announce(topic, subscribe)
        self.subscriptions[topic] = subscribe

    @rule(topic=topics)
    def graft(self, topic: str) -> None:
        self.queue.graft(topic)
        self.mesh[topic] = "graft"

    @rule(topic=topics)
    def prune(self, topic: str) -> None:
        self.queue.prune(Prune(topic))
        self.mesh[topic] = "prune"

    @rule(topic=topics, ids=ids)
    def tell(self, topic: str, ids: list[bytes]) -> None:
        assert self.queue.ihave(topic, ids) == 0
        self.ihave.setdefault(topic, set()).update(ids)

    @rule(ids=ids)
    def ask(self, ids: list[bytes]) -> None:
        assert self.queue.iwant(ids) == 0
        self.iwant.update(ids)

    @rule(most_bytes=st.sampled_from([1, 500, 100_000]))
    def take(self, most_bytes: int) -> None:
        frames = frames_of(self.queue.packet(most_bytes, MAX_CONTROL, MAX_RPC))
        for frame in frames:
            assert len(frame) <= MAX_RPC
            controls = [
                end - start for number, _, start, end in fields(frame, 0, len(frame)) if number == 3
            ]
            assert len(controls) <= 1, "not every decoder merges two control fields"
            assert sum(controls) <= MAX_CONTROL
        rpcs = [decode_rpc(frame) for frame in frames]
        self._compare_messages(rpcs)
        self._compare_control(rpcs)

    def _compare_messages(self, rpcs: list[Rpc]) -> None:
        data = data_of(rpcs)
        assert data == self.messages[: len(data)]
        del self.messages[: len(data)]

    def _compare_control(self, rpcs: list[Rpc]) -> None:
        """All control leaves with the first turn; nothing is said twice."""
        said = [(each.topic, each.subscribe) for rpc in rpcs for each in rpc.subscriptions]
        assert sorted(said) == sorted(self.subscriptions.items())
        controls = control_of(rpcs)
        mesh = [(each.topic, "graft") for control in controls for each in control.of(Graft)]
        mesh += [(each.topic, "prune") for control in controls for each in control.of(Prune)]
        assert sorted(mesh) == sorted(self.mesh.items())
        told = [(i.topic, each) for c in controls for i in c.of(IHave) for each in i.message_ids]
        assert sorted(told) == sorted((t, each) for t, ids in self.ihave.items() for each in ids)
        asked = [each for c in controls for i in c.of(IWant) for each in i.message_ids]
        assert sorted(asked) == sorted(self.iwant)
        self.subscriptions, self.mesh, self.ihave, self.iwant = {}, {}, {}, set()

    @invariant()
    def it_knows_what_waits(self) -> None:
        assert self.queue.count == len(self.messages)
        assert self.queue.bytes == sum(len(message(each)) for each in self.messages)
        control = self.subscriptions or self.mesh or self.iwant or any(self.ihave.values())
        assert self.queue.has_control is bool(control)


TestQueueAgainstModel = QueueAgainstModel.TestCase


@given(st.integers(0, 1 << 32))
def test_control_of_any_size_is_packed_whole_and_within_limits(seed: int) -> None:
    """What FuzzRPCSplit looks for: nothing lost, nothing twice, nothing too large."""
    chance = random.Random(seed)
    queue = empty()
    ids = [chance.randbytes(chance.choice([1, 20, 46, 300])) for _ in range(chance.randrange(400))]
    topics = [f"{index}" * chance.choice([1, 50]) for index in range(chance.randrange(40))]
    for topic in topics:
        queue.graft(topic)
        queue.announce(topic, True)
    queue.iwant(ids)
    queue.ihave("t", ids)
    if chance.random() < 0.5:
        queue.put(message(bytes(chance.randrange(4000))))
    packet = queue.packet(ENOUGH, MAX_CONTROL, MAX_RPC)
    frames = frames_of(packet)
    assert b"".join(map(length_prefixed, frames)) == packet
    assert all(len(frame) <= MAX_RPC for frame in frames)
    controls = control_of([decode_rpc(frame) for frame in frames])
    asked = [
        each for control in controls for part in control.of(IWant) for each in part.message_ids
    ]
    assert asked == list(dict.fromkeys(ids))
    assert [each.topic for control in controls for each in control.of(Graft)] == topics
