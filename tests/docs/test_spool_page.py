"""docs/spool.md: its programs run and print what they say, and it says what the code says."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from rumormill.capture.files.index import HEADER_SIZE, MAGIC, RECORD_SIZE, VERSION
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import MESSAGE_SCHEMA, TRACE_SCHEMA
from rumormill.cli.networks.config import read_config
from rumormill.cli.networks.spool import read_spool

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "spool.md").read_text()
MAKER = runpy.run_path(str(DOCS / "make_settings.py"))
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def rows() -> list[list[str]]:
    """The cells of every row of every table."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("| ")
    ]


@pytest.mark.parametrize("number", range(3))
def test_a_program_prints_what_the_page_says(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(PROGRAMS) == 3
    monkeypatch.chdir(tmp_path)
    program = PROGRAMS[number]
    exec(compile(program, "docs/spool.md", "exec"), {"__name__": "__main__"})
    (expected,) = re.findall(r"# prints: (.*)", program)
    assert capsys.readouterr().out == f"{expected}\n"


def test_every_setting_has_a_row_with_its_default_and_meaning() -> None:
    meanings = MAKER["documented_fields"](SpoolParameters)
    found = {row[0].strip("`"): row[1:] for row in rows() if len(row) == 3}
    for name, field in SpoolParameters.model_fields.items():
        default = field.default
        words = ", ".join(default) if isinstance(default, tuple) else default
        assert found[name] == ["" if default is None else f"`{words}`", meanings[name]]


def test_the_configuration_of_the_page_is_a_valid_one() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    tables = tomllib.loads(text)
    assert read_config(tables, Path())
    plan = read_spool(tables["spool"], Path("/node"))
    assert plan is not None and plan.folder == Path("/node/spool")


def test_every_column_has_a_row() -> None:
    named = {name for row in rows() for name in re.findall(r"`(\w+)`", row[0])}
    assert {*MESSAGE_SCHEMA.names, *TRACE_SCHEMA.names} <= named


def test_the_format_is_the_one_that_is_written() -> None:
    assert f"`{MAGIC.decode()}`" in PAGE
    assert f"header, {HEADER_SIZE} bytes" in PAGE and f"record, {RECORD_SIZE} bytes" in PAGE
    assert f"2 x 2 bytes: {VERSION}, {RECORD_SIZE}" in PAGE
