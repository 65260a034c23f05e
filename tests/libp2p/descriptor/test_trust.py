"""The web of trust: chains, bans, ends, and that no order of arrival changes anything."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.libp2p.descriptor.edges import TrustEdge
from rumormill.libp2p.descriptor.trust import TrustGraph, TrustLimits

ROOTS = (b"R", b"S")
PEERS = (*ROOTS, b"a", b"b", b"c", b"d")
END = 1000


def grant(issuer: bytes, subject: bytes, sequence: int = 1, until: int = END) -> TrustEdge:
    return TrustEdge(issuer, subject, sequence, until)


def revocation(issuer: bytes, subject: bytes, sequence: int = 2) -> TrustEdge:
    return TrustEdge(issuer, subject, sequence, 0)


def graph_of(*edges: TrustEdge, roots: tuple[bytes, ...] = ROOTS, now: float = 0.0) -> TrustGraph:
    graph = TrustGraph(roots)
    for edge in edges:
        graph.add(edge, now)
    return graph


edges = st.builds(
    TrustEdge,
    st.sampled_from(PEERS),
    st.sampled_from(PEERS),
    st.integers(1, 4),
    st.sampled_from((0, 0, 50, END)),
    st.sampled_from((b"x", b"y")),
).filter(lambda edge: edge.issuer != edge.subject)


def by_hand(known: list[TrustEdge], now: float) -> set[bytes]:
    """Who is trusted, worked out as the documentation says it, without any cleverness."""
    last: dict[tuple[bytes, bytes], TrustEdge] = {}
    for edge in known:
        pair = edge.issuer, edge.subject
        if pair not in last or last[pair].weight < edge.weight:
            last[pair] = edge
    banned = {
        edge.subject for edge in last.values() if edge.issuer in ROOTS and edge.until == 0
    } - set(ROOTS)
    trusted = set(ROOTS)
    while True:
        more = {
            edge.subject
            for edge in last.values()
            if edge.issuer in trusted and now < edge.until and edge.subject not in banned
        }
        if more <= trusted:
            return trusted
        trusted |= more


@settings(max_examples=300)
@given(st.lists(edges, max_size=25), st.randoms(use_true_random=False))
def test_two_nodes_with_the_same_edges_agree_in_whatever_order_they_came(
    known: list[TrustEdge], chance: random.Random
) -> None:
    shuffled = known * 2
    chance.shuffle(shuffled)
    one, other = graph_of(*known), graph_of(*shuffled)
    for now in (0.0, 49.0, 50.0, 999.0, 1000.0):
        assert set(one.trusted(now)) == set(other.trusted(now)) == by_hand(known, now)


@settings(max_examples=300)
@given(st.lists(edges, max_size=20), st.data())
def test_no_sequence_of_edges_lets_a_banned_peer_publish_after_its_revocation_has_arrived(
    later: list[TrustEdge], data: st.DataObject
) -> None:
    """Whatever else arrives, before or after: but a later word of the same root."""
    victim = data.draw(st.sampled_from((b"a", b"b", b"c", b"d")))
    ban = TrustEdge(b"R", victim, 4, 0, b"y")
    graph = graph_of(*data.draw(st.lists(edges, max_size=10)))
    graph.add(ban, 0.0)
    for edge in later:
        graph.add(edge, 0.0)
        assert not graph.trusts(victim, 0.0)


@settings(max_examples=200)
@given(st.lists(edges.filter(lambda edge: edge.issuer not in ROOTS), max_size=20))
def test_a_revoked_peer_is_out_unless_somebody_else_who_is_trusted_trusts_it(
    known: list[TrustEdge],
) -> None:
    graph = graph_of(grant(b"R", b"a"), *known)
    graph.add(revocation(b"R", b"a", sequence=5), 0.0)
    assert set(graph.trusted(0.0)) == set(ROOTS)


def test_a_chain_is_trusted_and_a_circle_without_a_root_is_not() -> None:
    graph = graph_of(grant(b"R", b"a"), grant(b"a", b"b"), grant(b"c", b"d"), grant(b"d", b"c"))
    assert set(graph.trusted(0.0)) == {b"R", b"S", b"a", b"b"}


def test_a_circle_does_not_outlive_the_edge_that_led_into_it() -> None:
    circle = (grant(b"a", b"b"), grant(b"b", b"c"), grant(b"c", b"a"))
    graph = graph_of(grant(b"R", b"a"), *circle)
    assert len(graph.trusted(0.0)) == 5
    graph.add(revocation(b"R", b"a"), 0.0)
    assert set(graph.trusted(0.0)) == set(ROOTS)


def test_whoever_was_trusted_by_a_revoked_peer_only_is_out_and_others_stay() -> None:
    graph = graph_of(
        grant(b"R", b"a"), grant(b"a", b"b"), grant(b"a", b"c"), grant(b"S", b"c"), roots=ROOTS
    )
    graph.add(revocation(b"R", b"a"), 0.0)
    assert set(graph.trusted(0.0)) == {b"R", b"S", b"c"}


def test_a_grant_that_is_played_back_after_its_revocation_changes_nothing() -> None:
    old = grant(b"R", b"a", sequence=1)
    graph = graph_of(old)
    graph.add(revocation(b"R", b"a", sequence=2), 0.0)
    assert graph.add(old, 0.0) == "older" and graph.outdated(old)
    assert not graph.trusts(b"a", 0.0)
    assert graph.add(grant(b"R", b"a", sequence=3), 0.0) == "new"
    assert graph.trusts(b"a", 0.0)


def test_a_revocation_that_comes_before_its_grant_counts_all_the_same() -> None:
    graph = graph_of(revocation(b"R", b"a", sequence=2), grant(b"R", b"a", sequence=1))
    assert not graph.trusts(b"a", 0.0)


def test_an_issuer_with_the_largest_number_can_still_revoke() -> None:
    most = (1 << 63) - 1
    graph = graph_of(grant(b"R", b"a", sequence=most), revocation(b"R", b"a", sequence=most))
    assert not graph.trusts(b"a", 0.0)


def test_a_root_cannot_be_revoked() -> None:
    graph = graph_of(revocation(b"R", b"S"))
    assert graph.trusts(b"S", 0.0)


def test_trust_ends_at_its_time_and_the_version_says_so() -> None:
    graph = graph_of(grant(b"R", b"a", until=50), grant(b"a", b"b", until=90))
    assert graph.trusts(b"b", 49.9) and graph.next_change() == 50
    version = graph.version
    assert not graph.trusts(b"a", 50.0) and not graph.trusts(b"b", 50.0)
    assert graph.version == version + 1


def test_a_clock_that_is_set_back_brings_back_what_had_not_ended_then() -> None:
    graph = graph_of(grant(b"R", b"a", until=50))
    assert not graph.trusts(b"a", 60.0) and graph.trusts(b"a", 40.0)


def test_a_flood_of_strangers_pushes_out_strangers_only() -> None:
    graph = TrustGraph(ROOTS, TrustLimits(unheard=10))
    graph.add(grant(b"R", b"a"), 0.0)
    for number in range(1000):
        assert graph.add(grant(b"stranger %d" % number, b"x"), 0.0) == "unheard"
    assert len(graph) == 11 and graph.pushed_out == 990
    assert set(graph.trusted(0.0)) == {b"R", b"S", b"a"}


def test_one_trusted_peer_cannot_fill_the_graph_and_its_revocations_find_room() -> None:
    graph = TrustGraph(ROOTS, TrustLimits(of_an_issuer=5))
    graph.add(grant(b"R", b"a"), 0.0)
    outcomes = [graph.add(grant(b"a", b"friend %d" % number), 0.0) for number in range(9)]
    assert outcomes == ["new"] * 5 + ["full"] * 4
    assert graph.add(revocation(b"a", b"friend 8"), 0.0) == "new"
    assert graph.add(grant(b"a", b"friend 8", sequence=1), 0.0) == "older"
    assert not graph.trusts(b"friend 8", 0.0)
    assert len(graph) == 6


def test_the_whole_graph_is_bounded() -> None:
    graph = TrustGraph(ROOTS, TrustLimits(edges=20, of_a_listed=100, trusted=8))
    for number in range(50):
        graph.add(grant(b"R", b"friend %02d" % number), 0.0)
    assert len(graph) == 20 and len(graph.trusted(0.0)) == 8
    assert graph.add(revocation(b"S", b"friend 00"), 0.0) == "new"
    assert len(graph) == 20 and graph.pushed_out == 31
    assert not graph.trusts(b"friend 00", 0.0)


def test_a_chain_has_a_longest_length() -> None:
    graph = TrustGraph((b"0",), TrustLimits(depth=3))
    for number in range(6):
        graph.add(grant(b"%d" % number, b"%d" % (number + 1)), 0.0)
    assert sorted(graph.trusted(0.0)) == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_contradictory_words_all_nodes_choose_the_same(order: int) -> None:
    words = [grant(b"R", b"a", sequence=3), revocation(b"R", b"a", sequence=3)][::order]
    assert not graph_of(*words).trusts(b"a", 0.0)
