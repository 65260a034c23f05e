"""One of two processes that send each other many signed messages: see test_hundred_thousand.py.

Started with a count and, in the second process, the address of the first. Prints its address, then
one JSON object that tells what arrived.
"""

from __future__ import annotations

import asyncio
import json
import sys

import rumormill

TOPIC = "exchange"
SIZE = 200


async def main(count: int, address: str | None) -> None:
    opened = rumormill.open(
        "gossipsub",
        listen="/ip4/127.0.0.1/tcp/0",
        bootstrap=[address] if address else [],
        deliver_own=False,
    )
    async with opened as network:
        messages = network.subscribe(TOPIC)
        print(network.addresses[0], flush=True)
        await network.wait_for_peers(TOPIC, timeout=60)
        publishing = asyncio.create_task(publish(network, count))
        arrived: list[int] = []
        async with asyncio.timeout(240):
            while len(arrived) < count:
                message = await messages.get()
                arrived.append(int.from_bytes(message.data[:8], "big"))
        dropped = await publishing
        # The other may still be reading what we sent: wait until it has left of its own accord.
        print(json.dumps(report(network, arrived, dropped)), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


async def publish(network: rumormill.Network, count: int) -> int:
    dropped = 0
    for number in range(count):
        data = number.to_bytes(8, "big").ljust(SIZE, b".")
        receipt = await network.publish(TOPIC, data, timeout=60)
        dropped += len(receipt.dropped) + (not receipt.peers)
    return dropped


def report(network: rumormill.Network, arrived: list[int], dropped: int) -> dict[str, object]:
    return {
        "arrived": len(arrived),
        "different": len(set(arrived)),
        "in_order": arrived == sorted(arrived),
        "dropped_by_us": dropped,
        "counters": dict(network.counters),
    }


if __name__ == "__main__":
    rumormill.run(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
