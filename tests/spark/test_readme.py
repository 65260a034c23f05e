"""The README's way from a topic to a streaming DataFrame, as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
REPORTS = ("rain at noon", "sun at three")
PATIENCE = 100


def program() -> str:
    """The program, but it ends when it has read everything."""
    found: str
    (found,) = [
        each
        for each in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        if 'format("rumormill")' in each
    ]
    assert len(found.strip().splitlines()) <= 14
    return found.replace(".awaitTermination()", ".processAllAvailable()")


def command(words: str) -> list[str]:
    """The command of the README that begins with this, run by the Python that runs the tests."""
    (line,) = re.findall(rf"^rumormill {words} .*$", README, re.MULTILINE)
    return [sys.executable, "-m", "rumormill.cli", *shlex.split(line)[1:]]


@contextmanager
def running_node(folder: Path) -> Iterator[dict[str, Any]]:
    """The node of the README on free ports; what it says when it is ready."""
    arguments = [
        each.replace("tcp/4001", "tcp/0").replace("127.0.0.1:7700", "127.0.0.1:0")
        for each in command("node --topic weather")
    ]
    node = subprocess.Popen([*arguments, "--json"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    with node:
        try:
            yield json.loads(node.stdout.readline())
        finally:
            node.terminate()
            node.communicate(timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("java")
def test_the_readme_turns_a_topic_into_a_streaming_dataframe(tmp_path: Path) -> None:
    with running_node(tmp_path) as ready:
        subprocess.run(
            [sys.executable, "-m", "rumormill.cli", "pub", "weather", "--peer",
             ready["addresses"][0]],
            input="\n".join(REPORTS), text=True, check=True, timeout=PATIENCE, capture_output=True,
        )  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", program().replace("http://127.0.0.1:7700", ready["http"])],
            text=True, capture_output=True, cwd=tmp_path, timeout=2 * PATIENCE,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for report in REPORTS:
        assert report in done.stdout
    assert (tmp_path / "spool" / "spool.json").exists()
