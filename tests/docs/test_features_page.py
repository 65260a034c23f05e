"""docs/features.md says of nothing that we have it without a test that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.pubsub import PubsubParameters
from tests.helpers.named_tests import missing, named_tests, rows
from tests.helpers.places import DOCS, TESTS

PAGE = (DOCS / "features.md").read_text()
OURS, SHOWN_BY = -2, -1
COLUMNS = ["go", "rust", "js", "nim", "py", "rumormill", "shown by"]
ABSENT = "\N{EN DASH}"
ROWS = [row for row in rows(PAGE) if len(row) == len(COLUMNS) + 1]


def test_every_table_has_a_column_for_each_implementation() -> None:
    heads = re.findall(r"^\| (?:feature|part) \|(.*)\|$", PAGE, re.MULTILINE)
    assert len(heads) == 7
    for head in heads:
        assert [cell.strip() for cell in head.split("|")] == COLUMNS
    assert len(ROWS) == len(rows(PAGE)) - 5, "all but those that say what was read"


def test_every_test_that_the_page_names_exists() -> None:
    assert missing(named_tests(row[SHOWN_BY] for row in ROWS)) == []


def test_what_we_have_is_shown_by_a_test() -> None:
    for row in ROWS:
        assert all(row[:SHOWN_BY]), row
        if not row[OURS].startswith(ABSENT):
            assert named_tests([row[SHOWN_BY]]), row


def test_our_numbers_are_those_of_the_code() -> None:
    router, pubsub = GossipsubParameters(), PubsubParameters()
    kib, mib = 1024, 1024 * 1024
    begins = {
        "D, D_low, D_high by default": f"{router.D}, {router.D_low}, {router.D_high}",
        "D_score, D_out, D_lazy by default": f"{router.D_score}, {router.D_out}, {router.D_lazy}",
        "first heartbeat, and between two": (
            f"{router.heartbeat_delay:g} s, {router.heartbeat_interval:g} s"
        ),
        "ids that were seen": f"{pubsub.seen_ttl:g} s from the {pubsub.seen_from} sight",
        "the same message on IWANT": f"{router.max_iwant_sends} times",
        "IHAVE in a heartbeat, ids asked for": (
            f"{router.max_ihave_messages}, {router.max_ihave_ids}"
        ),
        "IDONTWANT: from which size, for how long, how many": (
            f"{router.dont_want_size // kib} KiB, {router.dont_want_heartbeats} heartbeats,"
            f" {router.max_dont_want_ids} a peer and heartbeat"
        ),
        "direct peers, dialed again": f"Y every {router.direct_connect_ticks} heartbeats",
        "backoff after PRUNE, after leaving, and slack": (
            f"Y {router.prune_backoff:g} s, {router.unsubscribe_backoff:g} s"
        ),
        "peer exchange of up to 16 peers": "Y",
        "largest RPC by default": f"{pubsub.max_rpc_size // mib} MiB",
        "subscriptions of a peer by default": f"{pubsub.max_topics_per_peer}, and in one RPC",
        "queue of a peer": f"{pubsub.queue_messages} messages and {pubsub.queue_bytes // mib} MiB",
        "what waits too long is dropped": (
            f"Y own {pubsub.publish_queue_seconds:g} s, others' {pubsub.forward_queue_seconds:g} s"
        ),
    }
    said = {row[0]: row[OURS] for row in ROWS}
    for feature, text in begins.items():
        assert said[feature].startswith(text), feature
    assert router.prune_peers == 16
    assert (router.mcache_len, router.mcache_gossip) == (5, 3)
    off = [router.flood_publish, router.dont_want_own, router.peer_exchange, router.test_extension]
    for feature, value in zip(
        ("flood publishing", "IDONTWANT of our own messages", "peer exchange of up to 16 peers",
         "the test extension"),
        off, strict=True,
    ):  # fmt: skip
        assert said[feature].endswith("off by default") is not value


def test_there_are_as_many_tests_as_the_page_says() -> None:
    (told,) = re.findall(r"more than (\d+) of this family", PAGE)
    functions = sum(
        len(re.findall(r"^(?:async )?def test_", file.read_text(), re.MULTILINE))
        for file in files_of_the_family()
    )
    assert functions > int(told)


def files_of_the_family() -> Iterator[Path]:
    yield from (TESTS / "libp2p").rglob("test_*.py")
    yield from (TESTS / "conformance").glob("test_*.py")
    yield from (TESTS / "attacks").glob("test_*.py")
