"""The routing table of a topic's overlay."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumormill.bep50.overlay.members.routing_table import MOST_CANDIDATES, Entry, RoutingTable
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.addresses import NodeInfo

OWN = bytes(20)


def node_id(bits: str, tail: int = 0) -> bytes:
    """An id that begins with these bits and ends with ``tail``, 32 bits; ours is all zeros."""
    filling = f"{Random(tail).getrandbits(128):0128b}"
    return int((bits + filling)[:128] + f"{tail:032b}", 2).to_bytes(20, "big")


def address(number: int) -> str:
    """A machine of its own for each number."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:6881"


def table_of(seed: int = 1, **parameters: Any) -> RoutingTable:
    return RoutingTable(OWN, OverlayParameters(**parameters), Random(seed))


def fill(table: RoutingTable, bits: str, count: int, start: int = 1) -> list[Entry | None]:
    """Hear of so many nodes whose ids begin with these bits."""
    numbers = range(start, start + count)
    return [table.heard(node_id(bits, each), address(each), 0.0) for each in numbers]


def tails(table: RoutingTable, bits: str) -> list[int]:
    """The nodes of the table whose ids begin with these bits, by their tails."""
    low = 1 << 32
    found = [entry.number % low for entry in table.entries if shared(entry.id, bits)]
    return sorted(found)


def shared(id: bytes, bits: str) -> bool:
    return f"{int.from_bytes(id, 'big'):0160b}".startswith(bits)


def settle(table: RoutingTable) -> None:
    table.take_changes()
    table.candidates_to_verify()


# ---- who has a place


def test_up_to_eight_others_are_one_bucket_whatever_their_ids() -> None:
    table = table_of()
    fill(table, "1", 8)
    assert len(table) == 8
    assert table.sizes()["buckets"] == 1


def test_the_ninth_splits_home_and_the_sibling_has_room_for_eight_too() -> None:
    table = table_of()
    fill(table, "1", 8)
    assert fill(table, "0", 8, start=100) == table.entries[8:]
    assert table.sizes()["buckets"] == 2
    assert len(table) == 16


def test_the_sibling_of_home_takes_eight_one_after_the_other() -> None:
    table = table_of()
    fill(table, "0", 8)
    fill(table, "1", 9, start=100)
    assert table.sizes()["buckets"] == 2
    assert [len(tails(table, bits)) for bits in ("0", "1")] == [8, 8]


def test_a_far_bucket_has_one_place() -> None:
    table = table_of()
    fill(table, "01", 5, start=100)
    fill(table, "00", 8, start=200)
    fill(table, "1", 20)
    assert table.sizes()["buckets"] == 3
    assert [len(tails(table, bits)) for bits in ("1", "01", "00")] == [1, 5, 8]


def test_when_home_splits_the_old_sibling_shrinks_to_one_and_the_others_become_spares() -> None:
    table = table_of()
    fill(table, "1", 8)
    fill(table, "01", 2, start=100)
    fill(table, "00", 6, start=200)
    assert len(tails(table, "1")) == 8
    settle(table)
    fill(table, "00", 1, start=300)
    left = [change.entry for change in table.take_changes() if not change.joined]
    assert len(left) == 7
    assert table.sizes()["spares"] == 4  # the cache of that bucket, full
    spares = [spare.peer for spare in table.dump()[len(table) :]]
    assert set(spares) <= {entry.peer for entry in left}


def test_nine_with_one_long_prefix_split_until_they_are_apart() -> None:
    table = table_of()
    fill(table, "0" * 40 + "1", 8)
    fill(table, "0" * 41, 1, start=100)
    assert len(table) == 9


def test_ids_that_share_all_but_the_last_bits_end_the_splitting() -> None:
    table = table_of()
    ids = [each.to_bytes(20, "big") for each in range(1, 64)]
    for number, each in enumerate(ids):
        table.heard(each, address(number), 0.0)
    assert len(table) <= 160 + 16
    assert table.sizes()["buckets"] <= 160


def test_our_own_id_is_never_an_entry() -> None:
    table = table_of()
    assert table.heard(OWN, address(1), 0.0) is None
    assert not table.wants(OWN, address(1))


def test_an_answer_renews_the_entry() -> None:
    table = table_of()
    entry = table.heard(node_id("1"), address(1), 0.0)
    assert entry is not None
    assert not table.failed(address(1), 1.0)
    assert table.heard(node_id("1"), address(1), 5.0) is entry
    assert (entry.failures, entry.answered_at, entry.since) == (0, 5.0, 0.0)


# ---- the draw for a place


def far_bucket_holder(table: RoutingTable, contacts: list[int]) -> int:
    """Who holds the one place of the bucket 1 after these contacts."""
    fill(table, "01", 1, start=1000)
    fill(table, "00", 8, start=2000)
    fill(table, "00", 1, start=3000)
    for number in contacts:
        table.heard(node_id("1", number), address(number), 0.0)
    (holder,) = tails(table, "1")
    return holder


