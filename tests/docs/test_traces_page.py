"""The page on foreign traces names every event that is read, and every one that comes of it."""

from __future__ import annotations

from pathlib import Path

from rumormill.capture.foreign.detect import READERS, examine
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.go_json import TYPES
from tests.helpers.capture import trace_oracle as oracle
from tests.helpers.capture.foreign_traces import VECTORS

PAGE = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()


def test_every_type_of_go_is_on_the_page() -> None:
    names = [name for each in TYPES for name in each]
    assert [name for name in names if name not in PAGE] == []
    assert [each[0] for each in TYPES] == list(oracle.NAMES)


def test_every_type_of_hermes_and_all_that_comes_of_it_is_on_the_page() -> None:
    file = examine(VECTORS.parent / "hermes" / "events.ndjson")
    findings = Findings("")
    rows = [row for block in file.reader(findings)[1].read() for row in block]
    assert {row[2] for row in rows if f"`{row[2]}`" not in PAGE} == set()
    left_out = set(findings.left_out) - {"HANDLE_STATUS"}  # a request of Ethereum
    assert {name for name in left_out if name not in PAGE} == set()


def test_all_formats_are_on_the_page() -> None:
    assert set(READERS) == {"go-json", "go-protobuf", "hermes-json", "hermes-parquet"}
    for words in ("JSON tracer", "PB tracer", "remote tracer", "logger and Kinesis", "S3"):
        assert words in PAGE
