"""Numbers for names and ids, as Spark makes them: ``xxhash64`` of one column after the other.

Names and ids are long and come again and again. What is shuffled and joined by them uses numbers of
64 bits instead; among ten million messages the chance that any two share one is one in 400,000.
The expressions for Spark are in ``columns.py``; both must agree, so a test compares them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from xxhash import xxh64_intdigest

from rumormill.pipeline.tables.codes import NOWHERE, Coded, Integers, coded_numbers
from rumormill.pipeline.tables.columns import TOPIC_BITS

SEED: Final = 42
"""Spark's; the hash of a column is the seed of the next, and a null changes nothing."""


def key_of(*parts: bytes | str | None) -> int:
    """The number of a node (network and name) or of a message id (network and id).

    >>> key_of("mesh", None) == key_of("mesh")
    True
    """
    seed = SEED
    for part in parts:
        if part is not None:
            seed = xxh64_intdigest(part.encode() if isinstance(part, str) else part, seed)
    return seed - (1 << 64) if seed >> 63 else seed


def topic_keys(topics: Coded) -> Coded:
    """The small numbers of topics; no topic has one, too."""
    values = [key_of(topic) & TOPIC_BITS for topic in [*topics.values.to_pylist(), None]]
    codes = np.where(topics.codes < 0, len(values) - 1, topics.codes)
    return Coded(codes, pa.array(values, pa.int32()))


class Keyed(NamedTuple):
    """Names (or ids) of networks as codes, and for each code its number, network and name."""

    codes: Integers
    keys: Integers
    networks: pa.Array
    names: pa.Array

    @property
    def coded(self) -> Coded:
        """The numbers as a column."""
        return Coded(self.codes, pa.array(self.keys))


def keyed(networks: Coded, names: Coded) -> Keyed:
    """The numbers of names, each in its row's network; no code where there is no name."""
    codes, count = names.codes, len(names.values)
    if len(networks.values) == 1 and not (networks.codes < 0).any():
        network = networks.values.take(pa.array(np.zeros(count, np.int64)))
        return Keyed(codes, _hashed(network, names.values), network, names.values)
    pairs = (networks.codes + 1) * count + codes
    found = coded_numbers(pairs[codes >= 0])
    both = np.full(len(codes), NOWHERE, np.int64)
    both[codes >= 0] = found.codes
    place, name = np.divmod(found.values.to_numpy(), max(1, count))
    network = networks.values.take(pa.array(place - 1, mask=place == 0))
    chosen = names.values.take(pa.array(name))
    return Keyed(both, _hashed(network, chosen), network, chosen)


def _hashed(networks: pa.Array, names: pa.Array) -> Integers:
    pairs = zip(networks.to_pylist(), names.to_pylist(), strict=True)
    return np.array([key_of(network, name) for network, name in pairs], np.int64)
