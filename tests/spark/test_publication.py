"""Folders go into the tables together: whatever moment a process is killed in."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rumormill.pipeline import exchange, publication
from rumormill.pipeline.publication import JOURNAL, STAGING, Publication, recover
from rumormill.system import files

OLD = {"bronze/a/x.parquet": "old a", "bronze/b/x.parquet": "old b"}
NEW = {"bronze/a/y.parquet": "new a", "bronze/b/x.parquet": "new b", "bronze/c/z.parquet": "new c"}


class Killed(BaseException):
    """The process ended here."""


def content(root: Path) -> dict[str, str]:
    """What a reader with a plain glob sees."""
    files = (path for top in root.glob("[!_]*") for path in top.rglob("*.parquet"))
    return {str(path.relative_to(root)): path.read_text() for path in files}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def prepare(root: Path, targets: tuple[str, ...] = ("a", "b", "c")) -> Publication:
    """Tables with a and b, and a publication of new a, b and c, not yet committed."""
    write(root, OLD)
    fresh = Publication(root)
    for target in targets:
        fresh.stage(f"bronze/{target}")
    write(fresh.folder, only(NEW, targets))
    return fresh


def only(files: dict[str, str], targets: tuple[str, ...]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name.split("/")[1] in targets}


def without_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_find_call", lambda: lambda one, other: errno.ENOSYS)


@pytest.fixture(params=["at once", "by renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "by renames":
        without_exchange(monkeypatch)
    return str(request.param)


def steps(monkeypatch: pytest.MonkeyPatch, kill_at: int) -> Callable[[], int]:
    """Count what changes the disk, and end the process just before step ``kill_at``."""
    done = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            if done == kill_at:
                raise Killed
            done += 1
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(os, "rename", counted(os.rename))
    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    monkeypatch.setattr(publication, "exchange", counted(exchange.exchange))
    for module in (publication, files):
        monkeypatch.setattr(module, "sync_folder", counted(files.sync_folder))
    monkeypatch.setattr(shutil, "rmtree", counted(shutil.rmtree))
    return lambda: done


def places_to_die() -> Iterator[int]:
    yield from range(60)


def test_a_publication_replaces_folders_and_adds_new_ones(tmp_path: Path, way: str) -> None:
    prepare(tmp_path).commit()
    assert content(tmp_path) == NEW
    assert not (tmp_path / JOURNAL).exists()
    assert not list((tmp_path / STAGING).iterdir())


@pytest.mark.parametrize("targets", [("a", "b", "c"), ("a",), ("c",)], ids="".join)
def test_whenever_it_is_killed_all_folders_are_new_after_recovery_or_none(
    tmp_path: Path, way: str, targets: tuple[str, ...]
) -> None:
    outcomes = set()
    untouched = only(OLD, tuple({"a", "b"} - {*targets}))
    new = {**untouched, **only(NEW, targets)}
    for kill_at in places_to_die():
        root = tmp_path / str(kill_at)
        fresh = prepare(root, targets)
        with pytest.MonkeyPatch.context() as patch:
            done = steps(patch, kill_at)
            if way == "by renames":
                without_exchange(patch)
            try:
                fresh.commit()
            except Killed:
                killed = True
            else:
                killed = False
        recover(root)
        assert content(root) in (OLD, new), kill_at
        assert not (root / JOURNAL).exists()
        outcomes.add("old" if content(root) == OLD else "new")
        if not killed:
            assert done() == kill_at
            break
    else:
        pytest.fail("the publication never came to its end")
    assert outcomes == {"old", "new"}


def test_a_recovery_that_is_killed_is_taken_up_by_the_next(tmp_path: Path, way: str) -> None:
    for kill_at in places_to_die():
        root = tmp_path / str(kill_at)
        fresh = prepare(root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(publication, "finish", lambda *arguments: None)
            fresh.commit()  # killed when the journal was written
        with pytest.MonkeyPatch.context() as patch:
            steps(patch, kill_at)
            try:
                recover(root)
            except Killed:
                killed = True
            else:
                killed = False
        recover(root)
        assert content(root) == NEW, kill_at
        if not killed:
            return
    pytest.fail("the recovery never came to its end")


def test_a_replaced_folder_is_never_missing_where_folders_can_change_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = prepare(tmp_path)
    real = exchange.exchange

    def watched(one: Path, other: Path) -> None:
        assert other.exists()
        real(one, other)
        assert other.exists() and one.exists()

    def forbidden(one: Path, other: Path) -> None:
        pytest.fail("two renames, though the system has a call for it")

    monkeypatch.setattr(exchange, "by_renames", forbidden)
    monkeypatch.setattr(publication, "exchange", watched)
    fresh.commit()
    assert content(tmp_path) == NEW


def test_what_spark_leaves_beside_its_files_stays_outside(tmp_path: Path) -> None:
    fresh = Publication(tmp_path)
    folder = fresh.stage("bronze/a")
    write(folder, {"part.parquet": "", "_SUCCESS": "", ".part.parquet.crc": ""})
    fresh.commit()
    names = {path.name for path in (tmp_path / "bronze/a").iterdir()}
    assert names == {"part.parquet", "_published"}


def test_kept_files_are_links_and_not_copies(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    fresh = Publication(tmp_path)
    fresh.stage("bronze")
    fresh.keep("bronze/a", tmp_path / "bronze/a")
    inode = (tmp_path / "bronze/a/x.parquet").stat().st_ino
    fresh.commit()
    assert content(tmp_path) == {"bronze/a/x.parquet": "old a"}
    assert (tmp_path / "bronze/a/x.parquet").stat().st_ino == inode


def test_without_links_kept_files_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    write(tmp_path, OLD)
    fresh = Publication(tmp_path)
    fresh.stage("bronze")
    fresh.keep("bronze/b", tmp_path / "bronze/b")
    fresh.commit()
    assert content(tmp_path) == {"bronze/b/x.parquet": "old b"}
