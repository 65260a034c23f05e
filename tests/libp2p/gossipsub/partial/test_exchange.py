"""How two nodes exchange parts: who is told what, who is sent what, and nothing twice."""

from __future__ import annotations

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import PeerJoined
from rumormill.libp2p.effects import StreamLost, StreamRenewed
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from rumormill.libp2p.gossipsub.partial import (
    ClosePartial,
    PartialNews,
    PartialPublished,
    PartList,
    PublishPartial,
)
from rumormill.libp2p.wire import Rpc
from rumormill.libp2p.wire.dont_want import IDontWant
from rumormill.libp2p.wire.extensions import PartialRpc, SubscriptionOptions, decode_options
from tests.helpers.libp2p.partial_bench import (
    ALL,
    CELLS,
    EVEN,
    GIVES,
    NEITHER,
    NONE,
    ODD,
    WANTS,
    PartialBench,
    bits,
    packed,
    some,
    whole,
)
from tests.helpers.libp2p.workbench import gossipsub, signed


def told(metadata: bytes) -> PartialRpc:
    return PartialRpc("t", b"g", None, metadata)


# ---- offering and asking


def test_who_wants_parts_is_told_which_we_have_and_asked_for_nothing() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.forget()
    assert bench.offer(some([0, 2])) == ("ann",)
    assert bench.got("ann") == [told(bits(0, 2))]


def test_who_says_what_it_has_gets_what_it_lacks() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.forget()
    bench.tells("ann", b"g", metadata=EVEN)
    assert bench.got("ann") == [PartialRpc("t", b"g", packed(1, 3, 5, 7))]
    bench.tells("ann", b"g", metadata=EVEN)
    assert bench.got("ann") == [], "it has them by now, though it did not know when it said that"


def test_metadata_says_what_we_want_too() -> None:
    """h1 has everything; h2 knows the group and has nothing: it is told, answers, and gets all."""
    bench = PartialBench()
    message = some([])
    bench.partner("ann")
    bench.offer(message)
    assert bench.got("ann")[-1] == told(NONE)
    bench.tells("ann", b"g", packed(*range(8)), ALL)
    assert message.complete
    assert bench.got("ann") == [], "who sent us the parts knows that we have them"


def test_two_halves_complete_each_other_without_a_word_too_many() -> None:
    bench = PartialBench()
    message = some([0, 2, 4, 6])
    bench.partner("ann")
    bench.offer(message)
    bench.forget()
    bench.tells("ann", b"g", metadata=ODD)
    assert bench.got("ann") == [PartialRpc("t", b"g", packed(0, 2, 4, 6))]
    bench.tells("ann", b"g", packed(1, 3, 5, 7))
    assert message.complete
    assert bench.got("ann") == []


def test_who_has_the_same_gets_nothing() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(some([0, 2]))
    bench.forget()
    bench.tells("ann", b"g", metadata=bits(0, 2))
    assert bench.got("ann") == []


def test_eager_parts_go_out_before_a_word_was_said() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.forget()
    bench.offer(whole(eager=True))
    assert bench.got("ann") == [PartialRpc("t", b"g", packed(*range(8)), ALL)]
    bench.offer(whole(eager=True))
    assert bench.got("ann") == [], "it has them"


def test_a_message_that_was_added_to_is_offered_again_with_what_is_new() -> None:
    bench = PartialBench()
    message = some([0])
    bench.partner("ann")
    bench.offer(message)
    bench.tells("ann", b"g", metadata=NONE)
    bench.forget()
    assert bench.offer(message) == (), "there is nothing new"
    message.add(5, CELLS[5])
    assert bench.offer(message) == ("ann",)
    assert bench.got("ann") == [PartialRpc("t", b"g", packed(5), bits(0, 5))]


def test_many_parts_go_in_several_rpcs() -> None:
    bench = PartialBench(partial_rpc_bytes=1000)
    parts = [bytes((number,)) * 400 for number in range(8)]
    bench.partner("ann")
    bench.offer(PartList.whole(b"g", parts))
    bench.forget()
    bench.tells("ann", b"g", metadata=NONE)
    rpcs = bench.got("ann")
    other = PartList(b"g", 8)
    for each in rpcs:
        assert each.data is not None and len(each.data) < 1000
        other.take(each.data)
    assert len(rpcs) == 4 and other.complete


def test_new_parts_are_passed_on_to_others_but_not_back() -> None:
    bench = PartialBench()
    message = some([0])
    for peer in ("ann", "bob"):
        bench.partner(peer)
    bench.offer(message)
    bench.tells("bob", b"g", metadata=NONE)
    bench.forget()
    bench.tells("ann", b"g", packed(3), bits(0, 3))
    assert bench.got("ann") == []
    assert bench.got("bob") == [PartialRpc("t", b"g", packed(3), bits(0, 3))]
    assert bench.news() == [PartialNews("t", b"g", "ann", message, None, bits(0, 3))]


