"""Hypothesis strategies for protobuf bytes as a strange but correct encoder might write them.

Fields in any order, repeated, unknown, of an unexpected wire type, with varints longer than they
have to be: all of it is protobuf, and none of it may confuse a reader.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rumormill.core.protobuf import encode_varint


def padded_varint(value: int, padding: int) -> bytes:
    """A varint with up to ``padding`` bytes that it does not need."""
    raw = bytearray(encode_varint(value))
    for _ in range(min(padding, 10 - len(raw))):
        raw[-1] |= 0x80
        raw.append(0)
    return bytes(raw)


def delimited(number: int, value: bytes, padding: int = 0) -> bytes:
    """One length-delimited field; its length may be padded."""
    return encode_varint(number << 3 | 2) + padded_varint(len(value), padding) + value


_paddings = st.sampled_from([0, 0, 0, 0, 1, 2])
_topics = st.sampled_from([b"", b"a", b"weather", "übung".encode(), b"\xff\xfe"]) | st.binary(
    max_size=6
)
_values = st.binary(max_size=5) | st.sampled_from(
    [bytes(127), bytes(128), bytes(300), bytes(20000)]
)


def _delimited(
    numbers: SearchStrategy[int], values: SearchStrategy[bytes]
) -> SearchStrategy[bytes]:
    return st.builds(delimited, numbers, values, _paddings)


def _varints(numbers: SearchStrategy[int]) -> SearchStrategy[bytes]:
    values = st.sampled_from([0, 1, 2, 127, 128, (1 << 63), (1 << 64) - 1]) | st.integers(
        0, 1 << 40
    )
    return st.builds(
        lambda number, value, padding: encode_varint(number << 3) + padded_varint(value, padding),
        numbers, values, _paddings,
    )  # fmt: skip


def _fixed(numbers: SearchStrategy[int]) -> SearchStrategy[bytes]:
    short = st.builds(
        lambda number, value: encode_varint(number << 3 | 5) + value,
        numbers, st.binary(min_size=4, max_size=4),
    )  # fmt: skip
    long = st.builds(
        lambda number, value: encode_varint(number << 3 | 1) + value,
        numbers, st.binary(min_size=8, max_size=8),
    )  # fmt: skip
    return short | long


def _joined(*kinds: SearchStrategy[bytes], most: int = 8) -> SearchStrategy[bytes]:
    return st.lists(st.one_of(*kinds), max_size=most).map(b"".join)


_numbers = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 1000, (1 << 29) - 1])
_strange = _varints(_numbers) | _fixed(_numbers)

messages: SearchStrategy[bytes] = st.builds(
    lambda before, topic, after: before + delimited(4, topic) + after,
    _joined(_delimited(_numbers, _values), _strange),
    _topics,
    _joined(_delimited(_numbers, _values), _delimited(st.just(4), _topics), _strange, most=4),
) | _joined(_delimited(_numbers, _values), _strange)
"""Messages, most of them with a topic."""

subscriptions: SearchStrategy[bytes] = _joined(
    _varints(st.just(1)), _delimited(st.just(2), _topics), _strange, most=4
)

_ids = _joined(_delimited(st.sampled_from([1, 2]), _topics), _strange, most=5)
_peer_infos = _joined(_delimited(st.sampled_from([1, 2]), _values), _strange, most=4)
_prunes = _joined(
    _delimited(st.just(1), _topics),
    _delimited(st.just(2), _peer_infos),
    _varints(st.just(3)),
    _strange,
    most=4,
)

controls: SearchStrategy[bytes] = _joined(
    _delimited(st.sampled_from([1, 2, 3]), _ids),
    _delimited(st.just(4), _prunes),
    _delimited(st.sampled_from([5, 6]), _ids),
    _strange,
    most=6,
)

rpcs: SearchStrategy[bytes] = _joined(
    _delimited(st.just(1), subscriptions),
    _delimited(st.just(2), messages),
    _delimited(st.just(3), controls),
    _strange,
    most=6,
)
