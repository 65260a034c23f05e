"""A real disk that is full: the node goes on, the loss is counted, capture resumes by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.places import environment, program

HELPER = "tests.helpers.capture.full_disk_node"
MOUNT = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"'


def in_a_small_file_system(folder: Path) -> list[str]:
    """How to run a command with 1 MiB at ``folder``, which nobody else sees."""
    if shutil.which("unshare") is None:
        pytest.skip("a small file system needs the program unshare")
    for options in (["--mount"], ["--map-root-user", "--mount"]):
        command = ["unshare", *options, "sh", "-c", MOUNT, str(folder)]
        if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    pytest.skip("a small file system cannot be mounted here: no permission")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("disk")
    command = in_a_small_file_system(folder)
    finished = subprocess.run(
        [*command, *program(HELPER, folder)],
        capture_output=True, text=True, env=environment(), timeout=110,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


def test_delivery_goes_on_while_the_disk_is_full(outcome: dict[str, Any]) -> None:
    assert outcome["lost"] > 0
    assert outcome["received"] is True


def test_every_message_is_kept_or_counted_as_lost(outcome: dict[str, Any]) -> None:
    assert outcome["kept"] == outcome["written"]
    assert outcome["kept"] + outcome["lost"] == outcome["sent"]


def test_capture_resumes_by_itself_when_there_is_room(outcome: dict[str, Any]) -> None:
    assert outcome["kept_last"] and outcome["in_order"]
    assert outcome["offsets"] == [0, outcome["kept"]]


def test_the_loss_is_traced_once_with_its_count(outcome: dict[str, Any]) -> None:
    names = [name for name, _ in outcome["events"]]
    assert names == ["spool_failed", "dropped", "spool_resumed"]
    fields = dict(outcome["events"])
    assert fields["spool_failed"] == {
        "kind": "messages", "reason": "disk_full", "detail": "No space left on device",
    }  # fmt: skip
    assert fields["dropped"]["count"] == outcome["lost"]
    assert outcome["counters"]["dropped.disk_full"] == outcome["lost"]