def test_parts_that_we_have_are_passed_on_to_nobody() -> None:
    bench = PartialBench()
    for peer in ("ann", "bob"):
        bench.partner(peer)
    bench.offer(some([0]))
    bench.tells("bob", b"g", metadata=NONE)
    bench.forget()
    bench.tells("ann", b"g", packed(0))
    assert bench.got("bob") == []
    assert bench.news() == []
    assert len(bench.events("ignored", reason="partial_known")) == 1


# ---- groups that peers begin


def test_without_a_message_the_application_is_told_what_came() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.forget()
    bench.tells("ann", b"g", packed(1), bits(1, 2))
    assert bench.news() == [PartialNews("t", b"g", "ann", None, packed(1), bits(1, 2))]
    assert bench.got("ann") == []
    message = some([1])
    assert bench.offer(message) == ("ann",)
    assert bench.got("ann") == [told(bits(1))], "and so it learns that we want the other"


def test_a_message_is_made_for_a_group_that_a_peer_begins() -> None:
    made: list[PartList] = []

    def make(group_id: bytes) -> PartList:
        made.append(PartList(group_id, 8))
        return made[-1]

    bench = PartialBench(make=make)
    bench.partner("ann")
    bench.forget()
    bench.tells("ann", b"g", metadata=ALL)
    assert bench.got("ann") == [told(NONE)], "we have nothing, and it may send all"
    bench.tells("ann", b"g", packed(*range(8)))
    (message,) = made
    assert message.complete
    assert [each.message for each in bench.news()] == [message]


def test_what_is_not_wanted_is_not_made() -> None:
    bench = PartialBench(make=lambda group_id: None)
    bench.partner("ann")
    bench.forget()
    bench.tells("ann", b"g", metadata=ALL)
    assert bench.got("ann") == []
    assert bench.news() == [PartialNews("t", b"g", "ann", None, None, ALL)]


# ---- who takes part


def test_who_gives_parts_but_wants_none_is_told_and_sent_none() -> None:
    bench = PartialBench()
    bench.partner("ann", GIVES)
    bench.forget()
    bench.offer(whole(eager=True))
    assert bench.got("ann") == [told(ALL)]
    bench.tells("ann", b"g", metadata=NONE)
    assert bench.got("ann") == []


def test_who_only_gives_is_of_no_use_to_one_who_only_gives() -> None:
    bench = PartialBench(request=False)
    bench.partner("ann", GIVES)
    bench.partner("bob")
    bench.forget()
    assert bench.offer(whole()) == ("bob",)
    assert bench.got("ann") == []


def test_options_without_the_extension_mean_nothing() -> None:
    bench = PartialBench()
    bench.partner("ann", WANTS, knows=False)
    bench.partner("bob", NEITHER)
    bench.feed(PeerJoined("cyd", MESHSUB_1_0))
    bench.says_options("cyd", WANTS)
    assert bench.offer(whole(eager=True)) == ()


@pytest.mark.parametrize(
    ("options", "gives", "takes"),
    [(WANTS, True, True), (GIVES, False, True), (NEITHER, False, False)],
)
def test_the_options_of_each_peer_and_topic_are_kept_apart(
    options: SubscriptionOptions, gives: bool, takes: bool
) -> None:
    bench = PartialBench()
    bench.open("u", request=False)
    bench.partner("ann", options, "t")
    bench.partner("bob", WANTS, "u")
    (extension,) = bench.partial_router._extensions.ours
    kept = extension.options  # type: ignore[attr-defined]
    assert (kept.gives("ann", "t"), kept.takes("ann", "t")) == (gives, takes)
    assert (kept.gives("ann", "u"), kept.takes("ann", "u")) == (False, False)
    assert (kept.gives("bob", "u"), kept.takes("bob", "u")) == (True, False)
    assert (kept.gives("eve", "t"), kept.gives("bob", "nowhere")) == (False, False)


def test_what_a_peer_says_last_of_its_options_holds() -> None:
    bench = PartialBench()
    bench.partner("ann", NEITHER)
    assert bench.offer(whole()) == ()
    bench.says_options("ann", WANTS)
    assert bench.offer(whole()) == ("ann",)
    bench.says_options("ann", NEITHER)
    message = whole(b"other")
    assert bench.offer(message) == ()


