"""Which alerts attacks raise: their spool goes through the pipeline, as a user's own would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rumormill.live.family import AttackOutcome


class Raised(NamedTuple):
    """The alerts of one network."""

    kinds: frozenset[str] = frozenset()
    peers: frozenset[str] = frozenset()
    """Whom they name."""


NOTHING = Raised()


def alerts_raised(spool: Path) -> dict[str, Raised]:
    """By network; needs Java, and takes a minute or more."""
    from rumormill.cli.pipeline import DEFAULT_MASTER, run_pipeline
    from rumormill.pipeline.run.parameters import RunParameters
    from rumormill.report import read_report

    with TemporaryDirectory(prefix="rumormill-attack-") as tables:
        parameters = RunParameters(
            spools=(str(spool),), tables=tables, once=True, kinds=("trace",), keep_days=None
        )
        run_pipeline(parameters, DEFAULT_MASTER, {}, as_json=False)
        found: dict[str, Raised] = {}
        for row in read_report(tables).gold.alerts:
            before = found.get(row.network, NOTHING)
            peers = before.peers | ({row.node} if row.node else set())
            found[row.network] = Raised(before.kinds | {row.kind}, peers)
    return found


def with_alerts(
    outcomes: Sequence[AttackOutcome], raised: Mapping[str, Raised]
) -> list[AttackOutcome]:
    """The same with a column more, and two fields more for programs."""
    return [
        each._replace(
            shown={
                **each.shown,
                "alerts": _listed([raised.get(name, NOTHING) for name in each.networks]),
            },
            runs=[
                {**run, "alerts": sorted(those.kinds), "alerted_peers": sorted(those.peers)}
                for run, network in zip(each.runs, each.networks, strict=True)
                for those in (raised.get(network, NOTHING),)
            ],
        )
        for each in outcomes
    ]


def _listed(runs: Sequence[Raised]) -> str:
    """All kinds, the commonest first; in how many runs, where it was not in all.

    >>> both, one = frozenset({"spam", "sybils"}), frozenset({"sybils"})
    >>> _listed([Raised(both), Raised(one)]), _listed([NOTHING])
    ('sybils, spam (1 of 2)', '-')
    """
    counted = Counter(kind for run in runs for kind in sorted(run.kinds))
    told = [
        kind if count == len(runs) else f"{kind} ({count} of {len(runs)})"
        for kind, count in counted.most_common()
    ]
    return ", ".join(told) or "-"
