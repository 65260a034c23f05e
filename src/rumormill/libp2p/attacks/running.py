"""Runs the attacks that a user wants, and says what came of each: ``rumormill attack``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from rumormill.libp2p.attacks.arena import Arena, Size
from rumormill.libp2p.attacks.catalogue import ATTACKS, find_attack
from rumormill.libp2p.attacks.honest import usual_score
from rumormill.libp2p.attacks.outcome import Outcome
from rumormill.libp2p.attacks.recording import Recording
from rumormill.live.family import AttackOutcome, AttackProgress, AttackWish


def run_attacks(wish: AttackWish, tell: AttackProgress) -> Iterator[AttackOutcome]:
    """One after the other; :class:`ConfigError` for a name that is none."""
    scenarios = [find_attack(name) for name in wish.names] or list(ATTACKS.values())
    size = Size(wish.nodes, wish.sybils)
    score = usual_score() if wish.score else None
    with ExitStack() as stack:
        recording = None if wish.spool is None else stack.enter_context(Recording(wish.spool))
        for done, scenario in enumerate(scenarios):
            sink = None if recording is None else recording.sink(scenario, scenario.seconds)

            def part(share: float, done: int = done, name: str = scenario.name) -> None:
                tell(name, (done + share) / len(scenarios))

            part(0.0)
            outcome = Arena(scenario, size, wish.seed, score=score, sink=sink).run(part)
            yield AttackOutcome(
                outcome.attack, _shown(outcome), outcome.failures, outcome.to_json()
            )


def _shown(outcome: Outcome) -> dict[str, str]:
    gone = "dropped" if outcome.sybils else "-"
    attackers = _points(outcome.attackers_median) if outcome.attackers_left else gone
    return {
        "honest": f"{outcome.nodes:,}",
        "Sybils": f"{outcome.sybils:,}",
        "delivered": _percent(outcome.delivered),
        "p50": _milliseconds(outcome.p50),
        "p99": _milliseconds(outcome.p99),
        "worst honest": _points(outcome.worst_honest),
        "attackers": attackers,
        "in meshes": f"{outcome.in_meshes:,} ({outcome.mesh_share:.0%})",
    }


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
