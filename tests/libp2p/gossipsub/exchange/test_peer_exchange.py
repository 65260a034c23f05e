"""Peer exchange: whom we name when we prune, and what we make of those that others name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.machine import Connect, PeerJoined
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.gossipsub import MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3
from rumormill.libp2p.gossipsub.exchange.leads import MOST_LEADS
from rumormill.libp2p.gossipsub.exchange.peer_exchange import (
    MOST_PRUNES,
    MOST_RECORD_BYTES,
    FilterExchange,
)
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.wire import Control, ExchangedPeer, Graft, Prune, Rpc, length_prefixed
from tests.helpers.libp2p import wire_vectors
from tests.helpers.libp2p.exchange import TOPIC, ExchangeBench, name, named, record
from tests.helpers.libp2p.workbench import identity

LOOPBACK, PRIVATE, PUBLIC = (
    f"/ip4/{host}/tcp/4001" for host in ("127.0.0.1", "10.0.0.9", "8.8.8.8")
)


def leave(bench: ExchangeBench, topic: str = TOPIC) -> None:
    """Leaving a topic is the surest way to prune everybody."""
    bench.forget()
    bench.unsubscribe(topic)


# ---- whom we name


def test_a_prune_names_the_other_peers_of_the_topic_with_their_records() -> None:
    bench = ExchangeBench()
    bench.meet("ann", "bob", "cyd")
    leave(bench)
    for who, others in (("ann", ("bob", "cyd")), ("bob", ("ann", "cyd")), ("cyd", ("ann", "bob"))):
        (prune,) = bench.prunes_to(who)
        assert prune.backoff == 10
        assert set(prune.peers) == {ExchangedPeer(identity(o).peer_id, record(o)) for o in others}
    sent = bench.events(trace.EXCHANGE_SENT, topic=TOPIC)
    assert [(each.fields["peers"], each.fields["records"]) for each in sent] == [(2, 2)] * 3


def test_a_heartbeat_that_prunes_down_names_others_too() -> None:
    bench = ExchangeBench(D=2, D_low=1, D_high=6)
    people = [f"peer {number}" for number in range(6)]
    bench.meet(*people)
    for each in people:
        bench.graft(name(each), TOPIC)
    bench.forget()
    bench.heartbeat()
    prunes = [prune for each in people for prune in bench.prunes_to(each)]
    assert len(prunes) == 4
    assert all(len(prune.peers) == 5 and prune.backoff == 60 for prune in prunes)


def test_of_a_peer_whose_record_we_lack_only_the_id_is_named() -> None:
    bench = ExchangeBench()
    bench.meet("ann")
    bench.meet("bob", records=False)
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    assert prune.peers == (ExchangedPeer(identity("bob").peer_id),)


def test_the_application_says_who_may_be_named() -> None:
    bench = ExchangeBench()
    bench.meet("ann", "bob")
    bench.meet("cyd", records=False)
    asked: dict[str, tuple[str, ...]] = {}

    def but_bob(peer: str, addresses: tuple[str, ...]) -> bool:
        asked[peer] = addresses
        return peer != name("bob")

    bench.feed(FilterExchange(but_bob))
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    assert prune.peers == (ExchangedPeer(identity("cyd").peer_id),)
    assert asked[name("bob")]
    assert asked[name("cyd")] == ()
    assert bench.events(trace.IGNORED, peer=name("bob"), reason="exchange_withheld")
    (prune,) = bench.prunes_to("bob")
    assert {each.peer_id for each in prune.peers} == {identity(o).peer_id for o in ("ann", "cyd")}


def test_others_take_the_place_of_those_who_may_not_be_named() -> None:
    bench = ExchangeBench(prune_peers=2)
    bench.meet("ann", "bob", "cyd", "dan", "eve")
    allowed = {name("dan"), name("eve")}
    bench.feed(FilterExchange(lambda peer, _: peer in allowed))
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    assert {each.peer_id for each in prune.peers} == {identity(o).peer_id for o in ("dan", "eve")}


def test_a_filter_of_the_exchange_that_fails_names_nobody_and_does_no_harm() -> None:
    bench = ExchangeBench()
    bench.meet("ann", "bob")

    def broken(peer: str, addresses: tuple[str, ...]) -> bool:
        raise LookupError(peer)

    bench.feed(FilterExchange(broken))
    leave(bench)
    assert bench.prunes_to("ann") == [Prune(TOPIC, 10)]
    assert bench.events(trace.IGNORED, reason="exchange_filter_failed")
    bench.subscribe(TOPIC)
    bench.feed(FilterExchange(None))
    bench.run_until(bench.now + 100.0)
    leave(bench)
    assert any(prune.peers for prune in bench.prunes_to("ann"))


def test_nobody_is_named_unless_we_were_told_to() -> None:
    bench = ExchangeBench(peer_exchange=False)
    bench.meet("ann", "bob")
    leave(bench)
    assert bench.prunes_to("ann") == [Prune(TOPIC, 10)]


@pytest.mark.parametrize(
    ("protocol", "names"),
    [(MESHSUB_1_0, False), (MESHSUB_1_1, True), (MESHSUB_1_2, True), (MESHSUB_1_3, True)],
)
def test_only_peers_that_know_the_field_get_names(protocol: str, names: bool) -> None:
    bench = ExchangeBench()
    bench.meet("ann", protocol=protocol)
    bench.meet("bob")
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    assert bool(prune.peers) is names


def test_floodsub_peers_and_peers_of_bad_standing_are_not_named() -> None:
    bench = ExchangeBench()
    bench.meet("ann", "bob", "bad")
    bench.meet("flo", protocol=FLOODSUB)
    bench.marks.scores[name("bad")] = -0.1
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    assert [each.peer_id for each in prune.peers] == [identity("bob").peer_id]


def test_a_peer_of_bad_standing_is_told_nobody() -> None:
    bench = ExchangeBench()
    bench.meet("ann", "bad")
    bench.marks.scores[name("bad")] = -0.1
    leave(bench)
    assert bench.prunes_to("bad") == [Prune(TOPIC, 10)]


def test_who_grafts_in_its_backoff_is_told_nobody() -> None:
    bench = ExchangeBench()
    bench.meet("ann", "bob")
    bench.pruned_by("ann")
    bench.forget()
    bench.graft(name("ann"), TOPIC)
    assert bench.prunes_to("ann") == [Prune(TOPIC, 60)]


def test_at_most_prune_peers_are_named_and_chance_decides_which() -> None:
    bench = ExchangeBench(prune_peers=5)
    people = [f"peer {number}" for number in range(30)]
    bench.meet(*people)
    leave(bench)
    chosen = [frozenset(p.peers) for each in people for p in bench.prunes_to(each)]
    assert {len(peers) for peers in chosen} == {5} and len(set(chosen)) > 1


def test_the_records_of_a_prune_fit_into_what_every_peer_reads() -> None:
    bench = ExchangeBench()
    bench.meet("ann")
    many = [f"/dns4/{'x' * 200}.{number}.org/tcp/1" for number in range(30)]
    for number in range(16):
        bench.meet(f"peer {number}")
        bench.know(f"peer {number}", *many, sequence=2)
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    sizes = [len(each.record) for each in prune.peers]
    assert len(sizes) == 16 and 0 < sum(sizes) <= MOST_RECORD_BYTES


def test_who_grafts_many_topics_does_not_get_as_many_lists() -> None:
    topics = [f"topic {number}" for number in range(50)]
    bench = ExchangeBench()
    bench.subscribe(*topics)
    bench.meet("ann", "bob")
    for topic in topics:
        for who in ("ann", "bob"):
            bench.graft(name(who), topic)
    bench.forget()
    for topic in topics:
        bench.unsubscribe(topic)
    prunes = bench.prunes_to("ann")
    assert len(prunes) == 50
    assert sum(1 for prune in prunes if prune.peers) == MOST_PRUNES
    assert len(bench.events(trace.IGNORED, reason="exchange_asked_too_often")) == 2 * (
        50 - MOST_PRUNES
    )


def test_records_without_a_public_address_stay_here_if_we_are_told_so() -> None:
    bench = ExchangeBench(exchange_only_public=True)
    bench.meet("ann", "bob", "cyd")
    bench.know("bob", PRIVATE, LOOPBACK, sequence=2)
    bench.know("cyd", PRIVATE, PUBLIC, sequence=2)
    leave(bench)
    (prune,) = bench.prunes_to("ann")
    assert set(prune.peers) == {
        ExchangedPeer(identity("bob").peer_id),
        named("cyd", PRIVATE, PUBLIC, sequence=2),
    }


# ---- what others name


def test_we_dial_the_peers_that_are_named_to_us() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.pruned_by("hub", named("ann", PUBLIC, PRIVATE), named("bob"))
    assert bench.dialed() == [
        Connect(name("ann"), (PUBLIC, PRIVATE)),
        Connect(name("bob"), ("/ip4/8.8.4.4/tcp/4001",)),
    ]
    (received,) = bench.events(trace.EXCHANGE_RECEIVED, peer=name("hub"), topic=TOPIC)
    assert received.fields == {"peers": 2, "known": 0, "usable": 2}
    assert bench.marks.penalties == []


def test_it_is_traced_when_one_of_them_comes_and_thanks_to_whom() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.pruned_by("hub", named("ann"))
    bench.meet("ann")
    bench.meet("bob")
    (connected,) = bench.events(trace.EXCHANGE_CONNECTED)
    assert (connected.peer, connected.fields["named_by"]) == (name("ann"), name("hub"))
    assert bench.pubsub.sizes()["exchange_dialed"] == 0


def test_the_prunes_of_a_real_go_router_are_understood() -> None:
    """Its probes were all on one machine, so its word on loopback counts for who is there too."""
    go, bench = wire_vectors.identity("go node").peer, ExchangeBench()
    bench.subscribe("wire-topic")
    bench.feed(PeerJoined(go, MESHSUB_1_3, True, "/ip4/127.0.0.1/tcp/9"))
    for frame in wire_vectors.frames("meshsub-1.3.0-px", "to", "C"):
        bench.say_bytes(go, frame.raw)
    assert {each.peer for each in bench.dialed()} == {
        wire_vectors.identity(f"probe {probe}").peer for probe in "BD"
    }
    assert all(each.addresses[0].startswith("/ip4/127.0.0.1/tcp/") for each in bench.dialed())


def ignored(bench: ExchangeBench) -> dict[object, object]:
    events = bench.events(trace.IGNORED)
    return {each.fields["reason"]: each.fields.get("count", 1) for each in events}


def test_without_the_option_nobody_is_dialed() -> None:
    bench = ExchangeBench(peer_exchange=False)
    bench.meet("hub")
    bench.pruned_by("hub", named("ann"), named("bob"))
    assert bench.dialed() == [] and ignored(bench) == {"exchange_off": 2}


def test_names_for_a_topic_that_we_are_not_in_are_of_no_use() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.pruned_by("hub", named("ann"), topic="elsewhere")
    assert bench.dialed() == [] and ignored(bench) == {"exchange_unknown_topic": 1}


@pytest.mark.parametrize(("score", "taken"), [(-0.01, False), (0.0, True), (5.0, True)])
def test_only_who_stands_well_enough_is_believed(score: float, taken: bool) -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.marks.scores[name("hub")] = score
    bench.pruned_by("hub", named("ann"))
    assert bool(bench.dialed()) is taken
    assert ignored(bench) == ({} if taken else {"exchange_low_score": 1})


def test_whoever_has_enough_peers_dials_no_more() -> None:
    bench = ExchangeBench(D=2, D_low=1, D_high=3)
    bench.meet("hub", "ann", "bob")
    bench.pruned_by("hub", named("cyd"))
    assert bench.dialed() == [] and ignored(bench) == {"exchange_enough_peers": 1}
    bench.leave(name("bob"))
    bench.heartbeat()
    bench.pruned_by("hub", named("cyd"))
    assert len(bench.dialed()) == 1


def test_who_is_here_already_and_we_ourselves_are_not_dialed() -> None:
    bench = ExchangeBench()
    bench.meet("hub", "ann")
    ourselves = ExchangedPeer(bench.key.peer_id)
    bench.pruned_by("hub", named("ann"), named("hub"), ourselves)
    assert bench.dialed() == []
    (received,) = bench.events(trace.EXCHANGE_RECEIVED)
    assert received.fields == {"peers": 3, "known": 3, "usable": 0}


def test_a_name_alone_is_of_use_if_we_met_the_peer_before() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.know("ann", PUBLIC)
    bare = [ExchangedPeer(identity(who).peer_id) for who in ("ann", "bob")]
    bench.pruned_by("hub", *bare)
    assert bench.dialed() == [Connect(name("ann"), (PUBLIC,))]
    assert ignored(bench) == {"exchange_unknown_peer": 1}


@pytest.mark.parametrize(
    ("ours", "theirs", "used"), [(5, 4, "ours"), (5, 5, "ours"), (5, 6, "theirs")]
)
def test_of_two_records_the_newer_one_holds(ours: int, theirs: int, used: str) -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.know("ann", "/ip4/8.8.8.1/tcp/1", sequence=ours)
    bench.pruned_by("hub", named("ann", "/ip4/8.8.8.2/tcp/1", sequence=theirs))
    (dialed,) = bench.dialed()
    assert dialed.addresses == (f"/ip4/8.8.8.{1 if used == 'ours' else 2}/tcp/1",)


def forged(who: str) -> ExchangedPeer:
    raw = bytearray(record(who))
    raw[-1] ^= 1
    return ExchangedPeer(identity(who).peer_id, bytes(raw))


@pytest.mark.parametrize(
    ("peer", "reason"),
    [
        (forged("ann"), "exchange_forged_record"),
        (ExchangedPeer(identity("ann").peer_id, record("bob")), "exchange_record_of_other_peer"),
        (ExchangedPeer(identity("ann").peer_id, b"nonsense"), "exchange_bad_envelope"),
        (ExchangedPeer(identity("ann").peer_id, bytes(10_000)), "exchange_bad_envelope"),
        (ExchangedPeer(b"nobody"), "exchange_bad_peer_id"),
        (ExchangedPeer(b"", record("ann")), "exchange_bad_peer_id"),
    ],
)
def test_what_is_not_by_the_peer_that_it_names_costs_the_sender_once(
    peer: ExchangedPeer, reason: str
) -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.pruned_by("hub", peer, named("bob"), peer)
    assert [each.peer for each in bench.dialed()] == [name("bob")], "others are not to blame"
    (rejected,) = bench.events(trace.REJECTED, peer=name("hub"))
    assert rejected.fields == {"reason": reason, "count": 2}
    assert bench.marks.penalties == [(name("hub"), "bad_exchange", 1)]


def test_one_peer_can_have_us_look_at_so_many_names_between_two_heartbeats() -> None:
    bench = ExchangeBench(prune_peers=4, exchange_dials=100)
    bench.meet("hub", "other")
    crowd = [named(f"peer {number}") for number in range(10)]
    bench.pruned_by("hub", *crowd[:3])
    bench.pruned_by("hub", *crowd[3:])
    assert len(bench.dialed()) == 4 and ignored(bench) == {"exchange_too_many": 6}
    bench.leave(name("hub"))
    bench.meet("hub")
    bench.pruned_by("hub", crowd[0])
    assert len(bench.dialed()) == 4, "coming back brings no new budget"
    bench.pruned_by("other", named("from another"))
    bench.heartbeat()
    bench.pruned_by("hub", named("later"))
    assert [each.peer for each in bench.dialed()[4:]] == [name("from another"), name("later")]


def test_they_are_dialed_a_few_at_each_heartbeat_and_wait_their_turn() -> None:
    bench = ExchangeBench(exchange_dials=3)
    bench.meet("hub")
    bench.pruned_by("hub", *[named(f"peer {number}") for number in range(8)])
    assert len(bench.dialed()) == 3 and bench.pubsub.sizes()["exchange_waiting"] == 5
    bench.meet("peer 4", records=False)
    bench.heartbeat()
    assert len(bench.dialed()) == 6, "and no more than that"
    bench.heartbeat()
    dialed = [each.peer for each in bench.dialed()]
    assert set(dialed) == {name(f"peer {number}") for number in range(8)} - {name("peer 4")}
    assert bench.pubsub.sizes()["exchange_waiting"] == 0


def test_who_waits_is_not_dialed_once_there_are_enough() -> None:
    bench = ExchangeBench(D=2, D_low=1, D_high=3, exchange_dials=1)
    bench.meet("hub")
    bench.pruned_by("hub", named("ann"), named("bob"), named("cyd"))
    bench.meet("dan", "eve")
    bench.heartbeat()
    assert len(bench.dialed()) == 1
    assert len(bench.events(trace.IGNORED, reason="exchange_enough_peers")) == 2


def test_what_waits_and_what_is_remembered_is_bounded() -> None:
    bench = ExchangeBench(exchange_dials=1)
    tellers = [f"teller {number}" for number in range(11)]
    bench.meet(*tellers)
    for number, teller in enumerate(tellers):
        crowd = [named(f"peer {number} {each}") for each in range(16)]
        bench.pruned_by(teller, *crowd)
    assert bench.pubsub.sizes()["exchange_waiting"] <= MOST_LEADS
    (lost, *_) = bench.events(trace.DROPPED, what="exchanged_peer")
    assert lost.fields["reason"] == "queue_full"
    assert bench.pubsub.sizes()["exchange_budgets"] <= len(tellers)
    for _ in range(MOST_LEADS + 1):
        bench.heartbeat()
        assert bench.pubsub.sizes()["exchange_dialed"] <= MOST_LEADS
    assert bench.pubsub.sizes()["exchange_waiting"] == 0
    for _ in range(62):
        bench.heartbeat()
    assert bench.pubsub.sizes()["exchange_dialed"] == bench.pubsub.sizes()["exchange_budgets"] == 0


def test_who_comes_long_after_it_was_dialed_has_come_by_itself() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.pruned_by("hub", named("ann"))
    bench.run_until(90.0)
    bench.meet("ann")
    assert bench.events(trace.EXCHANGE_CONNECTED) == []


# ---- addresses


@pytest.mark.parametrize(
    ("teller", "only_public", "dialed"),
    [
        ("", False, (PRIVATE, PUBLIC)),
        (PUBLIC, False, (PRIVATE, PUBLIC)),
        (PRIVATE, False, (PRIVATE, PUBLIC)),
        (LOOPBACK, False, (LOOPBACK, PRIVATE, PUBLIC)),
        (LOOPBACK, True, (PUBLIC,)),
        (PUBLIC, True, (PUBLIC,)),
    ],
)
def test_loopback_counts_only_from_who_is_on_it(
    teller: str, only_public: bool, dialed: tuple[str, ...]
) -> None:
    bench = ExchangeBench(exchange_only_public=only_public)
    bench.meet("hub", address=teller)
    bench.pruned_by("hub", named("ann", LOOPBACK, PRIVATE, PUBLIC))
    assert [each.addresses for each in bench.dialed()] == [dialed]


def test_a_record_without_an_address_to_dial_is_of_no_use() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    bench.pruned_by("hub", named("ann", LOOPBACK, "/ip4/0.0.0.0/tcp/1", "/ip4/8.8.8.8/tcp/0"))
    assert bench.dialed() == [] and ignored(bench) == {"exchange_no_address": 1}
    assert bench.marks.penalties == [], "nobody is to blame"


# ---- whatever comes


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_a_prune_with_anything_in_it_costs_at_most_its_sender(infos: list[bytes]) -> None:
    bench = ExchangeBench()
    bench.meet("hub", "ann")
    prune = bytes_field(1, TOPIC.encode()) + b"".join(bytes_field(2, each) for each in infos)
    bench.say_bytes(name("hub"), length_prefixed(bytes_field(3, bytes_field(4, prune))))
    assert bench.dialed() == [] and name("ann") in bench.pubsub.peers


def test_a_flood_of_names_in_one_rpc_is_refused_as_ids_are() -> None:
    bench = ExchangeBench()
    bench.meet("hub")
    prune = Prune(TOPIC, 60, (ExchangedPeer(b""),) * 5001)
    bench.say(name("hub"), Rpc(control=Control((prune,))))
    (error,) = bench.events(trace.PROTOCOL_ERROR)
    assert error.fields["reason"] == "too_many_message_ids"


@pytest.mark.parametrize(("also", "names"), [((), 4), ((Graft("unknown"),), 0)])
def test_who_grafts_topics_that_we_are_not_in_is_told_nobody(
    also: tuple[Graft, ...], names: int
) -> None:
    bench = ExchangeBench(D=2, D_low=1, D_high=3)
    people = [f"peer {number}" for number in range(5)]
    bench.meet(*people)
    for each in people[:4]:
        bench.graft(name(each), TOPIC)
    bench.forget()
    bench.say(name(people[4]), Rpc(control=Control((Graft(TOPIC), *also))))
    (prune,) = bench.prunes_to(people[4])
    assert len(prune.peers) == names
