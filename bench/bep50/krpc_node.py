"""The node of ours that ``bench krpc`` measures: a subscriber that only counts.

python -m bench.bep50.krpc_node NATIVE TOPIC SETTINGS

SETTINGS are those of ``rumormill.open``, as JSON. Says where it is when it is ready, and ends with
its stdin, with the number of messages that it had.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import rumormill
from rumormill.core import ed25519


async def serve(topic: str, settings: dict[str, Any]) -> None:
    """Subscribe, and count until stdin ends."""
    count = 0
    async with (
        rumormill.open("bep50", listen="127.0.0.1:0", **settings) as network,
        network.subscribe(topic) as messages,
    ):

        async def read() -> None:
            nonlocal count
            async for _ in messages:
                count += 1

        reading = asyncio.create_task(read())
        print(json.dumps({"address": network.addresses[0]}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        reading.cancel()
    print(json.dumps({"messages": count}), flush=True)


def main() -> None:
    """Do what the command line says."""
    native, topic, settings = sys.argv[1:]
    if ed25519.use_native(native == "1") != (native == "1"):
        sys.exit("rumormill-native is not installed: make native")
    rumormill.run(serve(topic, json.loads(settings)))


if __name__ == "__main__":
    main()
