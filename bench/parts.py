"""The parts of the benchmarks, one line each: how it is measured, shown and judged.

A new part is a module with a plan, ``QUICK`` and ``run``, a function that makes its tables, if it
has goals one that makes them, and a line here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from bench import capture, codec, discovery_scale, mesh, pair, private, trace_import, versions
from bench.bcos import part as bcos
from bench.bcos.tables import bcos_goals, bcos_tables
from bench.bep50 import amplification, krpc, overlay_scale
from bench.bep50.amplification import amplification_goals, amplification_tables
from bench.bep50.krpc_tables import krpc_goals, krpc_tables
from bench.bep50.scale_tables import scale_goals, scale_tables
from bench.contestants import Entry, versions_of
from bench.discovery_tables import discovery_goals, discovery_tables
from bench.goals import Goal, capture_goals, pair_goals
from bench.gossip import part as gossip
from bench.gossip.tables import gossip_goals, gossip_tables
from bench.mesh_goals import mesh_goals
from bench.mesh_tables import mesh_tables
from bench.ndn import part as ndn
from bench.ndn.tables import ndn_goals, ndn_tables
from bench.private import private_goals, private_tables
from bench.progress import Progress
from bench.siege import siege
from bench.siege.tables import siege_tables
from bench.siege.verdicts import siege_goals
from bench.spark import first_run, latency, minutes, questions, source
from bench.spark import tables as spark_tables
from bench.spark.source_goals import latency_goals, source_goals
from bench.spark.source_tables import latency_tables, source_tables
from bench.tables import (
    Table,
    capture_tables,
    codec_tables,
    goal_table,
    import_tables,
    pair_tables,
)

Row = dict[str, Any]


def no_goals(part: Row) -> list[Goal]:
    """Of a part that only shows how things are."""
    return []


@dataclass(frozen=True)
class Part:
    """Something that ``python -m bench NAME`` measures."""

    run: Callable[..., Awaitable[Row]]
    """Called with the plan and the progress; before them, with the peers if it needs them."""
    plan: Any
    quick: Any
    tables: Callable[[Row], list[Table]]
    goals: Callable[[Row], list[Goal]] = no_goals
    peers: bool = False
    """Whether it needs the peers of other implementations."""

    async def measure(
        self, entries: Sequence[Entry], quick: bool, progress: Progress, **changes: Any
    ) -> Row:
        """Its results; ``changes`` are of its plan, if that has something of the name."""
        plan = self.quick if quick else self.plan
        known = {field.name for field in fields(plan)}
        plan = replace(plan, **{name: changes[name] for name in changes.keys() & known})
        return await (self.run(entries, plan, progress) if self.peers else self.run(plan, progress))

    def made_of(self, entries: Sequence[Entry]) -> dict[str, dict[str, str]]:
        """The versions of who takes part, unless the results of the part say it better."""
        return versions_of(entries) if self.peers else versions.codec()


# fmt: off
PARTS = {
    "pair": Part(pair.run, pair.PairPlan(), pair.QUICK, pair_tables, pair_goals, peers=True),
    "mesh": Part(mesh.run, mesh.MeshPlan(), mesh.QUICK, mesh_tables, mesh_goals, peers=True),
    "codec": Part(codec.run, codec.CodecPlan(), codec.QUICK, codec_tables),
    "gossip": Part(gossip.run, gossip.GossipPlan(), gossip.QUICK, gossip_tables, gossip_goals),
    "discovery": Part(discovery_scale.run, discovery_scale.DiscoveryPlan(), discovery_scale.QUICK, discovery_tables, discovery_goals),  # noqa: E501
    "private": Part(private.run, private.PrivatePlan(), private.QUICK, private_tables, private_goals),  # noqa: E501
    "capture": Part(capture.run, capture.CapturePlan(), capture.QUICK, capture_tables, capture_goals),  # noqa: E501
    "import": Part(trace_import.run, trace_import.ImportPlan(), trace_import.QUICK, import_tables),
    "source": Part(source.run, source.SourcePlan(), source.QUICK, source_tables, source_goals),
    "latency": Part(latency.run, latency.LatencyPlan(), latency.QUICK, latency_tables, latency_goals),  # noqa: E501
    "tables": Part(spark_tables.run, spark_tables.TablesPlan(), spark_tables.QUICK, spark_tables.tables_tables, spark_tables.tables_goals),  # noqa: E501
    "minutes": Part(minutes.run, minutes.MinutesPlan(), minutes.QUICK, minutes.minutes_tables, minutes.minutes_goals),  # noqa: E501
    "first-run": Part(first_run.run, first_run.FirstRunPlan(), first_run.QUICK, first_run.first_run_tables, first_run.first_run_goals),  # noqa: E501
    "questions": Part(questions.run, questions.QuestionsPlan(), questions.QUICK, questions.questions_tables, questions.questions_goals),  # noqa: E501
    "krpc": Part(krpc.run, krpc.KrpcPlan(), krpc.QUICK, krpc_tables, krpc_goals),
    "bcos": Part(bcos.run, bcos.BcosPlan(), bcos.QUICK, bcos_tables, bcos_goals),
    "ndn": Part(ndn.run, ndn.NdnPlan(), ndn.QUICK, ndn_tables, ndn_goals),
    "amplification": Part(amplification.run, amplification.AmplificationPlan(), amplification.QUICK, amplification_tables, amplification_goals),  # noqa: E501
    "siege": Part(siege.run, siege.SiegePlan(), siege.QUICK, siege_tables, siege_goals, peers=True),
    "scale": Part(overlay_scale.run, overlay_scale.ScalePlan(), overlay_scale.QUICK, scale_tables, scale_goals),  # noqa: E501
}
# fmt: on
"""In the order in which they are measured and shown."""


def tables_of(measured: dict[str, Row]) -> list[Table]:
    """All tables of the parts that were measured."""
    found: list[Table] = []
    for name, part in measured.items():
        found += PARTS[name].tables(part)
        goals = PARTS[name].goals(part)
        if goals:
            found.append(goal_table(name, goals))
    return found
