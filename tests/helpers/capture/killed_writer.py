"""A writer that a test kills: numbered messages, one after the other, for ever.

    python killed_writer.py FOLDER FIRST FSYNC

Prints the number of a message once it, and all before it, can be read.
"""

from __future__ import annotations

import sys
from itertools import count

from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import NODE, message

BURST = 50


def main(folder: str, first: int, fsync: str) -> None:
    """Write until killed."""
    parameters = SpoolParameters(
        fsync=fsync,  # type: ignore[arg-type]  # text is turned into what the key wants
        linger=0.001,
        batch_records=20,
        segment_bytes=65_536,
    )
    writer = SpoolWriter(folder, parameters, live=False)
    print("ready", flush=True)
    for number in count(first):
        writer.message(message(number, size=100), NODE)
        if number % BURST == 0 and writer.flush():
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