def test_our_options_are_told_with_the_topic_and_again_when_they_change() -> None:
    bench = PartialBench(request=False)
    bench.partner("ann")
    said = [each for rpc in bench.took("ann") for each in rpc.subscriptions]
    assert [decode_options(each.other) for each in said] == [GIVES]
    bench.open("t", request=True)
    said = [each for rpc in bench.took("ann") for each in rpc.subscriptions]
    assert [(each.subscribe, decode_options(each.other)) for each in said] == [(True, WANTS)]
    bench.open("t", request=True)
    assert bench.took("ann") == [], "no news"
    bench.feed(ClosePartial("t"))
    said = [each for rpc in bench.took("ann") for each in rpc.subscriptions]
    assert [decode_options(each.other) for each in said] == [NEITHER]


# ---- whole messages


def test_who_wants_parts_gets_no_whole_messages() -> None:
    bench = PartialBench()
    for peer, options in (("ann", WANTS), ("bob", GIVES), ("cyd", NEITHER)):
        bench.partner(peer, options)
    assert set(bench.publish("t").peers) == {"bob", "cyd"}
    bench.forget()
    bench.send_message("bob", signed("author", "t", b"rain", 1))
    got = [peer for peer, rpcs in bench.sent.items() if any(rpc.messages for rpc in rpcs)]
    assert got == ["cyd"]


def test_who_gets_parts_is_not_told_which_whole_messages_we_do_not_want() -> None:
    """It sends us none that it could spare us."""
    bench = PartialBench()
    for peer, options in (("ann", WANTS), ("bob", GIVES), ("cyd", NEITHER)):
        bench.partner(peer, options)
    bench.forget()
    bench.send_message("bob", signed("author", "t", bytes(20_000), 1))
    told = [peer for peer in ("ann", "bob", "cyd") if refusals_in(bench.took(peer))]
    assert told == ["cyd"]


def refusals_in(rpcs: list[Rpc]) -> list[IDontWant]:
    return [each for rpc in rpcs if rpc.control for each in rpc.control.of(IDontWant)]


def test_it_gets_them_where_we_have_no_parts_to_give() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.partner("bob", WANTS, knows=False)
    assert set(bench.publish("t").peers) == {"bob"}
    bench.feed(ClosePartial("t"))
    assert set(bench.publish("t").peers) == {"ann", "bob"}
    plain = gossipsub()
    plain.subscribe("t")
    plain.join("ann", "t")
    assert plain.publish("t").peers == ("ann",)


def test_questions_know_who_wants_no_whole_messages() -> None:
    bench = PartialBench()
    bench.partner("ann")
    assert not bench.pubsub.has_targets(("t",))
    bench.partner("bob", GIVES)
    assert bench.pubsub.has_targets(("t",))


def test_it_does_not_matter_who_was_there_first() -> None:
    bench = PartialBench()
    bench.subscribe("u")
    bench.partner("ann", WANTS, "u")
    assert bench.publish("u").peers == ("ann",)
    bench.open("u")
    assert bench.publish("u").peers == ()


# ---- outside the mesh


def test_peers_outside_the_mesh_are_told_at_the_heartbeat_instead_of_ihave() -> None:
    bench = PartialBench(D=1, D_low=1, D_high=1, D_lazy=6)
    bench.partner("mesh")
    bench.partner("ann")
    bench.partner("bob", GIVES)
    assert bench.pubsub.mesh("t") == ("mesh",)
    bench.offer(whole(eager=True))
    bench.publish("t", b"whole")
    bench.forget()
    bench.heartbeat()
    assert bench.got("ann") == [told(ALL)], "not even eagerly"
    assert [item[0] for item in bench.took_items("bob")] == ["ihave"]
    bench.heartbeat()
    assert bench.took("ann") == [], "once is enough"
    bench.tells("ann", b"g", metadata=EVEN)
    assert bench.got("ann") == [PartialRpc("t", b"g", packed(1, 3, 5, 7))]


def test_gossip_of_parts_needs_no_whole_message_to_tell_of() -> None:
    bench = PartialBench(D=0, D_low=0, D_high=0, D_lazy=6)
    bench.open("t")
    bench.partner("ann")
    bench.partner("bob")
    bench.offer(whole())
    bench.took("ann"), bench.took("bob")
    bench.heartbeat()
    assert bench.got("ann") == bench.got("bob") == [told(ALL)]


def test_groups_that_only_peers_speak_of_are_not_gossiped() -> None:
    bench = PartialBench(D=1, D_low=1, D_high=1, D_lazy=6, make=lambda each: PartList(each, 8))
    bench.partner("mesh")
    bench.partner("ann")
    bench.tells("mesh", b"g", metadata=ALL)
    bench.forget()
    bench.heartbeat()
    assert bench.took("ann") == []
    bench.tells("mesh", b"g", packed(1))
    bench.heartbeat()
    assert bench.got("ann") == [told(bits(1))], "what brought something is"


