"""The jars of the table format: found where Spark and Maven keep them, fetched, or one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rumormill.core.errors import ConfigError
from rumormill.pipeline.lake import jars
from rumormill.system.tables_location import parse_tables
from tests.helpers.places import environment
from tests.helpers.ports import HOST, own_port

COORDINATE = "org.example.tables:format:1.0"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user who never fetched anything, on a machine that reaches nobody."""
    monkeypatch.setenv("HOME", str(tmp_path))
    nobody = own_port()
    options = [f"-Duser.home={tmp_path}"]  # Java does not ask HOME
    for kind in ("http", "https"):
        options += [f"-D{kind}.proxyHost={HOST}", f"-D{kind}.proxyPort={nobody}"]
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", " ".join(options))
    return tmp_path


@pytest.mark.parametrize(
    "place",
    [
        ".ivy2.5.2/jars/org.example.tables_format-1.0.jar",
        ".ivy2/jars/org.example.tables_format-1.0.jar",
        ".m2/repository/org/example/tables/format/1.0/format-1.0.jar",
    ],
)
def test_a_jar_that_is_there_is_used_as_it_is(home: Path, place: str) -> None:
    assert jars.find(COORDINATE) is None
    path = home / place
    path.parent.mkdir(parents=True)
    path.touch()
    assert jars.local_jars([COORDINATE]) == [path]


@pytest.mark.usefixtures("home", "java")
def test_maven_central_out_of_reach_is_one_sentence_with_what_to_do() -> None:
    with pytest.raises(ConfigError) as error:
        jars.local_jars([COORDINATE])
    assert error.value.key == "--tables"
    assert COORDINATE in error.value.problem and "Maven Central" in error.value.problem
    assert "spark.jars.repositories" in error.value.problem and "\n" not in error.value.problem


@pytest.mark.usefixtures("home")
def test_a_fetch_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(command: list[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(jars, "java_home", lambda: Path("java"))
    monkeypatch.setattr(subprocess, "run", endless)
    with pytest.raises(ConfigError, match=r"within 600 s; .*Maven Central"):
        jars.fetch([COORDINATE])


@pytest.mark.usefixtures("home", "java")
def test_setup_goes_on_with_a_sentence_where_nothing_can_be_fetched() -> None:
    command = [sys.executable, "-m", "rumormill.pipeline.lake.jars"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=200)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "iceberg-spark-runtime" in done.stderr


def test_a_users_own_catalog_needs_no_jar_of_ours() -> None:
    assert jars.needed(parse_tables("catalog:glue")) == []
