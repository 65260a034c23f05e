"""A node whose spool is on a small file system, which it fills; for a test that looks on.

    python full_disk_node.py FOLDER

FOLDER is the mount point. Two nodes of one process talk to each other; one of them keeps a spool.
Messages are published until nothing more fits, then room is made and some more are published. The
last line of the output says, in JSON, what came of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import rumormill
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.tap import attach, open_spool
from rumormill.core.trace import TraceEvent

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
PATIENCE = 60.0
ROUND = 20
SIZE = 8 * 1024


async def main(folder: Path) -> dict[str, Any]:
    """Fill the disk, make room, and say what happened."""
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(700 * 1024))
    few = SpoolParameters(
        buffer_records=30, batch_records=10, linger=0.001, records=("messages",),
        retention_bytes="all",
    )  # fmt: skip
    events: list[TraceEvent] = []
    resumed = asyncio.Event()

    def note(event: TraceEvent) -> None:
        if event.event.startswith("spool_") or event.fields.get("what") == "captured_message":
            events.append(event)
            if event.event == "spool_resumed":
                resumed.set()

    async with (
        open_spool(folder / "spool", few) as writer,
        rumormill.open("floodsub", listen=LOOPBACK) as network,
        rumormill.open("floodsub", bootstrap=network.addresses) as other,
    ):
        attach(network, writer)
        network.on_trace(note)
        async with network.subscribe("weather") as messages:
            sent: list[bytes] = []
            received: list[bytes] = []

            async def exchange(count: int) -> None:
                for _ in range(count):
                    sent.append(b"%d" % len(sent) + b"." * SIZE)
                    await other.publish("weather", sent[-1], ready=PATIENCE)
                while len(received) < len(sent):
                    async with asyncio.timeout(PATIENCE):
                        received.append((await anext(messages)).data)

            while not events:
                await exchange(ROUND)
            await exchange(10 * ROUND)
            lost = writer.lost["messages"]
            ballast.unlink()
            await asyncio.wait_for(resumed.wait(), PATIENCE)
            await exchange(ROUND)
            assert await asyncio.to_thread(writer.flush)
        counters = {key: count for key, count in network.counters.items() if "dropped" in key}
        written = writer.written["messages"]
    log = LocalLog(folder / "spool", "messages")
    bounds = log.bounds()
    rows = [row for _, batch in log.read(*bounds) for row in batch.column("value").to_pylist()]
    return {
        "sent": len(sent),
        "received": received == sent,
        "lost": lost,
        "written": written,
        "kept": len(rows),
        "kept_last": rows[-ROUND:] == sent[-ROUND:],
        "in_order": rows == [each for each in sent if each in set(rows)],
        "offsets": bounds,
        "events": [[event.event, dict(event.fields)] for event in events],
        "counters": counters,
    }


if __name__ == "__main__":
    print(json.dumps(rumormill.run(main(Path(sys.argv[1])))), flush=True)
    os._exit(0)  # the file system goes with this process
