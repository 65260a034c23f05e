"""Of how much use a peer is, by what it does."""

from __future__ import annotations

from rumormill.core.machine import Check, Verdict
from rumormill.libp2p.pubsub.usefulness import (
    BROUGHT_MESSAGES,
    IDLE,
    IN_MESH,
    MOST_TOPICS,
    SHARES_TOPIC,
)
from tests.helpers.libp2p import workbench
from tests.helpers.libp2p.workbench import Workbench, signed


def use(bench: Workbench, peer: str) -> int:
    """Asked at a time when everything that happened so far is known."""
    bench.run_until(bench.now + 1.0)
    return bench.pubsub.usefulness(peer, bench.now)


def quiet() -> Workbench:
    """A node whose mesh is full of others, so that no peer of a test gets into it."""
    bench = workbench.gossipsub(D=1, D_low=1, D_high=1)
    bench.subscribe("weather")
    bench.join("first", "weather")
    assert bench.pubsub.mesh("weather") == ("first",)
    return bench


def test_a_peer_without_a_topic_of_ours_is_of_no_use() -> None:
    bench = quiet()
    bench.join("ann", "news")
    assert use(bench, "ann") == IDLE == use(bench, "a stranger")


def test_a_peer_that_shares_a_topic_might_be_of_use_until_it_or_we_leave() -> None:
    bench = quiet()
    for peer in ("ann", "bob"):
        bench.join(peer, "weather", "news")
    assert use(bench, "ann") == SHARES_TOPIC
    bench.unsubscribe("weather")
    assert use(bench, "ann") == IDLE
    bench.subscribe("news")
    assert use(bench, "ann") >= SHARES_TOPIC


def test_a_topic_that_we_only_publish_on_counts() -> None:
    bench = quiet()
    bench.join("ann", "news")
    bench.publish("news")
    assert use(bench, "ann") == SHARES_TOPIC


def test_a_topic_that_we_left_and_go_on_to_publish_on_counts() -> None:
    bench = quiet()
    bench.join("ann", "news")
    bench.subscribe("news")
    bench.publish("news")
    bench.unsubscribe("news")
    assert use(bench, "ann") == IDLE
    bench.publish("news")
    assert use(bench, "ann") == SHARES_TOPIC


def test_a_peer_of_a_mesh_is_of_use() -> None:
    assert use(quiet(), "first") == IN_MESH


def test_a_newcomer_counts_as_soon_as_it_listens_or_is_in_a_mesh() -> None:
    bench = quiet()
    assert bench.pubsub.usefulness("first", bench.now) == IN_MESH
    bench.join("ann", "weather")
    bench.join("bob", "news")
    assert bench.pubsub.usefulness("ann", bench.now) == SHARES_TOPIC
    assert bench.pubsub.usefulness("bob", bench.now) == IDLE
    bench.leave("first")
    bench.graft("ann", "weather")
    assert bench.pubsub.usefulness("ann", bench.now) == IN_MESH


def test_a_peer_that_brings_new_messages_is_of_the_most_use_for_a_while() -> None:
    bench = workbench.floodsub(useful_for=100.0)
    bench.subscribe("weather")
    for peer in ("ann", "bob"):
        bench.join(peer)
    bench.send_message("ann", signed("author", "weather", b"rain", 1))
    bench.send_message("bob", signed("author", "weather", b"rain", 1))
    assert use(bench, "ann") == BROUGHT_MESSAGES
    assert use(bench, "bob") == IDLE, "it brought what was known"
    bench.run_until(200.0)
    assert use(bench, "ann") == IDLE


def test_whoever_brings_a_message_while_it_is_being_checked_was_as_quick() -> None:
    bench = workbench.floodsub(answer_checks=False)
    bench.subscribe("weather")
    for peer in ("ann", "bob", "cyd", "author"):
        bench.join(peer)
    rain = signed("author", "weather", b"rain", 1)
    bench.send_message("ann", rain)
    bench.send_message("bob", rain)
    [check] = bench.of(Check)
    bench.answer(check)
    bench.send_message("cyd", rain)
    assert [use(bench, peer) for peer in ("ann", "bob")] == [BROUGHT_MESSAGES] * 2
    assert use(bench, "cyd") == IDLE, "it came after the verdict"
    assert use(bench, "author") == IDLE, "it sent us nothing itself"


def test_messages_that_are_not_accepted_are_of_no_use() -> None:
    bench = workbench.floodsub()
    bench.subscribe("weather")
    bench.join("ann")
    for number, verdict in enumerate((Verdict.REJECT, Verdict.IGNORE, Verdict.FORGED)):
        bench.verdicts[b"%d" % number] = verdict
        bench.send_message("ann", signed("author", "weather", b"%d" % number, number))
    assert bench.delivered() == [] and use(bench, "ann") == IDLE


def test_what_was_brought_is_forgotten_with_the_peer() -> None:
    bench = workbench.floodsub()
    bench.subscribe("weather")
    bench.join("ann")
    bench.send_message("ann", signed("author", "weather", b"rain", 1))
    bench.leave("ann")
    assert use(bench, "ann") == IDLE


def test_a_verdict_after_the_peer_has_left_leaves_nothing_behind() -> None:
    bench = workbench.floodsub(answer_checks=False)
    bench.subscribe("weather")
    bench.join("ann")
    bench.send_message("ann", signed("author", "weather", b"rain", 1))
    bench.leave("ann")
    [check] = bench.of(Check)
    bench.answer(check)
    assert len(bench.delivered()) == 1


def test_topics_that_we_publish_on_are_remembered_up_to_a_number() -> None:
    bench = workbench.floodsub()
    for number in range(MOST_TOPICS + 100):
        bench.publish(f"topic {number}")
    assert bench.pubsub.sizes()["published_topics"] == MOST_TOPICS
