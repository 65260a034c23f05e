"""The programs of docs/partial-messages.md run, and its tables name what there is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rumormill.core.machine import PeerJoined
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.gossipsub.features import MESHSUB_1_3
from rumormill.libp2p.wire import length_prefixed
from rumormill.libp2p.wire.extensions import EXTENSIONS, Extensions
from tests.helpers.libp2p.workbench import Workbench
from tests.helpers.places import DOCS, SOURCE

PAGE = (DOCS / "partial-messages.md").read_text()
EXCHANGE, OWN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_program_gets_the_part_that_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(EXCHANGE, "docs/partial-messages.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed == "b'block 7' True 65536\n"
    assert f"`{printed.strip()}`" in PAGE


def test_the_extension_of_the_page_greets() -> None:
    names: dict[str, Any] = {}
    exec(compile(OWN, "docs/partial-messages.md", "exec"), names)
    number = names["Greeting"].number
    bench = Workbench(names["PoliteRouter"]())
    bench.feed(PeerJoined("ann", MESHSUB_1_3))
    hello = bytes_field(3, bytes_field(6, EXTENSIONS.encode(Extensions((number,)))))
    bench.say_bytes("ann", length_prefixed(hello + bytes_field(number, b"hi")))
    assert bench.took("ann")[-1].other == bytes_field(number, b"hello")
    assert [event.fields for event in bench.events("greeted")] == [{"words": "hi"}]


def test_every_setting_is_on_the_page() -> None:
    keys = [key for key in GossipsubParameters.model_fields if key.startswith("partial")]
    assert [key for key in keys if key not in PAGE] == []


def test_every_reason_is_on_the_page() -> None:
    room = SOURCE / "rumormill" / "libp2p" / "gossipsub"
    files = [room / "extensions" / "extensions.py", *(room / "partial").glob("*.py")]
    text = "".join(path.read_text() for path in files)
    found = re.findall(r'"((?:partial|extensions?|too|application)_[a-z_]+)"(?!:)', text)
    events = {"partial_messages", "partial_group"}
    assert {each for each in found if f"`{each}`" not in PAGE} - events == set()
