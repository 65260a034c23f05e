"""Publishes rows to a node of ours at a steady rate; prints what it did as JSON.

python -m bench.spark.publisher ADDRESS RATE ROWS SIZE
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import rumormill
from bench.spark.rows import TOPIC, Rows, due

TICK = 0.001
"""Seconds between two looks at the clock."""
PATIENCE = 20.0
"""Seconds until the node at the other end has said that it listens."""


async def publish(address: str, rate: float, count: int, size: int) -> dict[str, int]:
    """Send each row when it is due."""
    rows = Rows(size)
    nobody = sent = 0
    async with rumormill.open("gossipsub", bootstrap=[address]) as network:
        await network.wait_for_peers(TOPIC, timeout=PATIENCE)
        began = time.monotonic()
        while sent < count:
            for _ in range(due(rate, count, began, time.monotonic(), sent)):
                receipt = await network.publish(TOPIC, rows.value(sent, time.time_ns() // 1000))
                nobody += not receipt.peers
                sent += 1
            await asyncio.sleep(TICK)
    return {"rows": sent, "left": nobody, "failed": 0}


def main() -> None:
    """Do what the command line says."""
    address, *numbers = sys.argv[1:]
    rate, count, size = (int(number) for number in numbers)
    print(json.dumps(rumormill.run(publish(address, rate, count, size))))


if __name__ == "__main__":
    main()
