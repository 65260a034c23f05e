"""A py-libp2p node that is driven by JSON lines: commands on stdin, events on stdout.

The language is written down in ../README.md; --options are arguments of the router's class.
The program ends with its stdin, so it cannot outlive the test that started it.
"""

# mypy: ignore-errors
# It runs in an environment of its own, with packages that the project does not have.

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import trio
from libp2p import generate_new_ed25519_identity, new_host
from libp2p.abc import IHost, INetConn, INetwork, INotifee
from libp2p.crypto.x25519 import create_new_key_pair
from libp2p.peer.id import ID
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.pubsub.pb import rpc_pb2
from libp2p.security.noise.transport import PROTOCOL_ID as NOISE
from libp2p.security.noise.transport import Transport as Noise
from libp2p.tools.anyio_service import background_trio_service
from measure import Collecting, Receiving, Stopwatch, stamped
from multiaddr import Multiaddr
from router import TalkingPubsub

# The library drops what does not fit into its queue of 32.
LONGEST_QUEUE = 16
LONGEST_SILENCE = 30

Command = dict[str, Any]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--router", choices=["gossipsub", "floodsub"], default="gossipsub")
    parser.add_argument("--listen", action="append", default=[])
    parser.add_argument("--dial", action="append", default=[])
    parser.add_argument("--topic", action="append", default=[])
    policies = ["StrictSign", "StrictNoSign", "LaxNoSign"]
    parser.add_argument("--policy", choices=policies, default="StrictSign")
    parser.add_argument("--message-id", choices=["origin_bytes", "sha256"])
    parser.add_argument("--options", type=json.loads, default={})
    return parser.parse_args()


