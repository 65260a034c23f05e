"""The family of docs/embedding.md is installed from a folder, and everything generic has it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.helpers.cli.command import StartCommand
from tests.helpers.places import DOCS, environment

SECTION = (DOCS / "embedding.md").read_text().partition("## A family of your own")[2]
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", SECTION, re.DOTALL)
(PROJECT,) = [text for language, text in BLOCKS if language == "toml"]
MODULE, LIVE, SIMULATED = [text for language, text in BLOCKS if language == "python"]


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the distribution installed."""
    source, installed = tmp_path_factory.mktemp("shout"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "rumormill_shout.py").write_text(MODULE)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-build-isolation", "--target", str(installed), str(source)],
        check=True,
    )  # fmt: skip
    own = environment()
    return {**own, "PYTHONPATH": f"{installed}:{own['PYTHONPATH']}"}


def printed(program: str, surroundings: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=surroundings, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def said(program: str) -> str:
    """What the program says that it prints."""
    (line,) = re.findall(r"# prints: (.*)", program)
    return f"{line}\n"


def test_it_is_opened_like_any_other_network(surroundings: dict[str, str]) -> None:
    assert printed(LIVE, surroundings) == said(LIVE)


def test_it_runs_in_the_simulator(surroundings: dict[str, str]) -> None:
    assert printed(SIMULATED, surroundings) == said(SIMULATED)


def test_sub_and_pub_speak_it(surroundings: dict[str, str], start: StartCommand) -> None:
    network = ["weather", "--network", "shout", "--json"]
    listening = start("sub", *network, "--count", "1", env=surroundings)
    (address,) = listening.event("ready")["addresses"]
    speaking = start("pub", *network, "--peer", address, "--data", "rain", env=surroundings)
    assert listening.event("message")["data"] == "rain"
    assert listening.end() == speaking.end() == 0


def test_the_help_names_it(surroundings: dict[str, str]) -> None:
    program = "from rumormill.cli import main; main(['sub', '--help'])"
    shown = printed(program, surroundings)
    assert "|shout]" in shown and "shout: 192.0.2.7:7000" in " ".join(shown.split())


def test_its_file_is_a_page() -> None:
    assert len(MODULE.splitlines()) < 200