def test_every_contact_has_an_equal_chance_for_the_place_of_a_far_bucket() -> None:
    rounds, contacts = 2000, list(range(1, 11))
    counts = dict.fromkeys(contacts, 0)
    for seed in range(rounds):
        counts[far_bucket_holder(table_of(seed), contacts)] += 1
    # 200 each are expected, with a deviation of 13: six of them either way.
    assert all(120 < count < 280 for count in counts.values()), counts


def test_who_comes_again_and_again_draws_only_once() -> None:
    rounds = 500
    pushy = sum(
        far_bucket_holder(table_of(seed), [*range(2, 11), *[1] * 20]) == 1 for seed in range(rounds)
    )
    assert pushy < rounds * 0.2  # a tenth is fair


def test_many_ports_of_one_machine_have_no_more_chances_than_one() -> None:
    won, rounds = 0, 300
    for seed in range(rounds):
        table = table_of(seed)
        holder = far_bucket_holder(table, list(range(1, 10)))
        for port in range(1000, 1090):
            table.heard(node_id("1", 500 + port), f"192.0.2.1:{port}", 0.0)
        (now,) = tails(table, "1")
        won += now != holder
    assert won < rounds * 0.2  # a tenth is fair; ninety lots would win nine of ten


def test_with_oldest_the_first_keeps_its_place_and_newcomers_are_spares() -> None:
    table = table_of(replacement="oldest")
    assert far_bucket_holder(table, list(range(1, 11))) == 1
    assert not table.wants(node_id("1", 99), address(99))
    table.remove(address(1), 0.0)
    (candidate,) = table.candidates_to_verify()
    assert candidate == NodeInfo(node_id("1", 10), address(10))  # the latest: most likely alive


def test_with_oldest_the_shrink_keeps_the_oldest() -> None:
    table = table_of(replacement="oldest")
    for number in range(1, 9):
        table.heard(node_id("1", number), address(number), float(10 - number))
    fill(table, "01", 1, start=1000)
    fill(table, "00", 9, start=2000)
    assert tails(table, "1") == [8]


def test_a_node_that_would_lose_the_draw_is_not_worth_a_query() -> None:
    table = table_of()
    far_bucket_holder(table, [1])
    for number in range(2, 30):
        wanted = table.wants(node_id("1", number), address(number))
        taken = table.heard(node_id("1", number), address(number), 0.0) is not None
        assert wanted == taken


def test_a_node_near_us_is_always_worth_a_query() -> None:
    table = table_of()
    fill(table, "0", 8)
    assert table.wants(node_id("0", 99), address(99))
    assert not table.wants(node_id("0", 1), address(99))  # its id is there
    assert not table.wants(node_id("0", 99), address(1))  # its address is there


# ---- leaving


def test_an_entry_leaves_after_so_many_failures_in_a_row() -> None:
    table = table_of(most_failures=3)
    fill(table, "1", 1)
    settle(table)
    assert [table.failed(address(1), 0.0) for _ in range(3)] == [False, False, True]
    assert table.entry(address(1)) is None
    assert [change.joined for change in table.take_changes()] == [False]


def test_an_answer_between_them_makes_failures_forgotten() -> None:
    table = table_of(most_failures=2)
    fill(table, "1", 1)
    for _ in range(5):
        assert not table.failed(address(1), 0.0)
        fill(table, "1", 1)


def test_a_spare_is_named_for_the_place_and_has_it_once_it_answers() -> None:
    table = table_of(most_failures=1)
    holder = far_bucket_holder(table, [1, 2])
    spare = 3 - holder
    settle(table)
    assert table.failed(address(holder), 1.0)
    assert table.candidates_to_verify() == [NodeInfo(node_id("1", spare), address(spare))]
    assert table.candidates_to_verify() == []
    assert tails(table, "1") == []
    assert table.heard(node_id("1", spare), address(spare), 2.0) is not None
    assert table.sizes()["spares"] == 0


def test_if_the_spare_is_silent_too_the_next_is_named() -> None:
    table = table_of(most_failures=1)
    holder = far_bucket_holder(table, [1, 2, 3])
    settle(table)
    table.failed(address(holder), 1.0)
    named = []
    while found := table.candidates_to_verify():
        named += [each.peer for each in found]
        table.failed(named[-1], 2.0)
    assert sorted(named) == sorted(address(each) for each in (1, 2, 3) if each != holder)
    assert table.sizes()["spares"] == 0


def test_a_stranger_that_fails_changes_nothing() -> None:
    table = table_of()
    fill(table, "1", 3)
    version = table.version
    assert not table.failed(address(99), 0.0)
    assert table.remove(address(99), 0.0) is None
    assert table.version == version


