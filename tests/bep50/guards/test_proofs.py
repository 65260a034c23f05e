"""Addresses that have proven themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.guards.proofs import ProvenAddresses

ANN, BOB, CID = "10.0.0.1:6881", "10.0.0.2:6881", "10.0.0.3:6881"


def test_a_proof_holds_for_its_time_and_can_be_renewed() -> None:
    proofs = ProvenAddresses(lifetime=10.0, most=100)
    assert not proofs.proven(ANN, 0.0)
    proofs.prove(ANN, 0.0)
    assert proofs.proven(ANN, 10.0)
    assert not proofs.proven(ANN, 10.1)
    proofs.prove(ANN, 10.1)
    assert proofs.proven(ANN, 20.0)


def test_another_port_is_another_address() -> None:
    proofs = ProvenAddresses(lifetime=10.0, most=100)
    proofs.prove(ANN, 0.0)
    assert not proofs.proven("10.0.0.1:6882", 0.0)


def test_past_the_bound_the_oldest_proof_goes() -> None:
    proofs = ProvenAddresses(lifetime=10.0, most=2)
    proofs.prove(ANN, 0.0)
    proofs.prove(BOB, 1.0)
    proofs.prove(ANN, 2.0)
    proofs.prove(CID, 3.0)
    assert [proofs.proven(peer, 3.0) for peer in (ANN, BOB, CID)] == [True, False, True]
    assert len(proofs) == 2


def test_a_proof_at_time_zero_counts_as_one_when_it_is_renewed() -> None:
    proofs = ProvenAddresses(lifetime=10.0, most=1)
    proofs.prove(ANN, 0.0)
    proofs.prove(ANN, 1.0)
    assert proofs.proven(ANN, 11.0)
    assert len(proofs) == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 5)), max_size=200), st.integers(1, 10))
def test_the_latest_are_known_and_never_more_than_the_bound(
    steps: list[tuple[int, float]], most: int
) -> None:
    proofs = ProvenAddresses(lifetime=10.0, most=most)
    now, latest = 0.0, dict[str, float]()
    for number, pause in steps:
        now += pause
        peer = f"10.0.0.{number}:1"
        proofs.prove(peer, now)
        latest.pop(peer, None)
        latest[peer] = now
        assert len(proofs) <= min(len(latest), most)
        for each, at in list(latest.items())[-most:]:
            assert proofs.proven(each, now) == (now - at <= 10.0)


def test_proofs_that_are_too_old_are_forgotten() -> None:
    proofs = ProvenAddresses(lifetime=600.0, most=1000)
    for number in range(100):
        proofs.prove(f"10.0.0.{number}:1", now=float(number))
    proofs.prove("10.0.1.1:1", now=2000.0)
    assert len(proofs) == 1
