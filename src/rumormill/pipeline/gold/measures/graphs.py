"""Graphs measured with numpy: degrees, parts, what is cut off. Many graphs at once, without Spark.

Nodes of one graph are those that tell of themselves; links may lead to others, of whom nothing is
known. Whatever has a link to one of these may be joined by them: nobody can say that it is not.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]

MEASURES: Final = pa.schema(
    [
        ("network", pa.string()),
        ("topic", pa.string()),
        ("minute", pa.int64()),
        ("nodes", pa.int64()),
        ("degree_mean", pa.float64()),
        ("degree_min", pa.int64()),
        ("degree_max", pa.int64()),
        ("components", pa.int64()),
        ("largest", pa.int64()),
        ("cut_off", pa.int64()),
    ]
)


def measure(rows: pa.Table) -> pa.Table:
    """The figures of one graph; a row is a node (without ``peer``) or a link of one.

    ``usual``: there for half of the minute; ``whole``: nodes there for all of it, and links there
    at any time of it. ``cut_off`` is about these, the other figures about those. A graph without
    any link, however short, is no mesh, and has no figures.
    """
    graph = [rows[key][0].as_py() for key in ("network", "topic", "minute")]
    node, peer = rows["node"].to_pylist(), rows["peer"].to_pylist()
    usual = _parts(node, peer, rows["usual"].to_pylist())
    whole = _parts(node, peer, rows["whole"].to_pylist())
    if not len(usual.degrees) or rows["peer"].null_count == len(rows):
        return MEASURES.empty_table()
    cut_off = len(whole.degrees) - int(whole.sizes.max(initial=0))
    figures = [
        len(usual.degrees),
        float(usual.degrees.mean()),
        int(usual.degrees.min()),
        int(usual.degrees.max()),
        int((usual.sizes > 0).sum()),
        int(usual.sizes.max()),
        cut_off,
    ]
    return pa.Table.from_pylist(
        [dict(zip(MEASURES.names, [*graph, *figures], strict=True))], MEASURES
    )


class _Parts:
    """Of each node its degree, and how many nodes each part has."""

    def __init__(self, degrees: Integers, sizes: Integers) -> None:
        self.degrees = degrees
        self.sizes = sizes


def _parts(nodes: list[str], peers: list[str | None], chosen: list[bool]) -> _Parts:
    rows = [(node, peer) for node, peer, there in zip(nodes, peers, chosen, strict=True) if there]
    members = {name: place for place, name in enumerate(sorted({n for n, p in rows if p is None}))}
    outside = len(members)
    links = {
        (members[node], members.get(peer, outside), peer)
        for node, peer in rows
        if peer is not None and node in members
    }
    near = np.array([link[0] for link in links], np.int64)
    far = np.array([link[1] for link in links], np.int64)
    degrees: Integers = np.bincount(near, minlength=outside).astype(np.int64)
    labels = components(outside + 1, near, far)[:outside]
    sizes: Integers = np.bincount(labels, minlength=outside + 1).astype(np.int64)
    return _Parts(degrees, sizes)


def components(count: int, near: Integers, far: Integers) -> Integers:
    """For each of ``count`` nodes the smallest number of a node that it is connected with.

    >>> components(5, np.array([1, 4]), np.array([2, 2])).tolist()
    [0, 1, 1, 3, 1]
    """
    labels: Integers = np.arange(count)
    while True:
        least = np.minimum(labels[near], labels[far])
        fresh = labels.copy()
        np.minimum.at(fresh, near, least)
        np.minimum.at(fresh, far, least)
        fresh = fresh[fresh]
        if (fresh == labels).all():
            return labels
        labels = fresh
