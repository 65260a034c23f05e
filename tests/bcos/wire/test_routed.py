"""Routes and carried packets as they travel."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.bcos.wire.routed import (
    Carried,
    Route,
    decode_carried,
    decode_routes,
    encode_carried,
    encode_routes,
)
from rumormill.core.errors import RemoteProtocolError

ids = st.binary(min_size=64, max_size=64).map(bytes.hex)


@given(st.lists(st.builds(Route, ids, st.integers(0, 255), st.integers(0, 2**64 - 1))))
def test_routes_are_read_as_they_were_written(routes: list[Route]) -> None:
    assert decode_routes(encode_routes(routes)) == routes


@given(st.integers(0, 255), ids, ids, st.integers(-(2**31), 2**31 - 1), st.binary(max_size=50))
def test_a_carried_packet_is_read_as_it_was_written(
    hops: int, source: str, destination: str, protocol: int, payload: bytes
) -> None:
    carried = Carried(hops, source, destination, P2PPacket(protocol, 3, 2**32 - 1, payload))
    assert decode_carried(encode_carried(carried)) == carried


@given(st.binary(max_size=300))
def test_whatever_comes_is_read_or_refused(payload: bytes) -> None:
    for decode in (decode_routes, decode_carried):
        try:
            decode(payload)
        except RemoteProtocolError as error:
            assert error.reason
