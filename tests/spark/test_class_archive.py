"""Java uses the archive of classes where there is one that fits, and does without it elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from rumormill.pipeline import class_archive
from rumormill.pipeline.class_archive import archive_options, archive_path

JAVA = Path("/opt/java")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(class_archive.MAKING, raising=False)


def test_without_an_archive_java_starts_as_ever() -> None:
    assert archive_options(JAVA, "a.jar") == ""


def test_an_archive_is_used_for_what_it_was_made_from_and_nothing_else() -> None:
    path = archive_path(JAVA, "a.jar")
    path.parent.mkdir(parents=True)
    path.touch()
    assert archive_options(JAVA, "a.jar").endswith(f"-XX:SharedArchiveFile={path}")
    assert archive_options(JAVA, "b.jar") == ""
    assert archive_options(Path("/opt/other"), "a.jar") == ""


def test_it_is_made_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(class_archive.MAKING, "1")
    path = archive_path(JAVA, "a.jar")
    assert archive_options(JAVA, "a.jar").endswith(f"-XX:ArchiveClassesAtExit={path}")
    assert path.parent.is_dir()
