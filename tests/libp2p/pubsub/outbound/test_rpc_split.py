"""Whatever waits for a peer leaves in RPCs that go, rust and js take: go's FuzzRPCSplit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.machine import Send
from rumormill.core.protobuf import fields
from rumormill.libp2p.gossipsub.features import MESHSUB_1_2
from rumormill.libp2p.pubsub.outbound.outbox import MOST_TOGETHER
from rumormill.libp2p.wire import (
    GOSSIP_KINDS,
    Control,
    ControlKinds,
    Graft,
    IHave,
    IWant,
    Prune,
    Rpc,
    decode_rpc,
)
from rumormill.libp2p.wire.dont_want import IDONTWANT, IDontWant
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.message import build_message
from tests.helpers.libp2p.workbench import Workbench, gossipsub

KINDS = ControlKinds(*GOSSIP_KINDS, IDONTWANT)

RUST_MESSAGE, RUST_CONTROL, RUST_SUBSCRIPTIONS = 64 * 1024, 16 * 1024, 100
GO_REFUSED = 10

topics = st.builds(
    lambda name, length: f"{name}".ljust(length, "t"),
    st.integers(0, 3000), st.sampled_from([1, 20, 300, 1024]),
)  # fmt: skip
ids = st.tuples(st.integers(0, 1000), st.integers(0, 400), st.sampled_from([3, 20, 46, 300, 1024]))
"""The first, how many, and how long each is."""
few_ids = st.tuples(st.integers(0, 1000), st.integers(0, 60), st.sampled_from([3, 20, 46]))
"""So few that all of them find room."""

words = st.lists(
    st.one_of(
        st.tuples(st.just("announce"), topics, st.booleans()),
        st.tuples(st.just("announce many"), st.integers(0, 400), st.booleans()),
        st.tuples(st.just("graft"), topics),
        st.tuples(st.just("prune"), topics, st.integers(0, 3600)),
        st.tuples(st.just("ihave"), topics, ids),
        st.tuples(st.just("iwant"), ids),
        st.tuples(st.just("refuse"), few_ids),
        st.tuples(st.just("message"), st.sampled_from([1, 1000, 16_000, 60_000])),
    ),
    max_size=12,
)


class Model:
    """What the peer should have heard in the end."""

    def __init__(self) -> None:
        self.subscriptions: dict[str, bool] = {}
        self.mesh: dict[str, Any] = {}
        self.ids: Counter[tuple[str, str, bytes]] = Counter()
        self.messages = 0


def say(bench: Workbench, model: Model, word: tuple[Any, ...]) -> None:
    outbox, kind, rest = bench.pubsub.outbox, word[0], word[1:]
    if kind == "announce":
        outbox.announce("ann", *rest)
        model.subscriptions[rest[0]] = rest[1]
    elif kind == "announce many":
        for number in range(rest[0]):
            say(bench, model, ("announce", f"one of many: {number}", rest[1]))
    elif kind in ("graft", "prune"):
        entry = Graft(rest[0]) if kind == "graft" else Prune(*rest)
        outbox.control("ann", entry)
        model.mesh[rest[0]] = entry
    elif kind == "message":
        model.messages += 1
        message = build_message(data=bytes(rest[0]), topics=("t",))
        message.id = b"%d" % model.messages
        outbox.message("ann", message)
    else:
        topic = rest[0] if kind == "ihave" else ""
        first, count, size = rest[-1]
        message_ids = tuple(n.to_bytes(size, "big") for n in range(first, first + count))
        kinds = {"ihave": IHave(topic, message_ids), "iwant": IWant(message_ids)}
        outbox.control("ann", kinds.get(kind, IDontWant(message_ids)))
        for each in message_ids:
            model.ids[kind, topic, each] = 1


def within_what_peers_take(frame: bytes, rpc: Rpc) -> None:
    found = list(fields(frame, 0, len(frame)))
    control = sum(end - start for number, _, start, end in found if number == 3)
    assert sum(number == 3 for number, *_ in found) <= 1, "not every decoder merges two"
    assert control <= RUST_CONTROL
    assert len(frame) <= RUST_MESSAGE
    assert len(rpc.messages) <= 1
    if rpc.messages and len(found) > 1:
        assert len(frame) <= MOST_TOGETHER, "control does not wait for a large message"
    assert len(rpc.subscriptions) <= RUST_SUBSCRIPTIONS
    entries = rpc.control.entries if rpc.control else ()
    assert len(entries) <= 1000
    assert sum(len(each[0]) for each in entries if isinstance(each, IDontWant)) <= GO_REFUSED


@given(words)
def test_everything_leaves_once_and_in_rpcs_that_all_peers_take(
    said: list[tuple[Any, ...]],
) -> None:
    bench = gossipsub(kinds=KINDS)
    bench.join("ann", protocol=MESHSUB_1_2)
    bench.writable("ann", False)
    model = Model()
    for word in said:
        say(bench, model, word)
    assert not bench.pubsub.outbox.take_losses()
    bench.writable("ann", True)
    reader = FrameReader(largest=1 << 24)
    frames = [frame for send in bench.of(Send) for frame in reader.feed(send.packet)]
    rpcs = [decode_rpc(frame, kinds=KINDS) for frame in frames]
    for frame, rpc in zip(frames, rpcs, strict=True):
        within_what_peers_take(frame, rpc)
    heard = [(each.topic, each.subscribe) for rpc in rpcs for each in rpc.subscriptions]
    assert sorted(heard) == sorted(model.subscriptions.items())
    entries = [entry for rpc in rpcs for entry in (rpc.control or Control()).entries]
    mesh = [entry for entry in entries if isinstance(entry, Graft | Prune)]
    assert sorted(mesh) == sorted(model.mesh.values())
    told: Counter[tuple[str, str, bytes]] = Counter()
    for entry in entries:
        if isinstance(entry, IHave):
            told.update(("ihave", entry.topic, each) for each in entry.message_ids)
        elif isinstance(entry, IWant | IDontWant):
            kind = "iwant" if isinstance(entry, IWant) else "refuse"
            told.update((kind, "", each) for each in entry.message_ids)
    assert told == model.ids
    assert sum(len(rpc.messages) for rpc in rpcs) == model.messages


@given(words)
def test_what_is_urgent_leaves_before_what_is_not(said: list[tuple[Any, ...]]) -> None:
    bench = gossipsub(kinds=KINDS)
    bench.join("ann", protocol=MESHSUB_1_2)
    bench.writable("ann", False)
    for word in said:
        say(bench, Model(), word)
    bench.forget()
    bench.writable("ann", True)
    rpcs = bench.took("ann")
    entries = [entry for rpc in rpcs for entry in (rpc.control or Control()).entries]
    urgent = [isinstance(entry, Graft | Prune | IDontWant) for entry in entries]
    assert urgent == sorted(urgent, reverse=True)
    first_message = next((at for at, rpc in enumerate(rpcs) if rpc.messages), len(rpcs))
    assert not any(rpc.control or rpc.subscriptions for rpc in rpcs[first_message + 1 :])
