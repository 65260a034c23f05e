"""``rumormill trace import`` as people and programs use it."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from rumormill.capture.foreign import Progress
from rumormill.cli import main
from rumormill.cli.trace import progress_bar
from tests.helpers.capture.foreign_traces import VECTORS

FILES = [str(VECTORS / f"node{number}.json.gz") for number in (13, 15)]
EVENTS, ROWS = 405 + 518, 405 + 518 + 18


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["trace", "import", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_an_import_says_what_it_did(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spool = str(tmp_path / "spool")
    code, out, err = run(capsys, *FILES, "--spool", spool)
    assert (code, err) == (0, "")
    assert out == f"{EVENTS} events of 2 files became {ROWS} trace events in {spool}\n"


def test_json_has_all_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, *FILES, "--spool", str(tmp_path), "--each", "--json")
    assert (code, err) == (0, "")
    results = [json.loads(line) for line in out.splitlines()]
    assert [result["event"] for result in results] == ["imported"] * 2
    assert [Path(result["spool"]).name for result in results] == ["node13", "node15"]
    assert sum(result["rows"] for result in results) == ROWS
    (findings,) = results[1]["files"]
    assert (findings["file"], findings["format"]) == (FILES[1], "go-json")
    assert (findings["events"], findings["problems"], findings["cut_bytes"]) == (518, [], 0)


def test_what_is_wrong_with_a_file_is_said_where_errors_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    content = gzip.decompress(Path(FILES[0]).read_bytes())
    broken = content[:1000] + b"\x1b[31m" + content[1000:-30] + b""
    strange = b'{"type":14,"peerID":"AAEC","timestamp":1}\n'
    file = tmp_path / "broken.json"
    file.write_bytes(strange + broken)
    code, out, err = run(capsys, str(file), "--spool", str(tmp_path / "spool"))
    assert code == 0
    assert out.splitlines()[1:] == ["events left out, by kind: type 14 1"]
    first, second = err.splitlines()
    assert first.startswith(f"rumormill: {file}: a line that is no JSON (line ")
    assert second.startswith(f"rumormill: {file}: the last line is cut short (line 406, byte ")
    code, out, _ = run(capsys, str(file), "--spool", str(tmp_path / "other"), "--json")
    (findings,) = json.loads(out)["files"]
    assert findings["left_out"] == {"type 14": 1}
    assert [problem["line"] for problem in findings["problems"]][1] == 406


def test_a_second_import_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spool = str(tmp_path / "spool")
    run(capsys, FILES[0], "--spool", spool)
    code, out, err = run(capsys, *FILES, "--spool", spool)
    assert (code, out) == (1, "")
    assert err == f"rumormill: {spool}: this spool holds records already; --append adds to them.\n"
    code, out, err = run(capsys, *FILES, "--spool", spool, "--append")
    assert code == 0
    assert err == f"rumormill: {FILES[0]}: was imported before, and is not imported again\n"
    assert out.startswith("518 events of 1 file became")


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        ([], 2, "Missing argument 'FILE"),
        (["x"], 2, "Missing option '--spool'"),
        (["nowhere.json", "--spool", "s"], 1, "nowhere.json: no such file or directory."),
        ([str(VECTORS), "--spool", "s"], 1, "is a directory."),
        ([str(VECTORS / "peers.json"), "--spool", "s"], 1, "peers.json: not a trace of go-libp2p"),
        ([FILES[0], "--spool", FILES[1]], 1, "node15.json.gz"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    found, out, err = run(capsys, *arguments)
    assert (found, out, len(err.splitlines())) == (code, "", 1)
    assert err.startswith("rumormill: ") and problem in err
    assert not Path("s").exists()


def test_without_pyarrow_it_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rumormill.system.packages.find_spec", lambda name: None)
    code, _, err = run(capsys, FILES[0], "--spool", str(tmp_path / "s"))
    assert code == 2
    assert "a spool needs pyarrow, which is not installed" in err and "pip install" in err


def test_trace_alone_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace"]) == 0
    assert "import" in capsys.readouterr().out


def test_a_bar_is_drawn_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_bar() as tell:
        tell(Progress(1, 2, 3))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar() as tell:
        tell(Progress(500_000, 1_000_000, 1234))
    err = capsys.readouterr().err
    assert "1234 events" in err and "0.5/1.0 MB" in err
