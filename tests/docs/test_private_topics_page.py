"""docs/private-topics.md: its five commands work as they stand there, and its names are right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rumormill.libp2p.descriptor import trust, waiting_room
from rumormill.libp2p.descriptor.control_message import SUFFIX
from rumormill.libp2p.descriptor.data_guard import (
    BAD_SEAL,
    NOT_SEALED,
    OLD_EPOCH,
    UNKNOWN_KEY,
    UNTRUSTED,
)
from rumormill.libp2p.descriptor.sealed_data import OVERHEAD
from tests.helpers.cli.command import StartCommand
from tests.helpers.places import DOCS
from tests.helpers.ports import own_port

PAGE = (DOCS / "private-topics.md").read_text()
(COMMANDS,) = re.findall(r"## Five commands\n\n```\n(.*?)```", PAGE, re.DOTALL)


def test_the_five_commands_do_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: StartCommand
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = COMMANDS.strip().replace("/tcp/4001", f"/tcp/{own_port()}").splitlines()
    assert len(lines) == 5
    keygen, create, show, sub, pub = ([*shlex.split(line)[1:], "--json"] for line in lines)
    for words in (keygen, create):
        assert start(*words).end() == 0
    shown = start(*show)
    topic = shown.event("topic")["id"]
    listening = start(*sub)
    address = listening.event("ready")["addresses"][0]
    outsider = start("sub", topic, "--peer", address, "--json")
    outsider.event("ready")
    assert start(*pub).end() == 0
    assert listening.event("message")["data"] == "rain at noon"
    assert "data" not in outsider.event("message")  # bytes that are no text, in data_base64


def test_reasons_bounds_and_files_are_those_of_the_code() -> None:
    for refusal in (UNTRUSTED, NOT_SEALED, UNKNOWN_KEY, BAD_SEAL, OLD_EPOCH):
        assert f"`{refusal.reason}`" in PAGE
    assert f"takes {OVERHEAD} bytes more" in PAGE and f"`{SUFFIX}`" in PAGE
    assert f"{trust.MOST_EDGES} words, {trust.MOST_OF_AN_ISSUER} of one trusted peer" in PAGE
    assert f"({trust.MOST_OF_A_LISTED} of a listed one), {trust.MOST_UNHEARD} of peers" in PAGE
    assert f"at most {trust.DEEPEST} long, at most {trust.MOST_TRUSTED} peers" in PAGE
    assert f"ten seconds, {waiting_room.MOST} messages, 4 MiB" in PAGE
    assert (waiting_room.LONGEST, waiting_room.MOST_BYTES) == (10.0, 4 * 1024 * 1024)
