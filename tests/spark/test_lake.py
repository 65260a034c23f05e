"""The folder of tables: its version, its only writer, its batches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.lake import FORMAT, Lake, TablesError
from rumormill.pipeline.publication import JOURNAL, Publication


def test_tables_of_a_newer_format_are_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "tables.json").write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(TablesError, match=f"have format {FORMAT + 1}, this rumormill knows"):
        Lake(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "new"}', "\x00"])
def test_a_spoilt_description_is_an_error_that_names_the_folder(tmp_path: Path, text: str) -> None:
    (tmp_path / "tables.json").write_text(text)
    with pytest.raises(TablesError, match=str(tmp_path)):
        Lake(tmp_path)


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").touch()
    with pytest.raises(TablesError, match=r"no tables of rumormill's"):
        Lake(tmp_path)


def test_a_name_that_spark_would_take_for_a_pattern_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TablesError, match="are a pattern to Spark"):
        Lake(tmp_path / "run[1]")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TablesError, match="not a folder"):
        Lake(tmp_path / "file")


def test_an_empty_or_new_folder_becomes_one_of_this_format(tmp_path: Path) -> None:
    with Lake(tmp_path / "new" / "tables").writing():
        pass
    assert json.loads((tmp_path / "new/tables/tables.json").read_text())["format"] == FORMAT
    Lake(tmp_path / "new" / "tables")


def test_a_second_writer_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    program = (
        "import sys; from rumormill.pipeline.lake import Lake\n"
        "with Lake(sys.argv[1]).writing(): print('in', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as first:  # fmt: skip
        assert first.stdout is not None
        assert first.stdout.readline() == "in\n"
        with (
            pytest.raises(TablesError, match=rf"another process writes .*\(pid {first.pid}\)"),
            Lake(tmp_path).writing(),
        ):
            pass
        first.kill()
    with Lake(tmp_path).writing():  # the killed one's lock went with it
        pass


def test_a_writer_finishes_what_a_killed_one_began(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with lake.writing():
        fresh = Publication(tmp_path)
        for target in ("bronze/a", "bronze/b"):
            fresh.stage(target).mkdir()
            (fresh.folder / target / "x.parquet").write_text("x")
        (tmp_path / JOURNAL).write_text(
            json.dumps({"id": fresh.folder.name, "targets": ["bronze/a", "bronze/b"]})
        )
    with lake.writing():
        assert (tmp_path / "bronze/a/x.parquet").exists()
        assert (tmp_path / "bronze/b/x.parquet").exists()


def test_the_java_of_a_killed_run_is_waited_for(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Java locks a file as fcntl does: this stands for the process that outlived its Python.
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print('in', flush=True); sys.stdin.read()"
    )
    lake = Lake(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "_lock.java")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        (tmp_path / "_lock").touch()
        monkeypatch.setattr("rumormill.pipeline.lake.PATIENCE", 0.2)
        with pytest.raises(TablesError, match="an earlier run"), lake.writing(spark):
            pass
        other.kill()
    with lake.writing(spark):
        pass
    with lake.writing(spark):  # released in between
        pass


def test_a_checkpoint_that_is_older_than_its_table_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with lake.writing():
        lake.check_checkpoint("trace")
        os.makedirs(lake.bronze("trace") / "batch_id=3")
        with pytest.raises(TablesError, match=r"up to 3, its checkpoint .* only up to -1"):
            lake.check_checkpoint("trace")
        offsets = lake.checkpoint("trace") / "offsets"
        offsets.mkdir(parents=True)
        (offsets / "3").touch()
        lake.check_checkpoint("trace")
