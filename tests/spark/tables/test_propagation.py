"""First copies, hops, recoveries and copies too many, from rows that hold whole messages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rumormill.pipeline.tables.propagation import (
    ASKED,
    COPY,
    DELIVERED,
    DUPLICATE,
    KINDS,
    PUBLISHED,
    WAY,
    spread,
)

TOPIC = 7
Row = tuple[int, int, int, int | None, int]
"""Message, kind, node, peer, time."""


def spread_rows(
    *rows: Row, latest: int | None = None, topics: dict[int, int] | None = None
) -> dict[tuple[int, int], dict[str, Any]]:
    """What becomes of rows, by message and node."""
    columns: dict[str, list[Any]] = {
        "id": [row[0] for row in rows],
        "topic": [(topics or {}).get(place, TOPIC) for place in range(len(rows))],
        "node_key": [row[2] for row in rows],
        "peer_key": [row[3] for row in rows],
        "stamp": [row[4] * KINDS + row[1] for row in rows],
    }
    types = {"topic": pa.int32()}
    table = pa.table(
        {name: pa.array(column, types.get(name, pa.int64())) for name, column in columns.items()}
    )
    found = [row for row in spread(table, latest).to_pylist() if row["kind"] == COPY]
    assert len({(row["id"], row["topic"], row["node_key"], row["known"]) for row in found}) == len(
        found
    )
    return {(row["id"], row["node_key"]): row for row in found}


A, B, C, D, E = 10, 20, 30, 40, 50


def test_hops_are_counted_along_the_chain_of_peers() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100),
        (1, DELIVERED, A, None, 101),  # the publisher's own
        (1, DELIVERED, D, C, 400),
        (1, DELIVERED, C, B, 300),
        (1, DELIVERED, B, A, 200),
        (2, PUBLISHED, B, None, 100),
        (2, DELIVERED, A, B, 150),
    )
    assert {key: row["hop"] for key, row in found.items()} == {
        (1, B): 1,
        (1, C): 2,
        (1, D): 3,
        (2, A): 1,
    }
    assert found[1, C] == {
        "kind": COPY,
        "id": 1,
        "topic": TOPIC,
        "known": True,
        "node_key": C,
        "peer_key": B,
        "time": 300,
        "hop": 2,
        "first": True,
        "recovered": False,
        "duplicates": 0,
    }


def test_a_broken_chain_gives_no_hop() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100),
        (1, DELIVERED, C, B, 300),  # nobody knows how B got it
        (1, DELIVERED, D, C, 400),
        (1, DELIVERED, E, None, 400),  # nor from whom E did
        (2, PUBLISHED, A, None, 100),
        (2, DELIVERED, B, C, 300),  # each from the other: clocks, or a lie
        (2, DELIVERED, C, B, 300),
    )
    assert [row["hop"] for row in found.values()] == [None] * 5
    assert found[1, E]["peer_key"] is None


def test_further_copies_are_counted_where_they_came() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100),
        (1, DUPLICATE, B, C, 150),  # before the first one had been checked
        (1, DELIVERED, B, A, 200),
        (1, DELIVERED, B, C, 900),  # had forgotten it
        (1, DUPLICATE, A, B, 300),  # back to the publisher: no delivery
        (1, DUPLICATE, C, B, 500),  # never delivered there
        (1, DUPLICATE, C, A, 400),
    )
    assert (found[1, B]["duplicates"], found[1, B]["time"], found[1, B]["peer_key"]) == (2, 200, A)
    never = found[1, C]
    assert (never["first"], never["duplicates"], never["time"]) == (False, 2, 400)
    assert never["peer_key"] is None and never["hop"] is None
    assert (1, A) not in found


def test_what_was_asked_for_and_brought_by_that_peer_is_recovered() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100),
        (1, DELIVERED, B, A, 500),
        (1, ASKED, B, A, 400),
        (1, DELIVERED, C, A, 500),
        (1, ASKED, C, B, 400),  # another one brought it
        (1, DELIVERED, D, A, 500),
        (1, ASKED, D, A, 600),  # came before it was asked for
        (1, ASKED, E, A, 600),  # never came
        topics={2: 0, 4: 0, 6: 0, 7: 0},  # who asks names no topic
    )
    assert {node for (_, node), row in found.items() if row["recovered"]} == {B}


def test_an_id_on_two_topics_is_two_messages() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100),
        (1, PUBLISHED, B, None, 100),
        (1, DELIVERED, B, A, 200),
        (1, DELIVERED, A, B, 200),
        topics={1: 8, 3: 8},
    )
    assert {node: (row["topic"], row["hop"]) for (_, node), row in found.items()} == {
        B: (TOPIC, 1),
        A: (8, 1),
    }


def test_of_two_publications_the_first_counts() -> None:
    found = spread_rows(
        (1, PUBLISHED, B, None, 200),
        (1, PUBLISHED, A, None, 100),
        (1, DELIVERED, B, A, 150),
        (1, DELIVERED, C, B, 250),
    )
    assert {node: row["hop"] for (_, node), row in found.items()} == {B: 1, C: 2}


def test_without_a_publication_there_are_first_copies_but_no_hops() -> None:
    found = spread_rows(
        (1, DELIVERED, B, A, 150),
        (1, DUPLICATE, B, C, 160),
        (1, DELIVERED, C, None, 150),  # from nobody, or from itself: its own
        (1, DELIVERED, D, D, 150),
    )
    assert {key: (row["known"], row["hop"], row["duplicates"]) for key, row in found.items()} == {
        (1, B): (False, None, 1)
    }


def test_copies_beyond_the_margin_do_not_belong_to_the_publication() -> None:
    rows: tuple[Row, ...] = (
        (1, PUBLISHED, A, None, 1000),
        (1, DELIVERED, B, A, 1100),
        (1, DELIVERED, C, A, 1101),
        (1, DELIVERED, D, A, 900),
        (1, DELIVERED, E, A, 899),
    )
    found = spread_rows(*rows, latest=100)
    assert {node: row["known"] for (_, node), row in found.items()} == {
        B: True,
        C: False,
        D: True,
        E: False,
    }
    assert all(row["known"] for row in spread_rows(*rows).values())


def test_the_shortest_ways_are_from_having_a_message_to_receiving_it() -> None:
    rows = [
        (1, 7, A, None, 100 * KINDS + PUBLISHED),
        (1, 7, B, A, 130 * KINDS + DELIVERED),
        (1, 7, C, B, 150 * KINDS + DELIVERED),
        (1, 7, B, C, 155 * KINDS + DUPLICATE),
        (1, 7, D, E, 155 * KINDS + DUPLICATE),  # nobody knows when E had it
        (2, 7, B, None, 200 * KINDS + PUBLISHED),
        (2, 7, C, B, 215 * KINDS + DELIVERED),
    ]
    names = ("id", "topic", "node_key", "peer_key", "stamp")
    columns = zip(*rows, strict=True)
    table = pa.table(
        {
            name: pa.array(column, pa.int32() if name == "topic" else pa.int64())
            for name, column in zip(names, columns, strict=True)
        }
    )
    found = [row for row in spread(table).to_pylist() if row["kind"] == WAY]
    assert {(row["peer_key"], row["node_key"]): row["time"] for row in found} == {
        (A, B): 30,
        (B, C): 15,
        (C, B): 5,
    }


KEYS = st.integers(-(2**63), 2**63 - 1)


@given(
    names=st.lists(KEYS, min_size=2, max_size=6, unique=True),
    messages=st.lists(KEYS, min_size=1, max_size=4, unique=True),
    data=st.data(),
)
def test_any_rows_give_what_a_plain_loop_gives(
    names: list[int], messages: list[int], data: st.DataObject
) -> None:
    rows: list[Row] = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(messages),
                st.sampled_from([PUBLISHED, DELIVERED, ASKED, DUPLICATE]),
                st.sampled_from(names),
                st.sampled_from(names),
                st.integers(0, 20),
            ),
            min_size=1,
            max_size=30,
        )
    )
    found = spread_rows(*rows)
    simple = {
        key: (row["first"], row["time"], row["duplicates"], row["recovered"])
        for key, row in found.items()
    }
    assert simple == _plainly(rows, found)
    for (message, _), row in found.items():
        if row["hop"] is not None and row["hop"] > 1:
            assert found[message, row["peer_key"]]["hop"] == row["hop"] - 1


def _plainly(
    rows: list[Row], found: dict[tuple[int, int], dict[str, Any]]
) -> dict[tuple[int, int], tuple[bool, int, int, bool]]:
    """The same by a loop; only of equal times, who was first is taken from what was found."""
    sent: dict[int, int] = {}
    for message, kind, _, _, time in rows:
        if kind == PUBLISHED:
            sent[message] = min(time, sent.get(message, time))
    expected: dict[tuple[int, int], tuple[bool, int, int, bool]] = {}
    for message, node in {(row[0], row[2]) for row in rows}:
        here = [row for row in rows if (row[0], row[2]) == (message, node)]
        publishers = {
            row[2] for row in rows if row[:2] == (message, PUBLISHED) and row[4] == sent[message]
        }
        if node in publishers and (len(publishers) == 1 or (message, node) not in found):
            continue
        copies = [row for row in here if row[1] in (DELIVERED, DUPLICATE)]
        if message not in sent:
            copies = [row for row in copies if row[3] != node]
        times = [row[4] for row in copies if row[1] == DELIVERED]
        if times:
            peer = found[message, node]["peer_key"]
            asked = [row[4] for row in here if row[1] == ASKED and row[3] == peer]
            recovered = any(time <= min(times) for time in asked)
            expected[message, node] = (True, min(times), len(copies) - 1, recovered)
        elif copies:
            expected[message, node] = (False, min(row[4] for row in copies), len(copies), False)
    return expected
