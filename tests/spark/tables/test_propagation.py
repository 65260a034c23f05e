"""First copies, hops, recoveries and copies too many, from rows that hold whole messages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rumormill.pipeline.tables.propagation import (
    ASKED,
    DELIVERED,
    PUBLISHED,
    REPEATED,
    spread,
)

NAMES = ("message", "kind", "node", "peer", "time", "value")
Row = tuple[int, int, int, int | None, int | None, int | None]


def spread_rows(*rows: Row, latest: int | None = None) -> dict[tuple[int, int], dict[str, Any]]:
    """What becomes of rows, by message and node."""
    columns = zip(*rows, strict=True)
    table = pa.table([pa.array(column, pa.int64()) for column in columns], names=list(NAMES))
    found = spread(table, latest).to_pylist()
    assert len({(row["message"], row["node"]) for row in found}) == len(found)
    return {(row.pop("message"), row.pop("node")): row for row in found}


A, B, C, D, E = 10, 20, 30, 40, 50


def test_hops_are_counted_along_the_chain_of_peers() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100, 7),
        (1, DELIVERED, A, None, 101, 7),  # the publisher's own
        (1, DELIVERED, D, C, 400, 7),
        (1, DELIVERED, C, B, 300, 7),
        (1, DELIVERED, B, A, 200, 7),
        (2, PUBLISHED, B, None, 100, 7),
        (2, DELIVERED, A, B, 150, 7),
    )
    assert {key: row["hop"] for key, row in found.items()} == {
        (1, B): 1,
        (1, C): 2,
        (1, D): 3,
        (2, A): 1,
    }
    assert found[1, C] == {
        "peer": B,
        "time": 300,
        "hop": 2,
        "first": True,
        "recovered": False,
        "duplicates": 0,
        "size": 7,
    }


def test_a_broken_chain_gives_no_hop() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100, 7),
        (1, DELIVERED, C, B, 300, 7),  # nobody knows how B got it
        (1, DELIVERED, D, C, 400, 7),
        (1, DELIVERED, E, None, 400, None),  # nor from whom E did
        (2, PUBLISHED, A, None, 100, 7),
        (2, DELIVERED, B, C, 300, 7),  # each from the other: clocks, or a lie
        (2, DELIVERED, C, B, 300, 7),
    )
    assert [row["hop"] for row in found.values()] == [None] * 5
    assert found[1, E]["peer"] is None and found[1, E]["size"] is None


def test_further_copies_are_counted_where_they_came() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100, 7),
        (1, DELIVERED, B, A, 200, 7),
        (1, DELIVERED, B, C, 900, 7),  # had forgotten it
        (1, REPEATED, B, None, None, 3),
        (1, REPEATED, A, None, None, 5),  # back to the publisher: no delivery
        (1, REPEATED, C, None, None, 2),  # never delivered there
    )
    assert found[1, B]["duplicates"] == 4 and found[1, B]["time"] == 200
    assert found[1, C] == {
        "peer": None,
        "time": None,
        "hop": None,
        "first": False,
        "recovered": False,
        "duplicates": 2,
        "size": None,
    }
    assert (1, A) not in found


def test_what_was_asked_for_and_brought_by_that_peer_is_recovered() -> None:
    found = spread_rows(
        (1, PUBLISHED, A, None, 100, 7),
        (1, DELIVERED, B, A, 500, 7),
        (1, ASKED, B, A, 400, None),
        (1, DELIVERED, C, A, 500, 7),
        (1, ASKED, C, B, 400, None),  # another one brought it
        (1, DELIVERED, D, A, 500, 7),
        (1, ASKED, D, A, 600, None),  # came before it was asked for
        (1, ASKED, E, A, 600, None),  # never came
    )
    assert {node for (_, node), row in found.items() if row["recovered"]} == {B}


def test_of_two_publications_the_first_counts() -> None:
    found = spread_rows(
        (1, PUBLISHED, B, None, 200, 7),
        (1, PUBLISHED, A, None, 100, 7),
        (1, DELIVERED, B, A, 150, 7),
        (1, DELIVERED, C, B, 250, 7),
    )
    assert {node: row["hop"] for (_, node), row in found.items()} == {B: 1, C: 2}


def test_messages_without_a_publication_are_left_to_others() -> None:
    assert spread_rows((1, DELIVERED, B, A, 150, 7), (1, REPEATED, B, None, None, 1)) == {}


def test_copies_later_than_the_margin_do_not_belong_to_the_publication() -> None:
    rows: tuple[Row, ...] = (
        (1, PUBLISHED, A, None, 100, 7),
        (1, DELIVERED, B, A, 200, 7),
        (1, DELIVERED, C, A, 201, 7),
    )
    assert set(spread_rows(*rows, latest=100)) == {(1, B)}
    assert set(spread_rows(*rows)) == {(1, B), (1, C)}


KEYS = st.integers(-(2**63), 2**63 - 1).filter(lambda key: key != -1)


@given(
    names=st.lists(KEYS, min_size=2, max_size=6, unique=True),
    messages=st.lists(KEYS, min_size=1, max_size=4, unique=True),
    data=st.data(),
)
def test_any_rows_give_what_a_plain_loop_gives(
    names: list[int], messages: list[int], data: st.DataObject
) -> None:
    events = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(messages),
                st.sampled_from([PUBLISHED, DELIVERED, ASKED, REPEATED]),
                st.sampled_from(names),
                st.sampled_from(names),
                st.integers(0, 20),
            ),
            unique_by=lambda event: event,
            max_size=30,
        )
    )
    rows: list[Row] = []
    repeated: set[tuple[int, int]] = set()
    for message, kind, node, peer, time in events:
        if kind == REPEATED:
            if (message, node) not in repeated:  # they come summed up
                repeated.add((message, node))
                rows.append((message, kind, node, None, None, time + 1))
        else:
            rows.append((message, kind, node, None if kind == PUBLISHED else peer, time, 9))
    if not rows:
        return
    found = spread_rows(*rows)
    simple = {
        key: (row["first"], row["time"], row["duplicates"], row["recovered"])
        for key, row in found.items()
    }
    assert simple == _plainly(rows, found)
    for (message, _), row in found.items():
        if row["hop"] is not None and row["hop"] > 1:
            assert found[message, row["peer"]]["hop"] == row["hop"] - 1


def _plainly(
    rows: list[Row], found: dict[tuple[int, int], dict[str, Any]]
) -> dict[tuple[int, int], tuple[bool, int | None, int, bool]]:
    """The same by a loop; only of equal times the peer is taken from what was found."""
    publisher: dict[int, tuple[int, int]] = {}
    for message, kind, node, _, time, _ in rows:
        if kind == PUBLISHED and time is not None:
            known = publisher.get(message)
            if known is None or time < known[0]:
                publisher[message] = (time, node)
    expected: dict[tuple[int, int], tuple[bool, int | None, int, bool]] = {}
    for message, node in {(row[0], row[2]) for row in rows}:
        if message not in publisher or publisher[message][1] == node:
            continue
        here = [row for row in rows if row[0] == message and row[2] == node]
        times = [row[4] for row in here if row[1] == DELIVERED and row[4] is not None]
        copies = sum(row[5] or 0 for row in here if row[1] == REPEATED)
        if times:
            peer = found[message, node]["peer"]
            asked = [row[4] for row in here if row[1] == ASKED and row[3] == peer]
            recovered = any(time is not None and time <= min(times) for time in asked)
            expected[message, node] = (True, min(times), copies + len(times) - 1, recovered)
        elif copies:
            expected[message, node] = (False, None, copies, False)
    return expected