# ---- one entry for an address, one for an id


def test_an_id_at_another_address_is_refused_while_the_old_one_answers() -> None:
    table = table_of()
    fill(table, "1", 1)
    settle(table)
    assert table.heard(node_id("1", 1), address(2), 1.0) is None
    assert table.entry(address(2)) is None
    # Whether it still answers is to be found out.
    assert table.candidates_to_verify() == [NodeInfo(node_id("1", 1), address(1))]


def test_an_id_moves_to_another_address_when_the_old_one_is_silent() -> None:
    table = table_of(most_failures=2)
    fill(table, "1", 1)
    table.failed(address(1), 1.0)
    moved = table.heard(node_id("1", 1), address(2), 2.0)
    assert moved is not None
    assert table.entries == [moved]
    assert table.by_id(node_id("1", 1)) is moved
    assert table.entry(address(1)) is None


def test_an_address_with_another_id_gets_the_place_only_if_that_lasts() -> None:
    table = table_of(most_failures=2)
    fill(table, "1", 1)
    assert table.heard(node_id("1", 7), address(1), 1.0) is None
    assert table.by_id(node_id("1", 1)) is not None
    entry = table.heard(node_id("1", 7), address(1), 2.0)
    assert entry is not None
    assert table.entries == [entry]
    assert table.by_id(node_id("1", 1)) is None


def test_one_ip_has_at_most_so_many_entries() -> None:
    table = table_of(most_per_ip=2)
    entries = [table.heard(node_id("1", port), f"10.0.0.1:{port}", 0.0) for port in (1, 2, 3)]
    assert [entry is not None for entry in entries] == [True, True, False]
    assert not table.wants(node_id("1", 4), "10.0.0.1:4")
    assert table.heard(node_id("1", 5), "10.0.0.2:5", 0.0) is not None
    table.remove("10.0.0.1:1", 0.0)
    assert table.heard(node_id("1", 3), "10.0.0.1:3", 0.0) is not None


# ---- what it tells


def test_changes_are_told_once_and_in_order() -> None:
    table = table_of()
    fill(table, "1", 2)
    table.remove(address(1), 0.0)
    changes = [(change.entry.peer, change.joined) for change in table.take_changes()]
    assert changes == [(address(1), True), (address(2), True), (address(1), False)]
    assert table.take_changes() == []


def test_the_list_of_entries_can_be_walked_while_the_table_changes() -> None:
    table = table_of()
    fill(table, "1", 5)
    walked = []
    for entry in table.entries:
        walked.append(entry.peer)
        table.remove(entry.peer, 0.0)
    assert walked == [address(each) for each in range(1, 6)]
    assert table.entries == []
    empty = table.entries
    fill(table, "1", 1)
    assert empty == []


def test_a_bucket_without_a_new_node_is_to_be_refreshed_once_an_interval() -> None:
    table = table_of(refresh_interval=900.0)
    fill(table, "1", 8)
    table.heard(node_id("0", 1), address(100), 500.0)
    assert table.next_refresh() == 900.0
    assert table.buckets_to_refresh(899.0) == []
    assert table.buckets_to_refresh(900.0) == [0]
    assert table.buckets_to_refresh(901.0) == []
    assert table.next_refresh() == 1400.0
    table.heard(node_id("0", 1), address(100), 1300.0)  # an old acquaintance is no news
    assert table.buckets_to_refresh(1400.0) == [1]
    table.heard(node_id("0", 2), address(101), 2000.0)
    assert table.buckets_to_refresh(2300.0) == [0]


def test_what_was_dumped_comes_back_as_candidates_and_has_to_answer() -> None:
    table = table_of()
    far_bucket_holder(table, [1, 2])
    again = table_of()
    again.load(table.dump())
    assert len(again) == 0
    assert again.candidates_to_verify() == table.dump()


def test_a_dump_of_any_length_gives_so_many_candidates_at_most() -> None:
    table = table_of()
    table.load(NodeInfo(node_id("1", each), address(each)) for each in range(10_000))
    assert len(table.candidates_to_verify()) == MOST_CANDIDATES


def test_two_tables_with_one_seed_are_the_same() -> None:
    dumps = []
    for _ in range(2):
        table, chance = table_of(seed=7), Random(3)
        for number in range(300):
            table.heard(chance.randbytes(20), address(number), float(number))
        dumps.append(table.dump())
    assert dumps[0] == dumps[1]


