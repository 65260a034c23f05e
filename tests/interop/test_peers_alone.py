"""The test peers among themselves: what our own node is held against must work first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.interop import bcos_go, bcos_java, go_peer, js_peer, rust_peer
from tests.helpers.interop.go_peer import ECHO, StartGoPeer
from tests.helpers.interop.js_peer import StartJsPeer
from tests.helpers.interop.peer_process import (
    PeerProcessError,
    RouterPeer,
    bench_pair,
    numbered_payloads,
)
from tests.helpers.interop.py_peer import StartPyPeer
from tests.helpers.interop.real_peers import cached, run_build
from tests.helpers.interop.rust_peer import StartRustPeer

TOPIC = "weather"
# The library's own first heartbeat comes after five seconds.
QUICK_RUST = {"heartbeat_initial_delay": 0.2, "heartbeat_interval": 0.2}


async def exchange(one: RouterPeer, other: RouterPeer, count: int = 20, size: int = 1024) -> None:
    """Each way ``count`` messages of ``size`` bytes, all delivered, none twice, none changed."""
    for sender, receiver in ((one, other), (other, one)):
        await receiver.sees(sender.id, TOPIC)
        await sender.sees(receiver.id, TOPIC)
        await sender.publish_many(TOPIC, count, size=size, prefix=sender.id)
        messages = await receiver.messages(TOPIC, count)
        assert sorted(message["data"] for message in messages) == numbered_payloads(
            count, size=size, prefix=sender.id
        )
        assert receiver.pending("message") == []


def authors(messages: list[dict[str, object]]) -> set[tuple[object, bool]]:
    return {(message["from"], message["seqno"] is not None) for message in messages}


# ---- rust


@pytest.mark.parametrize("policy", ["StrictSign", "StrictNoSign"])
async def test_two_rust_peers_exchange_messages(
    start_rust_peer: StartRustPeer, policy: str
) -> None:
    listener = await start_rust_peer(topics=[TOPIC], policy=policy)
    dialer = await start_rust_peer(topics=[TOPIC], policy=policy, dial=[listener.address])
    await exchange(listener, dialer)
    await dialer.publish(TOPIC, b"rain at noon")
    (message,) = await listener.messages(TOPIC, 1)
    signed = policy == "StrictSign"
    assert authors([message]) == {(dialer.id, True) if signed else (None, False)}
    assert (await dialer.peers())[0]["sends_on"] == "/meshsub/1.3.0"


async def test_a_rust_peer_takes_large_messages_when_it_is_told_to(
    start_rust_peer: StartRustPeer,
) -> None:
    large = {"max_transmit_size": 4 * 1024 * 1024}
    listener = await start_rust_peer(topics=[TOPIC], options=large)
    dialer = await start_rust_peer(topics=[TOPIC], options=large, dial=[listener.address])
    await exchange(listener, dialer, count=3, size=1024 * 1024)


async def test_rust_floodsub_exchanges_messages_with_itself(
    start_rust_peer: StartRustPeer,
) -> None:
    listener = await start_rust_peer(topics=[TOPIC], router="floodsub")
    dialer = await start_rust_peer(topics=[TOPIC], router="floodsub", dial=[listener.address])
    await exchange(listener, dialer)
    assert await dialer.mesh(TOPIC) == [listener.id]


async def test_a_rust_peer_refuses_an_option_that_it_does_not_know(
    start_rust_peer: StartRustPeer,
) -> None:
    with pytest.raises(PeerProcessError, match="no such option: mesh_size"):
        await start_rust_peer(options={"mesh_size": 3})


# ---- rust and js


@pytest.mark.parametrize("policy", ["StrictSign", "StrictNoSign"])
@pytest.mark.parametrize("rust_dials", [True, False], ids=["rust-dials", "js-dials"])
async def test_rust_and_js_exchange_messages(
    start_rust_peer: StartRustPeer, start_js_peer: StartJsPeer, policy: str, rust_dials: bool
) -> None:
    message_id = "origin_bytes" if policy == "StrictSign" else "sha256"
    common = {"topics": [TOPIC], "policy": policy, "message_id": message_id}
    start_listener, start_dialer = (
        (start_js_peer, start_rust_peer) if rust_dials else (start_rust_peer, start_js_peer)
    )
    listener = await start_listener(**common)
    dialer = await start_dialer(**common, dial=[listener.address])
    await exchange(listener, dialer)


# ---- py


@pytest.mark.parametrize(
    ("router", "policy"),
    [
        ("gossipsub", "StrictSign"),
        ("gossipsub", "StrictNoSign"),
        ("gossipsub", "LaxNoSign"),
        ("floodsub", "StrictSign"),
        ("floodsub", "StrictNoSign"),
    ],
)
async def test_two_py_peers_exchange_messages(
    start_py_peer: StartPyPeer, router: str, policy: str
) -> None:
    common = {"topics": [TOPIC], "router": router, "policy": policy}
    listener = await start_py_peer(**common)
    dialer = await start_py_peer(**common, dial=[listener.address])
    await listener.meshes(dialer.id, TOPIC)
    await dialer.meshes(listener.id, TOPIC)
    await exchange(listener, dialer)
    await dialer.publish(TOPIC, b"rain at noon")
    (message,) = await listener.messages(TOPIC, 1)
    anonymous = policy == "StrictNoSign"
    assert authors([message]) == {(None, False) if anonymous else (dialer.id, True)}


# ---- go


async def test_two_go_peers_identify_ping_and_echo(start_go_peer: StartGoPeer) -> None:
    listener = await start_go_peer()
    dialer = await start_go_peer(dial=[listener.address])
    for one, other in ((listener, dialer), (dialer, listener)):
        identified = await one.expect("peer", id=other.id, state="identified")
        assert {ECHO, "/ipfs/id/1.0.0", "/ipfs/ping/1.0.0"} <= set(identified["protocols"])
        assert len(await one.ping(other.id, 3)) == 3
        done = await one.echo(other.id, streams=20, size=300_000)
        assert (done["streams"], done["bytes"]) == (20, 300_000)


@pytest.mark.parametrize("router", ["gossipsub", "floodsub"])
@pytest.mark.parametrize("policy", ["StrictSign", "StrictNoSign", "StrictNoSignWithAuthor"])
async def test_two_go_peers_exchange_messages(
    start_go_peer: StartGoPeer, router: str, policy: str
) -> None:
    common = {"topics": [TOPIC], "router": router, "policy": policy}
    listener = await start_go_peer(**common)
    dialer = await start_go_peer(**common, dial=[listener.address])
    await listener.meshes(dialer.id, TOPIC)
    await dialer.meshes(listener.id, TOPIC)
    await exchange(listener, dialer)
    await dialer.publish(TOPIC, b"rain at noon")
    (message,) = await listener.messages(TOPIC, 1)
    anonymous = policy == "StrictNoSign"
    assert authors([message]) == {(None, False) if anonymous else (dialer.id, True)}
    assert listener.pending("trouble") == dialer.pending("trouble") == []


async def test_a_go_peer_says_when_it_forgets_who_is_subscribed(
    start_go_peer: StartGoPeer,
) -> None:
    listener = await start_go_peer(topics=[TOPIC])
    dialer = await start_go_peer(topics=[TOPIC], dial=[listener.address])
    await listener.meshes(dialer.id, TOPIC)
    assert await listener.publish(TOPIC, b"heard") == []
    assert await dialer.close_connection(listener.id) == 0
    left = [{"topic": TOPIC, "subscribe": False}]
    await listener.expect("subscription-change", id=dialer.id, subscriptions=left)
    assert await listener.mesh(TOPIC) == []
    assert await listener.connections(dialer.id) == 0
    with pytest.raises(PeerProcessError, match="there are 0 connections"):
        await dialer.close_connection(listener.id)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "1.2.0", "1.3.0"])
async def test_a_go_peer_speaks_the_version_that_it_is_told_to(
    start_go_peer: StartGoPeer, version: str
) -> None:
    protocol = f"/meshsub/{version}"
    listener = await start_go_peer(topics=[TOPIC], options={"Protocols": [protocol]})
    dialer = await start_go_peer(topics=[TOPIC], dial=[listener.address])
    await dialer.meshes(listener.id, TOPIC)
    await exchange(listener, dialer)
    (described,) = await dialer.peers()
    assert (described["sends_on"], described["receives_on"]) == (protocol, protocol)


async def test_a_scoring_go_peer_punishes_a_graft_within_the_backoff(
    start_go_peer: StartGoPeer,
) -> None:
    """What the tests of our own node rest on: a peer that breaks the rule loses by it."""
    # In this version a PRUNE names no time, and a minute is assumed.
    old = {"Protocols": ["/meshsub/1.0.0"]}
    scoring = await start_go_peer(topics=[TOPIC], options={**old, "Score": {}})
    hasty = await start_go_peer(
        topics=[TOPIC],
        dial=[scoring.address],
        options={**old, "UnsubscribeBackoff": 1, "HeartbeatInterval": 0.1},
    )
    await scoring.meshes(hasty.id, TOPIC)
    await hasty.unsubscribe(TOPIC)
    await scoring.expect(
        "subscription-change", id=hasty.id, subscriptions=[{"topic": TOPIC, "subscribe": False}]
    )
    await hasty.subscribe(TOPIC)
    async with asyncio.timeout(30):
        while (await scoring.score_of(hasty.id))["score"] > -30:
            await asyncio.sleep(0.1)
    control = await scoring.control_of(hasty.id)
    assert control["prunes"] == [{"topic": TOPIC, "backoff": 0}]
    assert control["grafts"] > 0
    with pytest.raises(PeerProcessError, match="keeps no score"):
        await hasty.score_of(scoring.id)


async def test_a_go_peer_refuses_an_option_that_it_does_not_know(
    start_go_peer: StartGoPeer,
) -> None:
    with pytest.raises(PeerProcessError, match="no such option: mesh_size"):
        await start_go_peer(options={"mesh_size": 3})
    with pytest.raises(PeerProcessError, match="no such option: mesh_size"):
        await start_go_peer(options={"Score": {"mesh_size": 3}})
    with pytest.raises(PeerProcessError, match="no such option: D"):
        await start_go_peer(router="floodsub", options={"D": 3})


async def test_a_go_peer_reports_a_peer_without_echo(
    start_go_peer: StartGoPeer, start_rust_peer: StartRustPeer
) -> None:
    rust = await start_rust_peer()
    go = await start_go_peer(dial=[rust.address])
    assert len(await go.ping(rust.id)) == 1
    with pytest.raises(PeerProcessError, match=r"the go peer could not echo: .*not supported"):
        await go.echo(rust.id, streams=1, size=1)


# ---- all of them


async def test_a_peer_ends_with_its_stdin(
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_py_peer: StartPyPeer,
    start_go_peer: StartGoPeer,
) -> None:
    for start in (start_rust_peer, start_js_peer, start_py_peer, start_go_peer):
        peer = await start()
        assert await peer.abandon() == 0


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (go_peer.built_program, "go peer: go is not installed"),
        (js_peer.installed_program, "js peer: node is not installed"),
        (rust_peer.built_program, "rust peer: cargo is not installed"),
        (bcos_go.built_program, "bcos-go peer: go is not installed"),
        (bcos_java.built_program, "bcos-java peer: java is not installed"),
    ],
)
def test_a_missing_toolchain_skips_or_fails_with_the_reason(
    program: Callable[[], Path], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("RUMORMILL_REQUIRE_PEERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=reason):
        program()
    monkeypatch.setenv("RUMORMILL_REQUIRE_PEERS", "1")
    with pytest.raises(pytest.fail.Exception, match=reason):
        program()


def test_a_build_that_fails_is_reported_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RUMORMILL_REQUIRE_PEERS", raising=False)
    source = tmp_path / "source"
    source.write_text("as it is")
    script = "echo downloading >&2; echo 'error: no space left' >&2; exit 1"

    def fail(folder: Path) -> None:
        run_build("odd", ["sh", "-c", script], folder, timeout=10)

    with pytest.raises(pytest.skip.Exception, match="odd peer: sh -c failed: error: no space left"):
        cached("odd", [source], fail)
    folder = cached("odd", [source], lambda folder: None)
    assert cached("odd", [source], fail) == folder
    source.write_text("changed")
    with pytest.raises(pytest.skip.Exception):
        cached("odd", [source], fail)


def test_a_tool_that_complains_on_stdout_is_heard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RUMORMILL_REQUIRE_PEERS", raising=False)
    script = r"echo downloading; echo '[ERROR] no such package'; printf '\033[0m' >&2; exit 1"
    with pytest.raises(pytest.skip.Exception, match=r"failed: \[ERROR\] no such package"):
        run_build("odd", ["sh", "-c", script], tmp_path, timeout=10)


# ---- the language of the benchmarks


async def test_a_benchmark_with_a_window_loses_nothing_and_counts_both_sides(
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_py_peer: StartPyPeer,
    start_go_peer: StartGoPeer,
) -> None:
    for start in (start_rust_peer, start_js_peer, start_py_peer, start_go_peer):
        subscriber = await start()
        publisher = await start(dial=[subscriber.address])
        for topic in ("first", "second"):
            sent, received = await bench_pair(
                publisher, subscriber, topic, count=50, size=1000, window=10
            )
            assert (sent["role"], sent["count"]) == ("publisher", 50)
            assert (received["role"], received["count"]) == ("subscriber", 50)
            assert 0 < received["seconds"] <= sent["seconds"]
            assert sent["cpu_seconds"] > 0
        assert subscriber.pending("message") == []


async def test_a_benchmark_of_a_steady_rate_reports_arrivals_and_latencies(
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_py_peer: StartPyPeer,
    start_go_peer: StartGoPeer,
) -> None:
    rust = await start_rust_peer(topics=[TOPIC], options=QUICK_RUST)
    others = [
        await start(topics=[TOPIC], dial=[rust.address])
        for start in (start_js_peer, start_py_peer, start_go_peer)
    ]
    for other in others:
        await rust.sees(other.id, TOPIC)
        await other.sees(rust.id, TOPIC)
        await other.bench_reset(TOPIC)
    sent = await rust.bench_rate(TOPIC, rate=200, count=40, size=1000)
    assert (sent["count"], sent["failed"]) == (40, 0)
    assert sent["seconds"] >= 39 / 200
    for other in others:
        report = await arrived(other, 40)
        assert (report["received"], report["distinct"]) == (40, 40)
        assert 0 <= report["p50_ms"] <= report["p99_ms"] <= report["max_ms"] < 10_000
        assert report["copies"] >= 40


async def arrived(peer: RouterPeer, count: int) -> dict[str, float]:
    """The report of the peer, as soon as everything is there."""
    while True:
        report = await peer.bench_report()
        if report["received"] >= count:
            return report
