"""The private topic of the demo: what counts as kept, and that the real commands keep it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rumormill.cli.demo.progress import Reporter
from rumormill.cli.demo.secret import MESSAGES, SecretOutcome, SecretPlay
from rumormill.live.family.families import families, find_family

GOOD = SecretOutcome(published=20, read=20, relayed=20, leaked=0, forbidden=0)


def test_the_outsider_relays_everything_and_reads_nothing(tmp_path: Path) -> None:
    scene = find_family("gossipsub").secret_scene("gossipsub")
    assert scene is not None
    lines: list[str] = []

    async def play() -> SecretOutcome:
        secret = SecretPlay(scene, Reporter(lines.append), tmp_path)
        try:
            return await secret.run()
        finally:
            await secret.close()

    outcome = asyncio.run(play())
    assert outcome == SecretOutcome(MESSAGES, MESSAGES, MESSAGES, 0, 0) and outcome.good
    assert "could read none" in outcome.sentence()


@pytest.mark.parametrize(
    "change", [{"read": 19}, {"relayed": 19}, {"leaked": 1}, {"forbidden": 1}, {"published": 0}]
)
def test_anything_else_is_a_failure(change: dict[str, int]) -> None:
    spoilt = GOOD._replace(**change)
    assert not spoilt.good and "failed" in spoilt.sentence()


def test_only_families_with_topics_in_files_have_such_a_scene() -> None:
    with_scene = {each.name for each in families() if each.secret_scene(each.networks[0])}
    assert with_scene == {each.name for each in families() if each.topic_file_help}
