"""Many SDKs in one process, each with topics of its own, on one node.

python -m bench.bcos.crowd CERTIFICATES CHANNEL SDKS TOPICS

TOPICS is how many each has. Says so when the node has them all; then each line of stdin,
``{"sdks": [...], "topic": "..."}``, lets each of these SDKs listen to one more.
"""

from __future__ import annotations

import contextlib
import sys

import rumormill
from bench.bcos.load import commands, say


async def serve(certificates: str, channel: str, sdks: int, topics: int) -> None:
    """Connect, subscribe, and do as told until stdin ends."""
    async with contextlib.AsyncExitStack() as stack:

        async def listen(number: int, topic: str) -> None:
            # In each SDK another topic: what is counted is topics, not subscriptions.
            name = f"sdk-{number:03}-{topic}"
            await stack.enter_async_context(networks[number].subscribe(name))

        networks = [
            await stack.enter_async_context(
                rumormill.open("bcos", certificates=certificates, bootstrap=[channel])
            )
            for _ in range(sdks)
        ]
        for number in range(sdks):
            for topic in range(topics):
                await listen(number, f"topic-{topic:05}")
        say(event="ready")
        async for command in commands():
            for number in command["sdks"]:
                await listen(number % sdks, command["topic"])


def main() -> None:
    """Do what the command line says."""
    certificates, channel, sdks, topics = sys.argv[1:]
    rumormill.run(serve(certificates, channel, int(sdks), int(topics)))


if __name__ == "__main__":
    main()
