from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.cli.networks.pub import Tally, lines_of, read_lines, read_message
from rumormill.core.errors import MessageTooLargeError
from rumormill.core.receipt import Outcome, Receipt


def pipe_with(chunks: list[bytes]) -> int:
    """The reading end of a pipe that these chunks come through, one write each."""
    reader, writer = os.pipe()

    def write() -> None:
        with open(writer, "wb", buffering=0) as file:
            for chunk in chunks:
                file.write(chunk)

    threading.Thread(target=write).start()
    return reader


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_lines_do_not_depend_on_how_they_were_cut(chunks: list[bytes]) -> None:
    reader = pipe_with(chunks)
    lines = list(read_lines(reader, largest=10_000))
    os.close(reader)
    whole = b"".join(chunks)
    expected = whole.split(b"\n")
    last = expected.pop()
    expected = [line.removesuffix(b"\r") for line in expected]
    assert lines == expected + ([last] if last else [])


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader = pipe_with([b"x" * 200])
    with pytest.raises(MessageTooLargeError):
        list(read_lines(reader, largest=100))
    os.close(reader)


async def test_lines_are_handed_over_as_they_come_and_errors_too() -> None:
    reader = pipe_with([b"one\ntwo\n", b"x" * 200])
    lines = lines_of(reader, largest=100)
    assert [await anext(lines), await anext(lines)] == [b"one", b"two"]
    with pytest.raises(MessageTooLargeError):
        await anext(lines)
    os.close(reader)


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x" * 100)
    assert read_message(path, largest=100) == b"x" * 100
    with pytest.raises(MessageTooLargeError, match="100 bytes"):
        read_message(path, largest=99)


def test_what_may_have_arrived_is_not_counted_as_what_went_to_nobody() -> None:
    tally = Tally()
    for outcome, reached in (
        (Outcome.DELIVERED, ("b",)),
        (Outcome.UNKNOWN, ()),
        (Outcome.NO_SUBSCRIBER, ()),
    ):
        tally.count(Receipt(b"1", "weather", reached, fields={"outcome": outcome}))
    tally.count(Receipt(b"2", "weather", ("b",)))
    tally.count(Receipt(b"3", "weather"))
    tally.count(Receipt(b"4", "weather", fields={"stored": 8}))
    assert (tally.published, tally.unknown, tally.to_nobody) == (6, 1, 2)
