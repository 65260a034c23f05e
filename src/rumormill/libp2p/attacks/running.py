"""Runs the attacks that a user wants, and says what came of each: ``rumormill attack``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from rumormill.libp2p.attacks.arena import Arena, Size
from rumormill.libp2p.attacks.catalogue import ATTACKS, find_attack
from rumormill.libp2p.attacks.figures import shown, shown_of_several
from rumormill.libp2p.attacks.honest import usual_score
from rumormill.libp2p.attacks.outcome import Outcome
from rumormill.libp2p.attacks.recording import Recording, network_name
from rumormill.libp2p.attacks.scenario import Scenario
from rumormill.live.family import AttackOutcome, AttackProgress, AttackWish


def run_attacks(wish: AttackWish, tell: AttackProgress) -> Iterator[AttackOutcome]:
    """One after the other; :class:`ConfigError` for a name that is none."""
    scenarios = [find_attack(name) for name in wish.names] or list(ATTACKS.values())
    runs = len(scenarios) * len(wish.seeds)
    with ExitStack() as stack:
        recording = None if wish.spool is None else stack.enter_context(Recording(wish.spool))
        for number, scenario in enumerate(scenarios):
            outcomes: list[Outcome] = []
            for seed in wish.seeds:
                done = number * len(wish.seeds) + len(outcomes)

                def part(share: float, done: int = done, name: str = scenario.name) -> None:
                    tell(name, (done + share) / runs)

                part(0.0)
                sink = None
                if recording is not None:
                    sink = recording.sink(_network(scenario, seed, wish), scenario.seconds)
                size, score = Size(wish.nodes, wish.sybils), usual_score() if wish.score else None
                outcomes.append(Arena(scenario, size, seed, score=score, sink=sink).run(part))
            yield _told(scenario, outcomes, wish)


def _network(scenario: Scenario, seed: int, wish: AttackWish) -> str:
    return network_name(scenario, seed if len(wish.seeds) > 1 else None)


def _told(scenario: Scenario, outcomes: list[Outcome], wish: AttackWish) -> AttackOutcome:
    runs = list(zip(wish.seeds, outcomes, strict=True))
    networks = tuple(_network(scenario, seed, wish) for seed in wish.seeds)
    lines = [{**each.to_json(), "seed": seed} for seed, each in runs]
    if len(runs) == 1:
        (only,) = outcomes
        return AttackOutcome(scenario.name, shown(only), only.failures, lines, networks)
    failures = [f"seed {seed}: {failure}" for seed, each in runs for failure in each.failures]
    columns = shown_of_several(outcomes)
    return AttackOutcome(scenario.name, columns, tuple(failures), lines, networks)
