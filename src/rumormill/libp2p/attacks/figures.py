"""The figures of an attack as a table shows them: of one run, or of runs with several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rumormill.core.percentiles import percentile
from rumormill.libp2p.attacks.outcome import Outcome


def shown(outcome: Outcome) -> dict[str, str]:
    """One run, by column."""
    return {
        **_sizes(outcome),
        "delivered": _percent(outcome.delivered),
        "p50": _milliseconds(outcome.p50),
        "p99": _milliseconds(outcome.p99),
        "worst honest": _points(outcome.worst_honest),
        "attackers": _attackers([outcome]),
        "in meshes": f"{outcome.in_meshes:,} ({outcome.mesh_share:.0%})",
    }


def shown_of_several(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Runs with several seeds: the one in the middle, or the worst where a column says so."""
    slowest = [each.p99 for each in outcomes if each.p99 is not None]
    return {
        **_sizes(outcomes[0]),
        "least delivered": _percent(min(each.delivered for each in outcomes)),
        "p99": _milliseconds(_middle(slowest)),
        "worst p99": _milliseconds(max(slowest, default=None)),
        "worst honest": _points(
            min((each.worst_honest for each in outcomes if each.worst_honest is not None),
                default=None)
        ),
        "attackers": _attackers(outcomes),
        "most in meshes": f"{max(each.mesh_share for each in outcomes):.0%}",
        "held": f"{sum(each.passed for each in outcomes)} of {len(outcomes)}",
    }  # fmt: skip


def _sizes(outcome: Outcome) -> dict[str, str]:
    return {"honest": f"{outcome.nodes:,}", "Sybils": f"{outcome.sybils:,}"}


def _attackers(outcomes: Sequence[Outcome]) -> str:
    """The score of the attacker in the middle, of those that are still there."""
    left = [each.attackers_median for each in outcomes if each.attackers_left]
    known = [each for each in left if each is not None]
    if known:
        return _points(_middle(known))
    return "dropped" if outcomes[0].sybils else "-"


def _middle(values: Iterable[float]) -> float | None:
    return percentile(sorted(values), 0.5)


def _percent(share: float) -> str:
    """As many digits as it takes not to say 100 % of what is less.

    >>> _percent(1.0), _percent(0.9997), _percent(0.99999)
    ('100 %', '99.97 %', '99.99 %')
    """
    return "100 %" if share == 1 else f"{min(share * 100, 99.99):.2f} %"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:,.0f} ms"


def _points(score: float | None) -> str:
    return "-" if score is None else f"{score:.1f}"
