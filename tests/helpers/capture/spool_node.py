"""A node that captures and serves at the same time, as a process that a test kills.

    python spool_node.py FOLDER PORT RECORDS

Goes on where the spool ends, until it has so many records, and serves it over HTTP all the while.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from rumormill.capture.open import open_log
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import MESSAGES
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.node.app import NodeParts
from rumormill.node.server import serve
from rumormill.node.settings import HttpSettings
from tests.helpers.capture.many_records import message_batch

BATCH = 5_000
PAUSE = 0.05
"""Seconds between two batches, so that the spool grows while it is read."""


def capture(folder: Path, records: int) -> None:
    """Append messages until there are enough."""
    parameters = SpoolParameters(fsync="never", segment_bytes=4 << 20)
    with SpoolWriter(folder, parameters, live=False) as writer:
        while (number := open_log(folder, MESSAGES).bounds().latest) < records:
            writer.batch(MESSAGES, message_batch(number, min(BATCH, records - number)))
            writer.flush()
            time.sleep(PAUSE)


async def main(folder: Path, port: int, records: int) -> None:
    """Capture and serve, until killed."""
    capturing = asyncio.get_running_loop().run_in_executor(None, capture, folder, records)
    while not (folder / "spool.json").exists():
        await asyncio.sleep(0.01)
    async with serve(NodeParts([], folder), HttpSettings("127.0.0.1", port)) as address:
        print(address, flush=True)
        await capturing
        print("captured", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