def say(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def complain(do: str, problem: object) -> None:
    say("error", do=do, problem=str(problem))


class Connections(INotifee):
    """Says who comes and goes."""

    async def connected(self, network: INetwork, conn: INetConn) -> None:
        say("peer", id=str(conn.muxed_conn.peer_id), state="connected")

    async def disconnected(self, network: INetwork, conn: INetConn) -> None:
        say("peer", id=str(conn.muxed_conn.peer_id), state="disconnected")

    async def opened_stream(self, network: INetwork, stream: object) -> None:
        pass

    async def closed_stream(self, network: INetwork, stream: object) -> None:
        pass

    async def listen(self, network: INetwork, multiaddr: Multiaddr) -> None:
        pass

    async def listen_close(self, network: INetwork, multiaddr: Multiaddr) -> None:
        pass


class Peer:
    """The node with its commands: each method that is called like one answers it."""

    def __init__(self, host: IHost, settings: argparse.Namespace, nursery: trio.Nursery) -> None:
        self.host = host
        self.pubsub = TalkingPubsub(
            host, settings, on_message=self._on_message, on_subscription=self._on_subscription
        )
        self._nursery = nursery
        self._receiving: Receiving | None = None
        self._collecting: Collecting | None = None
        self._acknowledgements = ""
        self._acknowledged = 0
        self._news = trio.Event()

    async def obey(self, command: Command) -> None:
        do = command.pop("do", "")
        method: Callable[..., Awaitable[Command | None]] | None = COMMANDS.get(do)
        try:
            if method is None:
                raise ValueError(f"no such command: {do}")
            answer = await method(self, **command)
        except Exception as error:
            complain(do, f"{type(error).__name__}: {error}")
        else:
            say(do, **(answer or {}))

    def _in_background(self, do: str, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        async def run() -> None:
            try:
                await work(*args)
            except Exception as error:
                complain(do, f"{type(error).__name__}: {error}")

        self._nursery.start_soon(run)

    # ---- commands

    async def publish(self, topic: str, data_base64: str) -> Command:
        await self.pubsub.publish(topic, base64.b64decode(data_base64))
        # The library does not say to whom it sent it.
        return {"topic": topic, "recipients": None if self.pubsub.subscribers(topic) else []}

    async def publish_many(
        self, topic: str, count: int, size: int = 0, prefix: str = ""
    ) -> Command:
        heard = bool(self.pubsub.subscribers(topic))
        for index in range(count):
            await self._room()
            await self.pubsub.publish(topic, f"{prefix}{index:08}".ljust(size, ".").encode())
        return {"topic": topic, "count": count, "fewest_recipients": None if heard else 0}

    async def subscribe(self, topic: str) -> Command:
        await self.pubsub.subscribe(topic)
        return {"topic": topic}

    async def unsubscribe(self, topic: str) -> Command:
        await self.pubsub.unsubscribe(topic)
        return {"topic": topic}

    async def dial(self, address: str) -> Command:
        target = info_from_p2p_addr(Multiaddr(address))
        await self.host.connect(target)
        return {"address": address, "id": str(target.peer_id)}

    async def peers(self) -> Command:
        def describe(peer: ID) -> Command:
            connections = self.host.get_network().get_connections(peer)
            return {
                "id": str(peer),
                "addresses": [
                    str(address)
                    for connection in connections
                    for address in connection.get_transport_addresses()
                ],
                "sends_on": self.pubsub.router.peer_protocol.get(peer),
                "receives_on": None,
            }

        return {"peers": [describe(peer) for peer in self.host.get_connected_peers()]}

    async def mesh(self, topic: str) -> Command:
        return {"topic": topic, "peers": sorted(str(peer) for peer in self.pubsub.mesh(topic))}

    # ---- benchmarks

    async def bench_publish(self, topic: str, count: int, size: int, window: int) -> Command:
        self._acknowledgements, self._acknowledged = f"{topic}/ack", 0
        await self.pubsub.subscribe(self._acknowledgements)
        self._in_background("bench_publish", self._publish_window, topic, count, size, window)
        return {"topic": topic}

    async def _publish_window(self, topic: str, count: int, size: int, window: int) -> None:
        if not self.pubsub.subscribers(topic):
            raise ValueError("no one is subscribed")
        watch = Stopwatch()
        for index in range(count):
            while index - self._acknowledged >= window:
                await self._acknowledgement()
            await self._room()
            await self.pubsub.publish(topic, stamped(index, size))
        while self._acknowledged < count:
            await self._acknowledgement()
        say("bench", role="publisher", topic=topic, count=count, **watch.read())

    async def _acknowledgement(self) -> None:
        self._news = trio.Event()
        with trio.move_on_after(LONGEST_SILENCE) as limit:
            await self._news.wait()
        if limit.cancelled_caught:
            so_far = self._acknowledged
            raise TimeoutError(f"no acknowledgement for {LONGEST_SILENCE} s, {so_far} so far")

    async def bench_receive(self, topic: str, count: int, window: int) -> Command:
        await self.pubsub.subscribe(topic)
        self._receiving = Receiving(topic, count, window)
        return {"topic": topic}

    async def bench_rate(self, topic: str, rate: float, count: int, size: int) -> Command:
        self._in_background("bench_rate", self._publish_steadily, topic, rate, count, size)
        return {"topic": topic}

    async def _publish_steadily(self, topic: str, rate: float, count: int, size: int) -> None:
        watch, started, latest = Stopwatch(), trio.current_time(), 0.0
        # The library does not say what it dropped.
        for index in range(count):
            due = started + index / rate
            await trio.sleep_until(due)
            latest = max(latest, trio.current_time() - due)
            await self.pubsub.publish(topic, stamped(index, size))
        result = {"role": "publisher", "topic": topic, "count": count, **watch.read()}
        say("bench", **result, failed=0, latest_ms=latest * 1e3)

    async def bench_reset(self, topic: str) -> Command:
        self._collecting = Collecting(topic, self.pubsub.copies)
        return {"topic": topic}

    async def bench_report(self) -> Command:
        if self._collecting is None:
            raise ValueError("bench_reset comes first")
        return self._collecting.report(self.pubsub.copies)

    async def _room(self) -> None:
        while self.pubsub.longest_queue() >= LONGEST_QUEUE:
            await trio.sleep(0.0005)

    # ---- what happens

    def _on_subscription(self, peer: ID, topic: str, subscribe: bool) -> None:
        changes = [{"topic": topic, "subscribe": subscribe}]
        say("subscription-change", id=str(peer), subscriptions=changes)

    def _on_message(self, message: rpc_pb2.Message) -> None:
        topic = message.topicIDs[0]
        if self._collecting is not None and topic == self._collecting.topic:
            self._collecting.add(message.data)
        elif self._receiving is not None and topic == self._receiving.topic:
            self._receive_one(self._receiving)
        elif topic == self._acknowledgements:
            received = int.from_bytes(message.data[:8], "big")
            self._acknowledged = max(received, self._acknowledged)
            self._news.set()
        else:
            say(
                "message",
                topic=topic,
                data_base64=base64.b64encode(message.data).decode(),
                **{"from": str(ID(message.from_id)) if message.from_id else None},
                seqno=str(int.from_bytes(message.seqno, "big")) if message.seqno else None,
            )

    def _receive_one(self, receiving: Receiving) -> None:
        acknowledgement = receiving.add()
        if receiving.complete:
            say("bench", **receiving.report())
            self._receiving = None
        if acknowledgement is not None:
            topic = f"{receiving.topic}/ack"
            self._in_background("bench_receive", self.pubsub.publish, topic, acknowledgement)


COMMANDS = {
    name: method
    for name, method in vars(Peer).items()
    if callable(method) and not name.startswith("_") and name != "obey"
}


async def lines_of_stdin() -> AsyncIterator[bytes]:
    unfinished = b""
    async with trio.lowlevel.FdStream(os.dup(0)) as stdin:
        async for part in stdin:
            *lines, unfinished = (unfinished + part).split(b"\n")
            for line in lines:
                yield line


def make_host() -> IHost:
    key = generate_new_ed25519_identity()
    # By default it would also take clients that do not encrypt.
    noise = Noise(key, noise_privkey=create_new_key_pair().private_key)
    return new_host(key_pair=key, sec_opt={NOISE: noise}, muxer_preference="YAMUX")


async def serve(settings: argparse.Namespace) -> None:
    host = make_host()
    listen = [Multiaddr(address) for address in settings.listen]
    async with host.run(listen_addrs=listen), trio.open_nursery() as nursery:
        host.get_network().register_notifee(Connections())
        peer = Peer(host, settings, nursery)
        async with background_trio_service(peer.pubsub):
            if settings.router == "gossipsub":
                nursery.start_soon(run_router, peer)
            await peer.pubsub.wait_until_ready()
            for topic in settings.topic:
                await peer.pubsub.subscribe(topic)
            say("ready", id=str(host.get_id()), addresses=[str(at) for at in host.get_addrs()])
            for address in settings.dial:
                await peer.obey({"do": "dial", "address": address})
            await obey_stdin(peer)


async def run_router(peer: Peer) -> None:
    async with background_trio_service(peer.pubsub.router):
        await trio.sleep_forever()


async def obey_stdin(peer: Peer) -> None:
    async for line in lines_of_stdin():
        command = json.loads(line)
        if command["do"] == "stop":
            with trio.move_on_after(2):
                await peer.host.close()
            say("stop")
            break
        await peer.obey(command)
    # At once: the services of the library take their time to end.
    os._exit(0)


if __name__ == "__main__":
    trio.run(serve, parse_arguments())
