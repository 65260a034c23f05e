from __future__ import annotations

import asyncio

from rumormill.live.waiting.changes import Changes


async def test_a_condition_that_holds_needs_no_waiting() -> None:
    assert await Changes().until(lambda: True, 0.0)


async def test_everybody_who_waits_looks_again_when_something_happened() -> None:
    changes, done = Changes(), False
    waiting = [asyncio.ensure_future(changes.until(lambda: done, 5)) for _ in range(3)]
    await asyncio.sleep(0)
    changes.happened()
    await asyncio.sleep(0.01)
    assert not any(each.done() for each in waiting)
    done = True
    changes.happened()
    assert await asyncio.gather(*waiting) == [True] * 3
    assert changes.waiting == 0


async def test_waiting_ends_with_its_time() -> None:
    assert not await Changes().until(lambda: False, 0.01)


async def test_one_that_is_cancelled_leaves_the_others_waiting() -> None:
    changes, done = Changes(), False
    first = asyncio.ensure_future(changes.until(lambda: done, 5))
    second = asyncio.ensure_future(changes.until(lambda: done, 5))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    done = True
    changes.happened()
    assert await second