@given(st.randoms(use_true_random=False), st.binary(min_size=20, max_size=20), st.integers(0, 30))
def test_closest_are_those_that_sorting_all_by_distance_gives(
    random: Random, target: bytes, count: int
) -> None:
    table = RoutingTable(random.randbytes(20), OverlayParameters(), random)
    for number in range(random.randrange(60)):
        table.heard(random.randbytes(20), address(number), 0.0)

    def distance(entry: Entry) -> list[int]:
        return [a ^ b for a, b in zip(entry.id, target, strict=True)]

    assert table.closest(target, count) == sorted(table.entries, key=distance)[:count]


@pytest.mark.parametrize("nodes", [100, 1000])
def test_the_table_grows_with_the_logarithm_of_the_network(nodes: int) -> None:
    random = Random(5)
    table = RoutingTable(random.randbytes(20), OverlayParameters(), random)
    for number in range(nodes):
        table.heard(random.randbytes(20), address(number), 0.0)
    assert nodes.bit_length() <= len(table) <= nodes.bit_length() + 16


class AnyTable(RuleBasedStateMachine):
    """Whatever happens, the books agree and the bounds hold."""

    # A short id space below a few prefixes: buckets fill, ids and addresses meet again.
    ids = st.builds(
        node_id, st.sampled_from(["1", "01", "001", "0001", "00001", "0" * 30]), st.integers(0, 9)
    )
    peers = st.builds(address, st.integers(0, 40))

    def __init__(self) -> None:
        super().__init__()
        self.parameters = OverlayParameters(home_capacity=3, replacement_cache=2, most_per_ip=2)
        self.table = RoutingTable(OWN, self.parameters, Random(1))
        self.now = 0.0
        self.members: set[str] = set()

    @rule(id=ids, peer=peers)
    def hear(self, id: bytes, peer: str) -> None:
        self.now += 1.0
        entry = self.table.heard(id, peer, self.now)
        assert entry is None or (entry.id, entry.peer) == (id, peer)
        assert entry is self.table.entry(peer) or entry is None
        if entry is not None:
            assert self.table.by_id(id) is entry

    @rule(peer=peers)
    def fail(self, peer: str) -> None:
        was_there = self.table.entry(peer) is not None
        gone = self.table.failed(peer, self.now)
        assert gone == (was_there and self.table.entry(peer) is None)

    @precondition(lambda self: self.table.entries)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.table.entries))
        assert self.table.remove(entry.peer, self.now) is entry

    @invariant()
    def changes_lead_to_the_entries(self) -> None:
        for change in self.table.take_changes():
            if change.joined:
                assert change.entry.peer not in self.members
                self.members.add(change.entry.peer)
            else:
                self.members.remove(change.entry.peer)
        assert self.members == {entry.peer for entry in self.table.entries}

    @invariant()
    def no_address_and_no_id_is_there_twice(self) -> None:
        entries = self.table.entries
        assert len({entry.peer for entry in entries}) == len(entries) == len(self.table)
        assert len({entry.id for entry in entries}) == len(entries)

    @invariant()
    def no_bucket_holds_too_much(self) -> None:
        buckets = self.table.sizes()["buckets"]
        counts = [0] * buckets
        for entry in self.table.entries:
            shared_bits = 160 - entry.number.bit_length()
            counts[min(shared_bits, buckets - 1)] += 1
        assert all(count <= 1 for count in counts[:-2]), counts
        assert all(count <= 3 for count in counts[-2:]), counts
        assert self.table.sizes()["spares"] <= 2 * buckets


TestAnyTable = AnyTable.TestCase


@given(st.floats(0, 2e9), st.floats(0.1, 2000.0))
def test_a_bucket_is_refreshed_at_the_very_time_that_was_told(now: float, interval: float) -> None:
    table = RoutingTable(OWN, OverlayParameters(refresh_interval=interval), Random(1), now)
    due = table.next_refresh()
    assert table.buckets_to_refresh(due) == [0]
    assert table.next_refresh() > due


def test_when_a_network_has_become_small_its_nodes_find_room_again() -> None:
    table = table_of()
    for depth in range(6):
        fill(table, "0" * depth + "1", 12, start=1 + 100 * depth)
    assert table.sizes()["buckets"] > 4
    for entry in table.entries:
        if entry.number.bit_length() < 160:  # all but the far half
            table.remove(entry.peer, 10.0)
    assert table.sizes()["buckets"] <= 2
    fill(table, "1", 20, start=1000)
    assert len(table) == 8, "the sibling of home has room for eight"


def test_after_a_merge_the_new_sibling_is_looked_through_at_once() -> None:
    table = table_of(refresh_interval=900.0)
    for depth in range(6):
        fill(table, "0" * depth + "1", 12, start=1 + 100 * depth)
    table.buckets_to_refresh(5000.0)
    before = table.sizes()["buckets"]
    for entry in [each for each in table.entries if each.number.bit_length() < 157]:
        table.remove(entry.peer, 5000.0)
    assert table.sizes()["buckets"] < before
    assert table.buckets_to_refresh(5000.1)
