"""The benchmark of the ndn family: its arithmetic, its own programs, and a quick run of all."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.ndn import forwarder_bench, pubsub_bench
from bench.ndn.bare_packets import (
    Answers,
    base_name,
    element,
    interest,
    name_of,
    number_of,
    opened,
    packets,
)
from bench.ndn.loss_bench import compared
from bench.ndn.lossy_relay import HOST
from bench.ndn.samples import in_turns, sample_of
from bench.ndn.tables import ndn_goals, ndn_tables
from bench.siege.processes import Program
from rumormill.ndn.wire.data import decode_data
from rumormill.ndn.wire.interest import decode_interest
from rumormill.ndn.wire.link import encode_link
from rumormill.ndn.wire.name import name_to_uri

ROOT = Path(__file__).parents[2]
PATIENCE = 240
"""Seconds for what takes half a minute on an idle machine."""

Row = dict[str, Any]


@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.slow
def test_a_quick_run_loses_nothing_and_writes_its_tables(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "ndn", "--quick", "--json"]
    done = subprocess.run(
        [*command, "--output", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["ndn"]
    if part["missing_peers"]:
        pytest.skip(part["missing_peers"])
    messages, forwarding, loss = part["pubsub"], part["forwarding"], part["loss"]
    assert messages["failed_rounds"] == forwarding["failed_rounds"] == []
    assert len(messages["rows"]) == len(pubsub_bench.CASES) * 2 - 4  # inside: ours alone
    assert len(forwarding["rows"]) == len(forwarder_bench.CASES) * 2
    assert all(row["unconfirmed"] == 0 for row in messages["rows"])
    for row in loss["rows"]:
        assert row["twice"] == row["false"] == 0
        assert row["lost"] > 0
    page = (tmp_path / "latest.md").read_text()
    assert "| ndnd | digest | 32 | ours / ndn-python-repo |" in page
    assert "messages over UDP, 5% of the datagrams lost" in page


# ---- the bare ends


def test_bare_packets_are_packets() -> None:
    asked = decode_interest(interest(base_name(100), 7))
    assert name_to_uri(asked.name) == "/bench/100/%00%00%00%00%00%00%00%07"
    assert asked.lifetime == 4000
    answer = decode_data(opened(Answers(100).to(asked.name, b"")).network)
    assert answer.name == asked.name
    assert answer.content == bytes(100)


def test_a_token_comes_back_with_the_answer() -> None:
    raw = interest(base_name(1024), 7)
    packet = opened(encode_link(raw, b"token"))
    assert packet == (raw, element(0x62, b"token"), False)
    answer = opened(Answers(1024).to(name_of(raw), packet.token))
    assert answer.token == packet.token
    assert number_of(answer.network) == 7
    assert opened(encode_link(raw, b"token", nack=150)).nack


def test_packets_are_found_wherever_the_stream_is_cut() -> None:
    stream = [interest(base_name(100), number) for number in range(20)]
    stream += [Answers(1024).to(name_of(each), b"\x62\x01t") for each in stream]
    whole = b"".join(stream)
    for size in (1, 2, 7, 500, len(whole)):
        pending = bytearray()
        found: list[bytes] = []
        for start in range(0, len(whole), size):
            pending += whole[start : start + size]
            found += packets(pending)
        assert found == stream
        assert not pending


# ---- loss


async def passed(seed: int, count: int) -> list[int]:
    """Which of so many datagrams come through a relay that loses every fifth, there and back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as target:
        target.bind((HOST, 0))
        target.settimeout(10)
        address = "udp://{}:{}".format(*target.getsockname())
        words = [address, "--loss", "0.2", "--seed", str(seed)]
        async with Program.module("the relay", "bench.ndn.lossy_relay", *words) as relay:
            ready = await relay.expect("ready", 30)
            host, _, port = ready["address"].removeprefix("udp://").rpartition(":")
            await relay.say(losing=True)
            await relay.expect("count", 30)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for number in range(count):
                    sender.sendto(b"%d" % number, (host, int(port)))
                    time.sleep(0)
                while True:  # all are counted before the last is, which must not be lost
                    await relay.say(losing=True)
                    said = await relay.expect("count", 30)
                    if said["passed"] + said["lost"] >= count:
                        break
                await relay.say(losing=False)
                await relay.expect("count", 30)
                sender.sendto(b"end", (host, int(port)))
                found = []
                while (data := target.recv(100)) != b"end":
                    found.append(int(data))
                assert len(found) == said["passed"]
                return found


