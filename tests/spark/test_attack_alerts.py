"""``rumormill attack --alerts``: each attack raises the alerts that its scenario names, calm none.

All attacks go through the pipeline in one step, and nothing but the command is asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from rumormill.libp2p.attacks import ATTACKS
from tests.helpers.places import environment
from tests.helpers.spark.java_or_skip import java_or_skip

pytestmark = pytest.mark.timeout(1200)

SIZE = ("--nodes", "8", "--sybils", "4", "--seed", "2")


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    """What the command says of each attack."""
    java_or_skip()
    done = subprocess.run(
        [sys.executable, "-m", "rumormill.cli", "attack", *SIZE, "--alerts", "--json"],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {line["attack"]: line for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_raises_its_alerts_and_no_others(
    told: dict[str, dict[str, Any]], name: str
) -> None:
    assert set(told[name]["alerts"]) == set(ATTACKS[name].alerts)


@pytest.mark.parametrize("name", ATTACKS)
def test_alerts_name_attackers_and_nobody_else(told: dict[str, dict[str, Any]], name: str) -> None:
    assert all(peer.startswith("sybil") for peer in told[name]["alerted_peers"])
