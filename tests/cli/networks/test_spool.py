"""``--spool DIR`` and the table ``[spool]``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rumormill.capture.files.folder import read_marks
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.cli.networks.config import load_config
from rumormill.cli.words.sentences import UsageError

Start = Callable[..., Any]
NEVER = ("--status", "600")


def values(folder: Path) -> list[bytes]:
    log = LocalLog(folder, "messages")
    return [
        value for _, batch in log.read(*log.bounds()) for value in batch.column("value").to_pylist()
    ]


def events(folder: Path) -> list[str]:
    log = LocalLog(folder, "trace")
    return [
        event for _, batch in log.read(*log.bounds()) for event in batch.column("event").to_pylist()
    ]


def closed(folder: Path) -> bool:
    """Whether the writer said where it ended."""
    marks = [read_marks(folder / kind) for kind in ("messages", "trace")]
    return all(each is not None and each.closed == each.reserved for each in marks)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("publisher", ["has left", "is leaving", "stays"])
def test_sub_keeps_what_it_prints_and_closes_the_spool_at_a_signal(
    start: Start, tmp_path: Path, number: signal.Signals, publisher: str
) -> None:
    folder = tmp_path / "new" / "spool"
    sub = start("sub", "weather", "--spool", str(folder), "--json")
    address = sub.event("ready")["addresses"][0]
    pub = start("pub", "weather", "--peer", address)
    pub.write(b"rain\nsun\n")
    if publisher != "stays":
        pub.close_stdin()
    if publisher == "has left":
        assert pub.end() == 0
    assert [sub.event("message")["data"] for _ in range(2)] == ["rain", "sun"]
    sub.signal(number)
    assert sub.end() == 0
    (line,) = sub.errors
    assert "of messages and" in line and line.endswith(f" in {folder} (retention_bytes).")
    assert values(folder) == [b"rain", b"sun"]
    # What is told of the publisher comes in between, before or after: it is a process of its own.
    ours = ("network_opened", "subscribed", "delivered", "unsubscribed")
    traced = events(folder)
    assert [event for event in traced if event in ours] == [*ours[:3], *ours[2:]]
    assert traced.count("peer_joined") == traced.count("peer_left") == 1
    assert closed(folder)


def test_pub_keeps_what_it_published(start: Start, tmp_path: Path) -> None:
    sub = start("sub", "weather", "--json")
    address = sub.event("ready")["addresses"][0]
    pub = start("pub", "weather", "--peer", address, "--spool", str(tmp_path), "--json",
                "--data", "rain")  # fmt: skip
    assert pub.end() == 0
    assert "published" in events(tmp_path)
    assert closed(tmp_path)


def test_sub_closes_the_spool_after_its_last_message(start: Start, tmp_path: Path) -> None:
    for text in ("one", "two"):
        sub = start("sub", "weather", "--spool", str(tmp_path), "--json", "--count", "1")
        address = sub.event("ready")["addresses"][0]
        assert start("pub", "weather", "--peer", address, "--data", text).end() == 0
        assert sub.end() == 0
    assert values(tmp_path) == [b"one", b"two"]
    assert LocalLog(tmp_path, "messages").bounds() == (0, 2)


def test_a_spool_that_another_process_writes_to_is_refused_in_a_sentence(
    start: Start, tmp_path: Path
) -> None:
    with SpoolWriter(tmp_path):
        sub = start("sub", "weather", "--spool", str(tmp_path))
        assert sub.end() == 1
    assert sub.sentence == (
        f"rumormill: {tmp_path}: process {os.getpid()} writes to this spool; "
        "two writers would spoil it."
    )


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sub = start("sub", "weather", "--spool", str(tmp_path / "file"))
    assert sub.end() == 1
    assert sub.sentence == f"rumormill: {tmp_path / 'file'}: File exists."


def test_after_a_kill_the_next_run_says_what_it_found_and_goes_on(
    start: Start, tmp_path: Path
) -> None:
    sub = start("sub", "weather", "--spool", str(tmp_path), "--json")
    address = sub.event("ready")["addresses"][0]
    assert start("pub", "weather", "--peer", address, "--data", "rain").end() == 0
    sub.event("message")
    log = LocalLog(tmp_path, "messages")
    while log.bounds().latest == 0:
        time.sleep(0.01)
    sub.signal(signal.SIGKILL)
    sub.end()
    again = start("sub", "weather", "--spool", str(tmp_path), "--json")
    again.event("ready")
    again.signal(signal.SIGTERM)
    assert again.end() == 0
    assert any(
        "did not close the spool, so 65536 offsets of messages are left out" in line
        for line in again.errors
    )
    assert values(tmp_path) == [b"rain"]


def test_a_node_keeps_all_its_networks_in_the_spool_of_its_configuration(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "node.toml").write_text(
        """
        [[network]]
        name = "gossipsub"
        topics = ["weather"]

        [[network]]
        name = "floodsub"
        topics = ["news"]

        [spool]
        folder = "kept"
        fsync = "never"
        records = ["messages"]
        """
    )
    node = start("node", "--config", str(tmp_path / "node.toml"), "--json", *NEVER)
    gossipsub, floodsub = node.event("ready"), node.event("ready")
    for ready, topic in ((gossipsub, "weather"), (floodsub, "news")):
        arguments = ("--network", ready["network"], "--peer", ready["addresses"][0])
        assert start("pub", topic, *arguments, "--data", topic).end() == 0
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    assert sorted(values(tmp_path / "kept")) == [b"news", b"weather"]
    assert events(tmp_path / "kept") == []


def test_a_node_takes_a_spool_as_an_option(start: Start, tmp_path: Path) -> None:
    node = start("node", "--topic", "weather", "--spool", str(tmp_path / "kept"), "--json", *NEVER)
    address = node.event("ready")["addresses"][0]
    assert start("pub", "weather", "--peer", address, "--data", "rain").end() == 0
    node.signal(signal.SIGINT)
    assert node.end() == 0
    assert values(tmp_path / "kept") == [b"rain"]
    assert closed(tmp_path / "kept")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("spool = 'kept'", r"spool: write \[spool\], and its keys below"),
        ("[spool]", "spool.folder: must be the path of a folder, not None"),
        ("[spool]\nfolder = 5", "spool.folder: must be the path of a folder, not 5"),
        ("[spool]\nfolder = 'kept'\nfsync = 'often'", "spool.fsync: must be never, batch, or"),
        ("[spool]\nfolder = 'kept'\nsegments = 5", "spool.segments: there is no such key"),
    ],
)
def test_a_wrong_table_is_told_by_its_key(tmp_path: Path, table: str, problem: str) -> None:
    path = tmp_path / "node.toml"
    path.write_text(f"{table}\n[[network]]\nname = 'floodsub'\n")
    with pytest.raises(UsageError, match=f"node.toml: {problem}"):
        load_config(path)


def test_a_spool_of_a_single_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text("[[network]]\nname = 'floodsub'\nspool = 'kept'\n")
    with pytest.raises(UsageError, match=r"spool: all networks share one.*\[spool\]"):
        load_config(path)


def test_a_folder_is_relative_to_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(
        "[[network]]\nname = 'floodsub'\n[spool]\nfolder = 'kept'\nretention_age = 60\n"
    )
    plan = load_config(path).spool
    assert plan is not None
    assert plan.folder == tmp_path / "kept"
    assert plan.parameters.retention_age == 60
