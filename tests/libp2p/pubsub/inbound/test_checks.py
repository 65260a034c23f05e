"""Messages under check: each id once, copies behind it, and everything bounded."""

from __future__ import annotations

from rumormill.libp2p.pubsub.inbound.checks import PendingCheck, PendingChecks
from rumormill.libp2p.wire.message import WireMessage


def message(name: str, raw: bytes = b"the true bytes") -> WireMessage:
    made = WireMessage(raw)
    made.id = name.encode()
    made.topics = ("t",)
    return made


def begun(checks: PendingChecks, name: str, source: str = "ann") -> PendingCheck:
    assert checks.add_copy(message(name), source) == "new"
    return checks.begin(message(name), source)


def test_a_new_id_is_new_and_then_under_check() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    check = begun(checks, "a")
    assert b"a" in checks
    assert (check.source, list(check.holders)) == ("ann", ["ann"])


def test_the_same_bytes_again_only_add_a_holder() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    check = begun(checks, "a")
    assert checks.add_copy(message("a"), "bob") == "same"
    assert list(check.holders) == ["ann", "bob"]
    assert not check.copies


def test_other_bytes_of_the_same_id_wait() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    check = begun(checks, "a")
    assert checks.add_copy(message("a", b"other"), "bob") == "kept"
    assert list(check.holders) == ["ann"]
    assert [(peer, copy.raw) for peer, copy in check.copies or ()] == [("bob", b"other")]


def test_more_differing_copies_than_allowed_are_refused() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    begun(checks, "a")
    answers = [checks.add_copy(message("a", raw), raw.decode()) for raw in (b"1", b"2", b"3")]
    assert answers == ["kept", "kept", "refused"]


def test_one_peer_cannot_fill_the_places_for_copies_alone() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    begun(checks, "a", "liar")
    assert checks.add_copy(message("a", b"1"), "liar") == "refused"
    assert checks.add_copy(message("a", b"2"), "liar's friend") == "kept"
    assert checks.add_copy(message("a", b"3"), "liar's friend") == "refused"
    assert checks.add_copy(message("a", b"4"), "honest") == "kept"


def test_a_verdict_ends_the_check_and_frees_the_id() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    check = begun(checks, "a")
    assert checks.end(check.token) is check
    assert b"a" not in checks
    assert len(checks) == 0


def test_a_token_counts_once() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    check = begun(checks, "a")
    checks.end(check.token)
    assert checks.end(check.token) is None
    assert checks.end(999) is None


def test_tokens_are_never_used_twice() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=1000)
    first = begun(checks, "a")
    checks.end(first.token)
    assert begun(checks, "a").token != first.token


def test_after_a_forged_message_the_next_copy_is_tried_in_order() -> None:
    checks = PendingChecks(most=10, max_copies=3, most_bytes=1000)
    first = begun(checks, "a")
    checks.add_copy(message("a", b"1"), "bob")
    checks.add_copy(message("a", b"2"), "cyd")
    checks.end(first.token)
    second = checks.retry(first)
    assert second is not None
    assert (second.source, second.message.raw, list(second.holders)) == ("bob", b"1", ["bob"])
    checks.end(second.token)
    third = checks.retry(second)
    assert third is not None
    assert third.source == "cyd"
    checks.end(third.token)
    assert checks.retry(third) is None
    assert len(checks) == 0


def test_it_is_full_at_its_bound() -> None:
    checks = PendingChecks(most=2, max_copies=2, most_bytes=1000)
    begun(checks, "a")
    assert not checks.full
    begun(checks, "b")
    assert checks.full


def test_it_is_full_when_the_bytes_under_check_are_too_many() -> None:
    checks = PendingChecks(most=10, max_copies=2, most_bytes=100)
    checks.begin(message("a", bytes(60)), "ann")
    assert not checks.full
    checks.add_copy(message("a", b"x" * 60), "bob")
    assert checks.full


def test_every_byte_is_given_back_whatever_the_verdicts() -> None:
    checks = PendingChecks(most=10, max_copies=5, most_bytes=1000)
    check: PendingCheck | None = checks.begin(message("a", bytes(10)), "ann")
    for size in (20, 30, 40):
        checks.add_copy(message("a", bytes(size)), f"peer of {size}")
    held = []
    while check is not None:
        held.append(checks.bytes)
        checks.end(check.token)
        assert checks.bytes == 0
        check = checks.retry(check)
    assert held == [100, 90, 70, 40]
    assert checks.bytes == 0
