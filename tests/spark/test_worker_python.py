"""Spark's workers run the installed pyspark, not the copy in a zip that each had to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.worker_python import worker_python

ZIPS = Path(pyspark.__file__).parent / "python" / "lib"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(program: Path, code: str, path: str) -> str:
    environment = {**os.environ, "PYTHONPATH": path}
    command = [str(program), "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.usefixtures("cache")
def test_it_takes_sparks_zips_off_the_path_and_nothing_else(tmp_path: Path) -> None:
    others = [str(tmp_path / "with a space"), str(tmp_path / "jobs.zip")]
    path = os.pathsep.join(
        [str(ZIPS / "pyspark.zip"), others[0], str(ZIPS / "py4j.zip"), others[1]]
    )
    said = run(worker_python(), "import os; print(os.environ['PYTHONPATH'])", path)
    assert said == os.pathsep.join(others)


@pytest.mark.usefixtures("cache")
def test_it_is_this_python_with_the_installed_pyspark() -> None:
    program = worker_python()
    assert program != Path(sys.executable)
    code = "import pyspark, sys; print(sys.prefix, pyspark.__file__)"
    assert run(program, code, str(ZIPS / "pyspark.zip")) == f"{sys.prefix} {pyspark.__file__}"


@pytest.mark.usefixtures("cache")
def test_arguments_reach_python_as_they_are() -> None:
    command = [str(worker_python()), "-c", "import sys; print(sys.argv[1:])", "a b", "*", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['a b', '*', '']"


@pytest.mark.usefixtures("cache")
def test_a_pyspark_that_a_worker_would_not_find_is_left_to_the_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "pyspark" / "__init__.py"))
    assert worker_python() == Path(sys.executable)


def test_where_nothing_can_be_written_python_itself_is_used(cache: Path) -> None:
    cache.write_text("a file, where a folder is wanted")
    assert worker_python() == Path(sys.executable)


def test_the_workers_of_a_session_find_the_installed_pyspark(spark: SparkSession) -> None:
    def where(_: int) -> str:
        import pyspark

        return str(pyspark.__file__)

    assert spark.sparkContext.parallelize([0], 1).map(where).collect() == [pyspark.__file__]
