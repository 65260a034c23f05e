"""Status of a forwarder: python-ndn reads what we write, and writes what we read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.app_support import nfd_mgmt
from ndn.encoding import Name as PythonName

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.dataset import (
    FaceStatus,
    FibEntry,
    GeneralStatus,
    NextHop,
    RibEntry,
    Route,
    StoreInfo,
    StrategyChoice,
    decode_faces,
    decode_fib,
    decode_general_status,
    decode_rib,
    decode_store_info,
    decode_strategies,
    encode_faces,
    encode_fib,
    encode_general_status,
    encode_rib,
    encode_store_info,
    encode_strategies,
)
from rumormill.ndn.wire.name import component, name_from_uri, name_tlv
from tests.helpers.ndn.wire import NUMBERS, PLAIN_NAMES, packet

TEXTS = st.text(st.characters(codec="ascii"), max_size=20)
"""python-ndn counts characters where it should count bytes."""


def numbers(record: Any, *others: str) -> dict[str, st.SearchStrategy[int]]:
    """Any number for each field that is one."""
    return {field: NUMBERS for field in record._fields if field not in others}


def name_bytes(name: Any) -> bytes:
    """A name of python-ndn as ours."""
    return b"".join(bytes(part) for part in name)


GENERAL = st.builds(GeneralStatus, version=TEXTS, **numbers(GeneralStatus, "version"))
FACES = st.builds(
    FaceStatus,
    uri=TEXTS,
    local_uri=TEXTS,
    expiration=st.none() | NUMBERS,
    mtu=st.none() | NUMBERS,
    scope=st.sampled_from([0, 1]),
    persistency=st.sampled_from([0, 1, 2]),
    link_type=st.sampled_from([0, 1, 2]),
    flags=st.integers(0, 7),
    **numbers(
        FaceStatus, "uri", "local_uri", "expiration", "mtu", "scope", "persistency", "link_type",
        "flags",
    ),
)  # fmt: skip
HOPS = st.lists(st.builds(NextHop, NUMBERS, NUMBERS), max_size=3).map(tuple)
ROUTES = st.lists(
    st.builds(Route, NUMBERS, NUMBERS, NUMBERS, st.integers(0, 3), st.none() | NUMBERS), max_size=3
).map(tuple)


@given(GENERAL)
def test_python_ndn_reads_the_general_status(status: GeneralStatus) -> None:
    raw = encode_general_status(status)
    assert decode_general_status(raw) == status
    theirs = nfd_mgmt.GeneralStatus.parse(raw)
    assert theirs.encode() == raw
    assert theirs.nfd_version == status.version
    assert theirs.start_timestamp == status.start and theirs.current_timestamp == status.now
    assert theirs.n_in_nacks == status.in_nacks and theirs.n_cs_entries == status.cs_entries
    assert theirs.n_unsatisfied_interests == status.unsatisfied


@given(st.lists(FACES, max_size=3))
def test_python_ndn_reads_the_faces(faces: list[FaceStatus]) -> None:
    raw = encode_faces(faces)
    assert decode_faces(raw) == faces
    theirs = nfd_mgmt.FaceStatusMsg.parse(raw)
    assert theirs.encode() == raw
    for face, their in zip(faces, theirs.face_status, strict=True):
        assert (their.face_id, their.uri, their.local_uri) == face[:3]
        assert their.face_persistency.value == face.persistency
        assert their.n_out_bytes == face.out_bytes and their.mtu == face.mtu


@given(st.lists(st.builds(FibEntry, PLAIN_NAMES, HOPS), max_size=3))
def test_python_ndn_reads_the_routes_in_use(entries: list[FibEntry]) -> None:
    raw = encode_fib(entries)
    assert decode_fib(raw) == entries
    theirs = nfd_mgmt.FibStatus.parse(raw)
    assert theirs.encode() == raw
    for entry, their in zip(entries, theirs.entries, strict=True):
        assert name_bytes(their.name) == entry.name
        assert tuple((hop.face_id, hop.cost) for hop in their.next_hop_records) == entry.next_hops


@given(st.lists(st.builds(RibEntry, PLAIN_NAMES, ROUTES), max_size=3))
def test_python_ndn_reads_the_routes_that_were_registered(entries: list[RibEntry]) -> None:
    raw = encode_rib(entries)
    assert decode_rib(raw) == entries
    theirs = nfd_mgmt.RibStatus.parse(raw)
    assert theirs.encode() == raw
    for entry, their in zip(entries, theirs.entries, strict=True):
        assert name_bytes(their.name) == entry.name
        assert [route.origin for route in their.routes] == [route.origin for route in entry.routes]


@given(st.lists(st.builds(StrategyChoice, PLAIN_NAMES, PLAIN_NAMES), max_size=3))
def test_python_ndn_reads_the_strategies(choices: list[StrategyChoice]) -> None:
    raw = encode_strategies(choices)
    assert decode_strategies(raw) == choices
    theirs = nfd_mgmt.StrategyChoiceMsg.parse(raw)
    assert theirs.encode() == raw
    for choice, their in zip(choices, theirs.strategy_choices, strict=True):
        assert (name_bytes(their.name), name_bytes(their.strategy.name)) == choice


@given(st.builds(StoreInfo, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS))
def test_python_ndn_reads_what_is_told_of_the_store(info: StoreInfo) -> None:
    raw = encode_store_info(info)
    assert decode_store_info(raw) == info
    assert nfd_mgmt.CsInfo.parse(raw[2:]).n_hits == info.hits


def test_rows_of_python_ndn_are_read() -> None:
    theirs = nfd_mgmt.FibStatus()
    entry = nfd_mgmt.FibEntry()
    entry.name = PythonName.from_str("/a/b")
    hop = nfd_mgmt.NextHopRecord()
    hop.face_id, hop.cost = 7, 10
    entry.next_hop_records = [hop]
    theirs.entries = [entry]
    assert decode_fib(theirs.encode()) == [FibEntry(name_from_uri("/a/b"), (NextHop(7, 10),))]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("8000", "bad_record"),
        ("8005 0703080161", ""),
        ("8007 0703080161 8100", "bad_record"),
        ("800a 0703080161 8103690107", "bad_record"),
        ("8107 0703080161 8100", "unknown_critical"),
        ("8207 0703080161 8100", ""),
        ("8002 0703", "bad_tlv"),
        ("80", "bad_tlv"),
    ],
)
def test_rows_that_lack_something_are_refused(raw: str, expected: str) -> None:
    try:
        decode_fib(bytes.fromhex(raw))
    except RemoteProtocolError as error:
        assert error.reason == expected
    else:
        assert expected == ""


def test_there_is_one_store() -> None:
    for raw in (b"", packet(0x80), encode_store_info(StoreInfo(1, 2, 3, 4, 5)) * 2):
        with pytest.raises(RemoteProtocolError):
            decode_store_info(raw)


def test_a_general_status_needs_a_version_and_times() -> None:
    with pytest.raises(RemoteProtocolError):
        decode_general_status(packet(0x80, b"1"))
    raw = encode_general_status(GeneralStatus("1", 1, 2))
    assert decode_general_status(raw).in_data == 0
    assert name_tlv(component(b"a")) not in raw


@given(st.binary(max_size=60))
def test_any_content_is_read_or_refused(content: bytes) -> None:
    for decode in (
        decode_faces, decode_fib, decode_general_status, decode_rib, decode_store_info,
        decode_strategies,
    ):  # fmt: skip
        try:
            decode(content)
        except RemoteProtocolError:
            continue
