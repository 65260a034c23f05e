from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.node import ledger as ledger_module
from rumormill.node.ledger import Ledger
from rumormill.system.files import replace_file


async def test_the_same_key_and_content_is_known_over_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "published"
    ledger = Ledger(file)
    assert not ledger.knows("query/7/0", b"digest")
    await ledger.record("query/7/0", b"digest")
    for each in (ledger, Ledger(file)):
        assert each.knows("query/7/0", b"digest")
        assert not each.knows("query/7/1", b"digest")


async def test_the_same_key_with_other_content_is_not_known(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "published")
    await ledger.record("query/7/0", b"one")
    assert not ledger.knows("query/7/0", b"two")
    await ledger.record("query/7/0", b"two")
    assert Ledger(tmp_path / "published").knows("query/7/0", b"two")


async def test_the_newest_are_kept_and_the_file_stays_small(tmp_path: Path) -> None:
    file = tmp_path / "published"
    ledger = Ledger(file, most=10)
    for number in range(100):
        await ledger.record(f"query/{number}/0", b"digest")
        assert file.read_bytes().count(b"\n") <= 20
    again = Ledger(file, most=10)
    for each in (ledger, again):
        assert len(each) == 10
        assert each.knows("query/99/0", b"digest")
        assert not each.knows("query/89/0", b"digest")


async def test_a_line_that_was_torn_is_left_out_and_written_over(tmp_path: Path) -> None:
    file = tmp_path / "published"
    ledger = Ledger(file)
    await ledger.record("query/1/0", b"digest")
    await ledger.record("query/2/0", b"digest")
    file.write_bytes(file.read_bytes()[:-5])
    again = Ledger(file)
    assert again.knows("query/1/0", b"digest")
    assert not again.knows("query/2/0", b"digest")
    await again.record("query/3/0", b"digest")
    assert Ledger(file).knows("query/3/0", b"digest")


async def test_batches_that_are_recorded_at_the_same_time_are_all_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "published"
    ledger = Ledger(file, most=40)
    real = replace_file

    def slowly(path: Path, content: bytes, **options: Any) -> None:
        time.sleep(0.01)  # others are recorded meanwhile, and some want to write it anew, too
        real(path, content, **options)

    monkeypatch.setattr(ledger_module, "replace_file", slowly)
    for round in range(20):
        keys = [f"query/{round}/{number}" for number in range(20)]
        await asyncio.gather(*(ledger.record(key, b"digest") for key in keys))
        again = Ledger(file, most=40)
        assert all(again.knows(key, b"digest") for key in keys)


@given(st.binary(max_size=200))
def test_any_file_can_be_loaded(tmp_path_factory: object, content: bytes) -> None:
    file = tmp_path_factory.mktemp("ledger") / "published"  # type: ignore[attr-defined]
    file.write_bytes(content)
    assert len(Ledger(file)) <= content.count(b"\n") + 1


async def test_a_repetition_waits_for_the_first() -> None:
    ledger = Ledger(None)
    assert not ledger.durable
    order = []

    async def publish(name: str) -> None:
        async with ledger.one_at_a_time("query/1/0"):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(publish("first"), publish("second"))
    assert order == ["first begins", "first ends", "second begins", "second ends"]
