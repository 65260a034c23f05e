from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from rumormill.bep50.live.state_file import StateFile, read_state
from rumormill.core.errors import ConfigError


class Kept:
    """A state that changes, its file, and what went wrong with it."""

    def __init__(self, path: Path, interval: float = 0.01) -> None:
        self.path = path
        self.state = b"first"
        self.problems: list[str] = []
        self.file = StateFile(path, interval, lambda: self.state, self.problems.append)

    async def until(self, content: bytes) -> None:
        async with asyncio.timeout(10):
            while self.path.read_bytes() != content:
                await asyncio.sleep(0.005)


async def test_the_state_is_written_at_the_start_now_and_then_and_at_the_end(
    tmp_path: Path,
) -> None:
    kept = Kept(tmp_path / "state")
    assert read_state(kept.path) is None
    await kept.file.start()
    assert kept.path.read_bytes() == b"first"
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    kept.state = b"second"
    await kept.until(b"second")
    await kept.file.close(b"last")
    assert read_state(kept.path) == b"last"
    assert list(tmp_path.iterdir()) == [kept.path]


async def test_what_has_not_changed_is_not_written_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "state", interval=3600)
    await kept.file.start()
    before = kept.path.stat().st_ino
    await kept.file.close(b"first")
    assert kept.path.stat().st_ino == before


async def test_a_place_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "absent" / "state")
    with pytest.raises(ConfigError) as caught:
        await kept.file.start()
    path = tmp_path / "absent" / "state"
    assert str(caught.value) == f"state_file: cannot write {path}: No such file or directory"
    await kept.file.close(b"last")  # nothing was begun, so nothing is written


async def test_a_disk_that_fails_costs_the_state_and_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    kept = Kept(folder / "state", interval=3600)
    await kept.file.start()
    kept.path.unlink()
    folder.rmdir()
    await kept.file.close(b"last")
    assert kept.problems == ["No such file or directory"]


def test_a_folder_is_no_state(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"state_file: {tmp_path} is a folder"):
        read_state(tmp_path)
