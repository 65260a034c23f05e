"""Fuzz every reader that there is (``tests/helpers/fuzz/readers.py``): any bytes, and what its
format is made of, in any order and repeated, in pieces. It reads them or says no."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from tests.helpers.fuzz.readers import READERS, REFUSALS, Reader

# Rows are read by Arrow, and made up by this reader: there is nothing to fuzz in it.
FUZZED = [reader for reader in READERS if reader.name != "rows over HTTP"]
PIECES = [0, 1, 3, 100]


def made_up(choices: Choices, reader: Reader) -> bytes:
    """Words of the format, beginnings of what may be repeated in it, and bytes."""
    pumps = list(reader.pumps.values())
    wire = bytearray()
    while choices:
        kind = choices.number(4)
        if kind == 0 and reader.words:
            wire += reader.words[choices.number(len(reader.words))]
        elif kind == 1:
            wire += choices.take(choices.number(20))
        elif len(wire) < 4000:
            pump = pumps[choices.number(len(pumps))]
            wire += pump.before * (kind & 1) + pump.again * choices.number(40) + pump.after
    return bytes(wire)


def target(data: bytes) -> None:
    choices = Choices(data)
    reader = FUZZED[choices.number(len(FUZZED))]
    piece = PIECES[choices.number(len(PIECES))]
    raw = made_up(choices, reader) if choices.number(2) else choices.take(len(data))
    with contextlib.suppress(*REFUSALS):
        reader.read(raw, piece)


SEEDS = [
    bytes((number, piece, mode, *inside))
    for number in range(len(FUZZED))
    for piece, mode, inside in ((0, 0, b"d1:a"), (1, 1, (2, 0, 30)), (2, 1, (3, 1, 3, 0, 2, 1, 9)))
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
