"""Two processes, a hundred thousand signed messages, none lost and none twice."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.helpers.places import environment, program

WORKER = "tests.helpers.libp2p.exchange_worker"
EACH_WAY = 50_000


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        program(WORKER, *arguments),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_processes_exchange_100_000_signed_messages_and_none_is_lost() -> None:
    with start(str(EACH_WAY)) as first, start(str(EACH_WAY), line_of(first)) as second:
        try:
            assert line_of(second).startswith("/ip4/127.0.0.1/")
            reports = [json.loads(line_of(process)) for process in (first, second)]
        finally:
            for process in (first, second):
                assert process.stdin is not None
                process.stdin.close()
    for report in reports:
        assert report["arrived"] == report["different"] == EACH_WAY, report
        assert report["in_order"], report
        assert report["dropped_by_us"] == 0, report
        counters = report["counters"]
        assert counters["delivered"] == EACH_WAY, counters
        lost = ("dropped", "rejected", "ignored", "protocol_error")
        assert all(counters.get(kind, 0) == 0 for kind in lost), counters
