"""The part ``bcos`` of the benchmarks: messages across two nodes, and the sync of topics."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.bcos import path_bench, topic_sync
from bench.bcos.path_bench import PathPlan
from bench.bcos.topic_sync import SyncPlan
from bench.progress import Progress
from rumormill.bcos.live.chain_folder import extend_chain


@dataclass(frozen=True)
class BcosPlan:
    """How much is measured."""

    paths: PathPlan = field(default_factory=PathPlan)
    sync: SyncPlan = field(default_factory=SyncPlan)


QUICK = BcosPlan(path_bench.QUICK, topic_sync.QUICK)


async def run(plan: BcosPlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``bcos`` of the results."""
    progress.begin("bcos", plan.paths.rounds + len(plan.sync.topics))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "chain"
        extend_chain(folder, nodes=2, sdks=2, topic_keys=0)
        return {
            "paths": await path_bench.run(folder, plan.paths, progress),
            "sync": await topic_sync.run(folder, plan.sync, progress),
        }
