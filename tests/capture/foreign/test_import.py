"""Foreign traces into a spool: all rows, in the order of time, once."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.capture.foreign import Progress, TraceImportError, import_traces, importer, merge
from rumormill.capture.foreign.detect import TraceFile
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.merge import Merger, Stream, ordered
from rumormill.capture.foreign.rows import Row, to_batch
from rumormill.capture.log import SpoolError
from rumormill.capture.open import open_log
from rumormill.capture.schema import TRACE_SCHEMA
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.trace import TraceEvent
from tests.helpers.capture import trace_oracle as oracle
from tests.helpers.capture.foreign_traces import SHARED, VECTORS

JSON = sorted(VECTORS.glob("node*.json.gz"))
EVENTS, ROWS = 13049, 13049 + 269


def records(spool: Path) -> list[dict[str, Any]]:
    log = open_log(spool, "trace")
    bounds = log.bounds()
    batches = [batch for _, batch in log.read(bounds.earliest, bounds.latest)]
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches, TRACE_SCHEMA).to_pylist()
    return rows


def trace_file(path: Path, *times: int, topic: str = "a") -> Path:
    """A trace of one node that subscribes again and again, at these times in milliseconds."""
    events = [
        oracle.TraceEvent(type=9, peerID=path.name.encode(), timestamp=time * 1_000_000,
                          join={"topic": topic})
        for time in times
    ]  # fmt: skip
    path.write_bytes(b"".join(map(oracle.to_go_json, events)))
    return path


# ---- a real network


def test_a_part_of_a_real_network_is_in_the_spool_whole_and_in_order(tmp_path: Path) -> None:
    (result,) = import_traces(JSON, tmp_path / "spool", network="go")
    assert (result.rows, result.late_rows) == (ROWS, 0)
    assert sum(findings.events for findings in result.files) == EVENTS
    assert sum(findings.rows for findings in result.files) == ROWS
    assert [Path(findings.file).name for findings in result.files] == [file.name for file in JSON]
    found = records(tmp_path / "spool")
    assert len(found) == ROWS
    times = [record["time"] for record in found]
    assert times == sorted(times)
    assert {record["network"] for record in found} == {"go"}
    events = Counter(record["event"] for record in found)
    assert (events["published"], events["delivered"]) == (60, 600)
    publication = next(record for record in found if record["event"] == "published")
    peers = json.loads((VECTORS / "peers.json").read_text())
    assert (publication["node"], publication["topic"]) == (peers["15"], "alpha")
    assert publication["time"].microsecond == 382_113  # and 404 nanoseconds


def test_both_formats_give_equal_spools(tmp_path: Path) -> None:
    import_traces(JSON, tmp_path / "a")
    import_traces(sorted(VECTORS.glob("node*.pb.gz")), tmp_path / "b")
    assert records(tmp_path / "a") == records(tmp_path / "b")


def test_the_order_of_the_files_does_not_matter_but_for_rows_of_one_time(tmp_path: Path) -> None:
    import_traces(JSON, tmp_path / "a")
    import_traces(JSON[::-1], tmp_path / "b")
    first, second = (sorted(map(repr, records(tmp_path / name))) for name in "ab")
    assert first == second


@pytest.mark.skipif(not SHARED.is_dir(), reason="the traces of the whole network are not here")
@pytest.mark.slow
def test_all_of_a_real_network_is_in_the_spool_and_in_order(tmp_path: Path) -> None:
    (result,) = import_traces(sorted(SHARED.glob("node*.json.gz")), tmp_path / "spool")
    assert sum(findings.events for findings in result.files) == 186_920
    times = [record["time"] for record in records(tmp_path / "spool")]
    assert len(times) == result.rows == 186_920 + 299 + 187
    assert times == sorted(times)
    assert result.late_rows == 0


# ---- order


def rows_of(times: list[int]) -> list[Row]:
    empty = (None,) * 7
    return [(time, "n", str(place), None, *empty) for place, time in enumerate(times)]


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 20), st.integers(1, 40))
@example([0, 0, 0, 30] * 10, 4, 4)
def test_rows_that_are_out_of_order_by_less_than_the_window_are_sorted(
    times: list[int], window: int, block: int
) -> None:
    times = [10 * place + time for place, time in enumerate(times)]  # off by 3 places at most
    rows = rows_of(times)
    blocks = [rows[at : at + block] for at in range(0, len(rows), block)]
    findings = Findings("")
    batches = list(ordered(iter(blocks), findings, max(window, 4)))
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["time"], row["event"]) for row in found] == sorted(
        ((row[0], row[2]) for row in rows), key=lambda row: (row[0], int(row[1]))
    )
    assert findings.rows == len(rows)


class ManyRows(Stream):
    """A stream of rows that are given."""

    def __init__(self, times: list[int], window: int) -> None:
        file = TraceFile(Path("none"), "go-json", "", rows_of(times)[0] if times else None)
        self.findings = Findings("")
        self.first_time = 0 if file.first is None else file.first[0]
        self._batches = ordered(iter([rows_of(times)]), self.findings, window)
        self._head = to_batch(())


@given(st.lists(st.lists(st.integers(0, 50), max_size=30).map(sorted), max_size=6),
       st.integers(1, 9))  # fmt: skip
def test_any_number_of_files_is_merged_by_time(files: list[list[int]], window: int) -> None:
    merger = Merger([ManyRows(times, window) for times in files])
    found = [time for batch in merger for time in batch.column(0).to_pylist()]
    assert found == sorted(time for times in files for time in times)
    assert merger.late_rows == 0


def test_files_are_opened_when_their_time_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [
        trace_file(tmp_path / f"n{number:02d}", *range(100 * number, 100 * number + 90))
        for number in range(30)
    ]
    opened = most = 0

    class Counting(Stream):
        def refill(self) -> bool:
            nonlocal opened, most
            if not self._head.num_rows and not self.findings.events:
                opened += 1
            there = super().refill()
            opened -= 0 if there else 1
            most = max(most, opened)
            return there

    monkeypatch.setattr(importer, "Stream", Counting)
    (result,) = import_traces(random.Random(1).sample(files, 30), tmp_path / "spool")
    assert result.rows == 30 * 90
    assert most <= 3


def test_rows_that_come_far_too_late_are_kept_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "WINDOW", 10)
    monkeypatch.setattr(merge, "SMALLEST_WINDOW", 10)
    monkeypatch.setattr(importer, "window_of", lambda files: 10)
    # Blocks end with pieces of the file, so that the window of ten rows is all that is held.
    monkeypatch.setattr("rumormill.capture.foreign.source.PACKED_PIECE", 300)
    monkeypatch.setattr("rumormill.capture.foreign.source.ByteSource.__init__.__defaults__", (300,))
    file = trace_file(tmp_path / "a", *range(100, 200), 50, *range(200, 300))
    (result,) = import_traces([file], tmp_path / "spool")
    assert (result.rows, result.late_rows) == (201, 1)
    assert len(records(tmp_path / "spool")) == 201


# ---- again


def test_a_second_import_is_refused_and_nothing_is_added(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    import_traces(JSON[:1], spool)
    before = records(spool)
    for files in (JSON[:1], JSON[1:2]):
        with pytest.raises(TraceImportError, match=r"spool: .*holds records already; --append"):
            import_traces(files, spool)
    assert records(spool) == before


def test_append_adds_the_files_that_are_not_there_yet(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    (first,) = import_traces(JSON[:2], spool)
    (second,) = import_traces(JSON[1:3], spool, append=True)
    assert second.already_there == [str(JSON[1])]
    assert len(second.files) == 1
    assert len(records(spool)) == first.rows + second.rows
    (third,) = import_traces(JSON[:3], spool, append=True)
    assert (third.rows, third.files, len(third.already_there)) == (0, [], 3)
    assert len(records(spool)) == first.rows + second.rows


def test_append_knows_a_file_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    copy = Path(shutil.copy(JSON[0], tmp_path / "other-name"))
    import_traces(JSON[:1], tmp_path / "spool")
    (result,) = import_traces([copy], tmp_path / "spool", append=True)
    assert result.already_there == [str(copy)]


def test_a_spool_of_a_node_is_refused_without_append(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with SpoolWriter(spool) as writer:
        writer.trace(TraceEvent(1.0, "node", "subscribed", "a"), "gossipsub")
    with pytest.raises(TraceImportError, match="holds records already"):
        import_traces(JSON[:1], spool)
    (result,) = import_traces(JSON[:1], spool, append=True)
    assert len(records(spool)) == result.rows + 1


def test_an_empty_spool_is_as_good_as_none(tmp_path: Path) -> None:
    SpoolWriter(tmp_path / "spool").close()
    (result,) = import_traces(JSON[:1], tmp_path / "spool")
    assert len(records(tmp_path / "spool")) == result.rows


def test_a_spool_that_is_being_written_is_refused(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path / "spool"), pytest.raises(SpoolError, match="writes to this spool"):
        import_traces(JSON[:1], tmp_path / "spool")


def test_an_import_that_was_cut_off_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = tmp_path / "spool"

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_traces(JSON, spool, tell=interrupt)
    for append in (False, True):
        with pytest.raises(TraceImportError, match="spool: an import into this spool was cut off"):
            import_traces(JSON, spool, append=append)


def test_a_ledger_that_is_none_is_named(tmp_path: Path) -> None:
    import_traces(JSON[:1], tmp_path)
    for content in ("{", '{"imports":[{}]}', '{"imports":7}', "[]"):
        (tmp_path / "imports.json").write_text(content)
        with pytest.raises(TraceImportError, match=r"imports.json: this is no list of imports"):
            import_traces(JSON[1:2], tmp_path, append=True)


# ---- several files


def test_two_copies_of_one_trace_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceImportError, match=r"node00.pb.gz: begins with the same event as"):
        import_traces([JSON[0], VECTORS / "node00.pb.gz"], tmp_path / "spool")
    assert not (tmp_path / "spool").exists()


def test_a_file_that_is_no_trace_spoils_nothing(tmp_path: Path) -> None:
    with pytest.raises(TraceImportError, match=r"peers.json: not a trace"):
        import_traces([*JSON, VECTORS / "peers.json"], tmp_path / "spool")
    assert not (tmp_path / "spool").exists()


def test_each_file_may_have_a_spool_of_its_own(tmp_path: Path) -> None:
    results = import_traces(JSON[:3], tmp_path, each=True)
    assert [Path(result.spool).name for result in results] == ["node00", "node01", "node02"]
    for result in results:
        assert len(records(Path(result.spool))) == result.rows > 0


def test_two_files_for_one_spool_of_their_own_are_refused(tmp_path: Path) -> None:
    one, two = trace_file(tmp_path / "a.1", 1), trace_file(tmp_path / "a.2", 2)
    with pytest.raises(TraceImportError, match=r"a.2: its spool would be that of .*a.1"):
        import_traces([one, two], tmp_path / "spool", each=True)


def test_empty_files_give_an_empty_import(tmp_path: Path) -> None:
    files = [trace_file(tmp_path / name) for name in "ab"]
    (result,) = import_traces(files, tmp_path / "spool")
    assert (result.rows, len(result.files)) == (0, 2)


def test_progress_ends_with_all_bytes_and_all_events(tmp_path: Path) -> None:
    told: list[Progress] = []
    import_traces(JSON, tmp_path / "spool", tell=told.append)
    import_traces(JSON[:4], tmp_path / "each", each=True, tell=told.append)
    size = sum(file.stat().st_size for file in JSON)
    assert Progress(size, size, EVENTS) in told
    assert told[-1].done == told[-1].total == sum(file.stat().st_size for file in JSON[:4])
    assert all(progress.done <= progress.total for progress in told)
