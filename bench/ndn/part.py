"""The part ``ndn`` of the benchmarks: messages beside the original, forwarding, and loss."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench import versions
from bench.ndn import forwarder_bench, loss_bench, pubsub_bench
from bench.ndn.forwarder_bench import ForwardingPlan
from bench.ndn.loss_bench import LossPlan
from bench.ndn.pubsub_bench import PubSubPlan
from bench.progress import Progress
from tests.helpers.interop import go_peer, ndn_python
from tests.helpers.interop.real_peers import SOURCES


@dataclass(frozen=True)
class NdnPlan:
    """How much is measured."""

    pubsub: PubSubPlan = field(default_factory=PubSubPlan)
    forwarding: ForwardingPlan = field(default_factory=ForwardingPlan)
    loss: LossPlan = field(default_factory=LossPlan)


QUICK = NdnPlan(pubsub_bench.QUICK, forwarder_bench.QUICK, loss_bench.QUICK)


async def run(plan: NdnPlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``ndn`` of the results."""
    progress.begin("ndn", 6 * plan.pubsub.rounds + 4 * plan.forwarding.rounds + 4)
    missing = _missing()
    if missing:
        return {"versions": _versions(), "missing_peers": missing}
    return {
        "versions": _versions(),
        "missing_peers": "",
        "pubsub": await pubsub_bench.run(plan.pubsub, progress),
        "forwarding": await forwarder_bench.run(plan.forwarding, progress),
        "loss": await loss_bench.run(plan.loss, progress),
    }


def _missing() -> str:
    """Build or install the others; why that cannot be done, if so."""
    try:
        go_peer.built("ndn-forwarder-go")
        ndn_python.installed_program()
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        return str(missing.msg)
    return ""


def _versions() -> dict[str, dict[str, str]]:
    required = (SOURCES / "ndn-python" / "requirements.txt").read_text()
    module = (SOURCES / "ndn-forwarder-go" / "go.mod").read_text()
    packages = dict(
        re.findall(r"^(ndn-python-repo|python-ndn|pycryptodomex)==(\S+)", required, re.M)
    )
    ndnd = re.search(r"named-data/ndnd (\S+)", module)
    return {
        "ours": versions.ours(Path()),
        "original": packages,
        "ndnd": {"ndnd": ndnd[1] if ndnd else "unknown"},
    }
