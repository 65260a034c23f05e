"""docs/writing-a-router.md shows a router as it is in use, whole, and its programs run."""

from __future__ import annotations

import re

import pytest

from rumormill.libp2p.live.network import Libp2pNetwork
from tests.helpers.places import DOCS

PAGE = (DOCS / "writing-a-router.md").read_text()
SHOWN = re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)
PROGRAMS = re.findall(r"(?<!-->\n)```python\n(.*?)```", PAGE, re.DOTALL)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_the_page_shows_every_line_of_the_router_in_order() -> None:
    (file,) = {file for file, _ in SHOWN}
    source = (DOCS.parent / file).read_text()
    assert all(block in source for _, block in SHOWN)
    body = source[source.index("RANDOMSUB =") :]
    assert lines("".join(block for _, block in SHOWN)) == lines(body)


def test_the_simulation_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = [each for each in PROGRAMS if "Simulation(" in each]
    (said,) = re.findall(r"# prints: (.*)", program)
    exec(compile(program, "docs/writing-a-router.md", "exec"), {})
    assert capsys.readouterr().out == f"{said}\n"


async def test_a_network_can_be_opened_with_the_router_as_the_page_does() -> None:
    (program,) = [each for each in PROGRAMS if "rumormill.open" in each]
    names: dict[str, object] = {}
    exec(compile(program, "docs/writing-a-router.md", "exec"), names)
    async with names["opening"] as network:  # type: ignore[attr-defined]
        assert isinstance(network, Libp2pNetwork)
        assert network._pubsub.protocols[0] == "/randomsub/1.0.0"
