"""Node ids: distances, ids for a bucket, and the ids that BEP 42 allows to an address."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.wire.node_ids import (
    distance,
    is_valid_id,
    make_id,
    random_id_with_prefix,
    shared_prefix,
)

IDS = st.binary(min_size=20, max_size=20)

# The table of BEP 42; the last byte is the random number.
VECTORS = [
    ("124.31.75.21", "5fbfbff10c5d6a4ec8a88e4c6ab4c28b95eee401"),
    ("21.75.31.124", "5a3ce9c14e7a08645677bbd1cfe7d8f956d53256"),
    ("65.23.51.170", "a5d43220bc8f112a3d426c84764f8c2a1150e616"),
    ("84.124.73.14", "1b0321dd1bb1fe518101ceef99462b947a01ff41"),
    ("43.213.53.83", "e56f6cbf5b7c4be0237986d5243b87aa6d51305a"),
]


def bits(id: bytes) -> str:
    return f"{int.from_bytes(id, 'big'):0160b}"


@given(IDS, IDS)
def test_the_shared_prefix_is_what_the_bits_have_in_common(one: bytes, other: bytes) -> None:
    common = shared_prefix(one, other)
    assert bits(one)[:common] == bits(other)[:common]
    assert common == 160 or bits(one)[common] != bits(other)[common]
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) == (one == other)


@given(IDS, st.integers(0, 159), st.integers())
def test_a_random_id_of_a_bucket_shares_exactly_its_prefix(
    own_id: bytes, count: int, seed: int
) -> None:
    found = random_id_with_prefix(own_id, count, Random(seed))
    assert len(found) == 20
    assert shared_prefix(own_id, found) == count


def test_random_ids_of_a_bucket_differ() -> None:
    random = Random(1)
    assert len({random_id_with_prefix(bytes(20), 3, random) for _ in range(100)}) == 100


@pytest.mark.parametrize(("ip", "id"), VECTORS)
def test_the_ids_of_bep_42_are_valid_at_their_addresses_only(ip: str, id: str) -> None:
    assert is_valid_id(bytes.fromhex(id), ip)
    assert not any(is_valid_id(bytes.fromhex(id), other) for other, _ in VECTORS if other != ip)


@pytest.mark.parametrize("bit", range(21))
def test_each_of_the_first_21_bits_counts(bit: int) -> None:
    ip, id = VECTORS[0]
    other = int(id, 16) ^ 1 << 159 - bit
    assert not is_valid_id(other.to_bytes(20, "big"), ip)


@pytest.mark.parametrize("bit", [21, 22, 23, 24, 100, 151, 152])
def test_the_bits_between_the_prefix_and_the_seed_are_free(bit: int) -> None:
    ip, id = VECTORS[0]
    other = int(id, 16) ^ 1 << 159 - bit
    assert is_valid_id(other.to_bytes(20, "big"), ip)


@given(st.ip_addresses(), st.integers())
def test_a_made_id_is_valid_at_its_address(ip: object, seed: int) -> None:
    assert is_valid_id(make_id(str(ip), Random(seed)), str(ip))


def test_an_ipv6_id_depends_on_the_network_and_not_on_the_host_in_it() -> None:
    id = make_id("2001:db8:1:2::1", Random(1))
    assert is_valid_id(id, "2001:db8:1:2:ffff::7")
    assert not is_valid_id(id, "2001:db8:1:3::1")


@pytest.mark.parametrize(
    "ip",
    [
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.9.9",
        "127.0.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
    ],
)
def test_a_local_address_may_have_any_id(ip: str) -> None:
    assert is_valid_id(b"n" * 20, ip) and is_valid_id(b"m" * 20, ip)


@pytest.mark.parametrize(
    "ip", ["11.0.0.1", "172.32.0.1", "192.169.0.1", "128.0.0.1", "2001:db8::1"]
)
def test_a_public_address_may_not(ip: str) -> None:
    assert not is_valid_id(b"n" * 20, ip) or not is_valid_id(b"m" * 20, ip)