def test_a_publisher_that_does_not_listen_uses_its_fanout() -> None:
    bench = PartialBench(subscribe=False, D=2, D_low=1)
    for peer in ("ann", "bob", "cyd"):
        bench.partner(peer)
    bench.forget()
    peers = bench.offer(whole())
    assert len(peers) == 2
    assert set(peers) == set(bench.partial_router.fanout("t"))


def test_one_who_does_not_listen_is_answered_when_it_offers_parts() -> None:
    """A publisher by fanout: it is no subscriber, and has said nothing of options."""
    bench = PartialBench(make=lambda each: PartList(each, 8))
    bench.partner("ann", WANTS, "elsewhere")
    bench.forget()
    bench.tells("ann", b"g", metadata=ALL)
    assert bench.got("ann") == [told(NONE)]


# ---- coming and going


def test_after_a_peer_came_again_nothing_of_what_it_had_is_assumed() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.tells("ann", b"g", metadata=ALL)
    bench.leave("ann")
    bench.partner("ann")
    bench.forget()
    assert bench.offer(whole()) == ("ann",)
    bench.tells("ann", b"g", metadata=NONE)
    assert bench.got("ann") == [told(ALL), PartialRpc("t", b"g", packed(*range(8)))]


def test_who_leaves_a_topic_is_forgotten_on_that_topic_alone() -> None:
    bench = PartialBench()
    bench.subscribe("u")
    bench.open("u")
    bench.partner("ann", WANTS, "t", "u")
    for topic in ("t", "u"):
        bench.offer(whole(), topic)
        bench.tells("ann", b"g", metadata=ALL, topic=topic)
    assert bench.pubsub.sizes()["partial_views"] == 2
    bench.say_bytes("ann", bytes.fromhex("070a0508001201") + b"t")
    sizes = bench.pubsub.sizes()
    assert (sizes["partial_views"], sizes["partial_options"]) == (1, 1)


def test_what_was_on_a_stream_that_broke_is_sent_again() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.tells("ann", b"g", metadata=EVEN)
    bench.feed(StreamLost("ann"))
    bench.forget()
    bench.feed(StreamRenewed("ann"))
    bench.heartbeat()
    assert bench.got("ann") == [PartialRpc("t", b"g", packed(1, 3, 5, 7), ALL)]


def test_what_found_no_room_is_tried_again_at_the_heartbeat() -> None:
    bench = PartialBench(pubsub={"queue_messages": 1})
    bench.partner("ann")
    bench.forget()
    bench.writable("ann", False)
    bench.offer(whole(b"one"))
    assert bench.offer(whole(b"two")) == ()
    assert len(bench.events("dropped", what="extension", reason="queue_full")) == 1
    bench.writable("ann", True)
    assert [each.group_id for each in bench.got("ann")] == [b"one"]
    bench.heartbeat()
    assert [each.group_id for each in bench.got("ann")] == [b"two"]


def test_who_comes_into_the_mesh_later_is_told_at_the_heartbeat() -> None:
    bench = PartialBench()
    assert bench.offer(whole()) == ()
    bench.partner("ann")
    bench.forget()
    bench.heartbeat()
    assert bench.got("ann") == [told(ALL)]
    bench.heartbeat()
    assert bench.took("ann") == []


def test_groups_without_news_are_forgotten_after_some_heartbeats() -> None:
    bench = PartialBench(partial_group_ttl=3)
    bench.partner("ann")
    bench.offer(whole())
    for _ in range(2):
        bench.heartbeat()
    bench.tells("ann", b"g", metadata=NONE)
    assert bench.got("ann")[-1].data == packed(*range(8)), "it is there still"
    bench.heartbeat()
    assert bench.pubsub.sizes()["partial_groups"] == 0
    bench.tells("ann", b"g", metadata=NONE)
    assert bench.got("ann") == [], "and no longer"
    assert len(bench.news()) == 1


def test_closing_a_topic_forgets_its_messages() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.feed(ClosePartial("t"))
    sizes = bench.pubsub.sizes()
    assert (sizes["partial_groups"], sizes["partial_views"], sizes["partial_bytes"]) == (0, 0, 0)
    bench.feed(ClosePartial("t"))


# ---- faults of our own


def test_publishing_on_a_topic_that_is_not_open_is_an_error() -> None:
    bench = PartialBench()
    with pytest.raises(LocalProtocolError, match="'u' is not open for partial messages"):
        bench.feed(PublishPartial("u", whole()))
    with pytest.raises(LocalProtocolError, match="a group id has 1 to 1024 bytes"):
        bench.feed(PublishPartial("t", whole(b"")))


def test_the_receipt_names_the_group() -> None:
    bench = PartialBench()
    effects = bench.feed(PublishPartial("t", whole(b"block 7")))
    assert PartialPublished("t", b"block 7", ()) in [
        getattr(each, "news", None) for each in effects
    ]
