from __future__ import annotations

import asyncio
import os
import threading

import pytest

from rumormill.cli.words.output import MOST_WAITING, LineWriter


@pytest.fixture
def pipe() -> tuple[int, int]:
    return os.pipe()


async def test_lines_come_out_in_order_and_close_waits_for_them(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    writer = LineWriter(descriptor)
    for number in range(100):
        await writer.write(str(number))
    await writer.close()
    os.close(descriptor)
    with open(reader, "rb") as file:
        assert file.read().split() == [str(number).encode() for number in range(100)]


async def test_a_reader_that_does_not_read_makes_the_writer_wait_not_the_loop(
    pipe: tuple[int, int],
) -> None:
    reader, descriptor = pipe
    writer = LineWriter(descriptor)
    written = 0

    async def write_without_end() -> None:
        nonlocal written
        while True:
            await writer.write("x" * 1000)
            written += 1

    task = asyncio.create_task(write_without_end())
    last = -1
    while last != written:  # until nothing moves any more
        last = written
        await asyncio.sleep(0.05)
    assert not task.done()
    assert written >= MOST_WAITING
    task.cancel()
    drained = threading.Thread(target=_drain, args=(reader,))
    drained.start()
    await writer.close()
    os.close(descriptor)
    drained.join()


async def test_a_reader_that_went_away_is_told_once_and_writing_raises(
    pipe: tuple[int, int],
) -> None:
    reader, descriptor = pipe
    os.close(reader)
    writer = LineWriter(descriptor)
    broken = asyncio.Event()
    writer.on_broken = broken.set
    await writer.write("nobody reads this")
    await asyncio.wait_for(broken.wait(), 5)
    with pytest.raises(BrokenPipeError):
        await writer.write("nor this")
    await writer.close()
    os.close(descriptor)


async def test_a_non_blocking_descriptor_loses_nothing(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    os.set_blocking(descriptor, False)
    writer = LineWriter(descriptor)
    chunks: list[bytes] = []
    drained = threading.Thread(target=_drain, args=(reader, chunks))
    for _ in range(300):
        await writer.write("y" * 1000)
    await asyncio.sleep(0.1)  # until the pipe is full
    drained.start()
    await writer.close()
    os.close(descriptor)
    await asyncio.to_thread(drained.join)
    assert sum(map(len, chunks)) == 300 * 1001


def _drain(reader: int, chunks: list[bytes] | None = None) -> None:
    with open(reader, "rb", buffering=0) as file:
        while data := file.read(65536):
            if chunks is not None:
                chunks.append(data)
