"""Whether Spark, from what the nodes kept, counted what the nodes told us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rumormill.cli.demo.ledger import Ledger


def compared(
    ledger: Ledger, ids: Sequence[str], peers: Mapping[str, Mapping[str, Any]]
) -> tuple[bool, str]:
    """Compare the deliveries of each node that lived throughout; the answer, and a sentence.

    ``ids`` are the nodes' names in order, ``peers`` is what the report says of them. Of a node that
    was killed, neither side can know what it got last.
    """
    lived = [node for node in range(ledger.nodes) if node not in ledger.absences]
    told = {node: ledger.deliveries_of(node) for node in lived}
    kept = {node: peers.get(ids[node], {}).get("delivered", 0) for node in lived}
    wrong = [node for node in lived if told[node] != kept[node]]
    if wrong:
        node = wrong[0]
        return False, (
            f"Spark counted otherwise at {len(wrong)} nodes: at node {node} it has {kept[node]} "
            f"deliveries, the node told us of {told[node]}."
        )
    return True, (
        f"Spark counted the same from the spools of the {len(lived)} nodes that lived throughout: "
        f"{sum(kept.values())} deliveries."
    )
