"""The newest Spark: the tests of batches, streams and the sink, in an environment of its own.

It is kept in the cache outside the tree, as those of the peers of the interoperability tests are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.helpers.interop.real_peers import cached, run_build

ROOT = Path(__file__).parents[3]
REQUIREMENTS = ROOT / "requirements" / "spark-newest.txt"

CORE = {
    "test_batch.py": (
        "a_message_has_the_columns", "topics_are_chosen", "retention_removed",
    ),
    "test_stream.py": (
        "a_restart_goes_on", "available_now", "a_running_stream", "dealt_fairly", "replayed",
        "how_far_a_stream",
    ),
    "test_spool_reader.py": ("a_kept_place",),
    "test_filters.py": ("filtered_in_the_source", "pushes_nothing_down"),
    "test_sink.py": ("rows_are_published", "a_replayed_batch", "equal_rows"),
}  # fmt: skip


def environment() -> Path:
    """The interpreter with the newest Spark; skips or fails the test if there is no way."""

    def build(folder: Path) -> None:
        run_build("spark", [sys.executable, "-m", "venv", "environment"], folder, timeout=120)
        python = str(folder / "environment" / "bin" / "python")
        options = ["--quiet", "--disable-pip-version-check", "--require-hashes"]
        command = [python, "-m", "pip", "install", *options, "-r", str(REQUIREMENTS)]
        run_build("spark", command, folder, timeout=1200)

    name = f"spark{sys.version_info.major}.{sys.version_info.minor}"
    return cached(name, [REQUIREMENTS], build) / "environment" / "bin" / "python"


def describe_rumormill(folder: Path) -> None:
    """What an installation would say: which families there are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    description = folder / f"rumormill-{project['version']}.dist-info"
    description.mkdir()
    named = f"Metadata-Version: 2.1\nName: rumormill\nVersion: {project['version']}\n"
    (description / "METADATA").write_text(named)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (description / "entry_points.txt").write_text("\n".join(lines))


@pytest.mark.interop
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("java")
def test_the_source_and_the_sink_work_on_the_newest_spark(tmp_path: Path) -> None:
    python = environment()
    describe_rumormill(tmp_path)
    words = " or ".join(word for names in CORE.values() for word in names)
    files = [str(Path(__file__).with_name(name)) for name in CORE]
    # Another Spark than the one around it: none of its settings.
    settings = {key: value for key, value in os.environ.items() if "SPARK" not in key}
    settings["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "src", ROOT, tmp_path)))
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", words, *files]
    done = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout and " passed" in done.stdout
    version = [str(python), "-c", "import pyspark; print(pyspark.__version__)"]
    assert subprocess.check_output(version, text=True).startswith("4.3.")