@pytest.mark.timeout(120)
async def test_the_relay_loses_a_share_by_its_seed() -> None:
    first, again, other = [await passed(seed, 300) for seed in (1, 1, 2)]
    assert first == again != other
    assert 200 < len(first) < 280
    assert first == sorted(set(first))


def test_receipts_are_held_against_deliveries() -> None:
    row = compared(["delivered", "unknown", "unknown", "no_subscriber"], [0, 1])
    assert (row["agree"], row["unheard"], row["false"], row["twice"]) == (3, 1, 0, 0)
    assert compared(["delivered"], [])["false"] == 1
    assert compared(["no_subscriber"], [0])["false"] == 1
    assert compared(["delivered"], [0, 0])["twice"] == 1


# ---- samples


async def test_contestants_take_turns_in_short_slices() -> None:
    order: list[str] = []

    async def measure(name: str) -> Row:
        order.append(name)
        return pubsub_sample(100.0 * len(order), 1.0, 30.0)

    found = await in_turns(["a", "b"], measure, slices=3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found["a"]["count"] == 300
    assert found["a"]["seconds"] == pytest.approx(1 + 1 / 4 + 1 / 5)
    assert found["a"]["hops_us"]["publisher"] == pytest.approx(10.0)


# ---- tables and goals


def pubsub_sample(per_second: float, p50: float, cpu: float) -> Row:
    hops = dict.fromkeys(pubsub_bench.HOPS, cpu / 3 / 1e4)
    return sample_of(100, 100, 100 / per_second, {"p50_ms": p50, "p99_ms": 2 * p50}, hops)


def forwarder_sample(per_second: float, cpu: float) -> Row:
    hops = dict.fromkeys(forwarder_bench.HOPS, cpu / 1e4)
    return sample_of(100, 100, 100 / per_second, {"p50_us": 100.0, "p99_us": 200.0}, hops)


def part_of(rate: float, cpu: float) -> Row:
    messages, forwarding = pubsub_bench.Measured(), forwarder_bench.Measured()
    for case in pubsub_bench.CASES:
        messages.samples["ours", case] = [pubsub_sample(rate, 1.0, 300.0)] * 2
        if case.forwarder != pubsub_bench.INSIDE:
            messages.samples["original", case] = [pubsub_sample(1000.0, 4.0, 600.0)] * 2
    for each in forwarder_bench.CASES:
        forwarding.samples["ours", each] = [forwarder_sample(1000.0, cpu)] * 2
        forwarding.samples["ndnd", each] = [forwarder_sample(500.0, 100.0)] * 2
    rows = [
        {"contestant": "ours", "forwarder": "ndnd", "seconds": 3.0}
        | compared(["delivered", "unknown"], [0, 1]),
        {"contestant": "ours", "forwarder": "ours", "missing": "it ended"},
    ]
    return {
        "missing_peers": "",
        "pubsub": pubsub_bench.results(2, messages),
        "forwarding": forwarder_bench.results(2, forwarding),
        "loss": {"messages": 2, "loss": 0.05, "window": 32, "rows": rows},
    }


def test_every_case_has_its_lines() -> None:
    messages, forwarding, loss = ndn_tables(part_of(6000.0, 50.0))
    for table in (messages, forwarding, loss):
        assert {len(line) for line in table.lines} == {len(table.headings)}
    assert [line[3] for line in messages.lines[:3]] == [
        "ndn-python-repo", "ours", "ours / ndn-python-repo",
    ]  # fmt: skip
    assert messages.lines[2][4:6] == ["6.00", "0.25"]
    assert forwarding.lines[1][-1] == "0.50"
    assert loss.lines[0][9] == "50.0%"
    assert loss.lines[1][2] == "missing: it ended"


def test_goals_say_what_was_reached() -> None:
    good = [goal.verdict for goal in ndn_goals(part_of(6000.0, 50.0))]
    assert good[:2] == ["reached, 50.0% below", "reached, 20.0% above"]
    assert good[8] == "reached, 50.0% below"
    assert good[-4:-2] == ["reached, exactly"] * 2
    assert good[-1] == "cannot be said: it ended"
    bad = [goal.verdict for goal in ndn_goals(part_of(4000.0, 120.0))]
    assert bad[1] == "not reached, 20.0% below"
    assert bad[8] == "not reached, 20.0% above"


def test_without_the_others_nothing_is_measured_and_the_reason_is_said() -> None:
    part = {"missing_peers": "ndnd needs go"}
    (table,) = ndn_tables(part)
    assert table.notes == ["Not measured: ndnd needs go"]
    assert ndn_goals(part) == []
