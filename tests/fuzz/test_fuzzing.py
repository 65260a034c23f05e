"""A minute of coverage-guided fuzzing, and that a crash would not go unnoticed."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.fuzz.fuzzing import (
    PROPERTY,
    REQUIRED,
    SKIPPED,
    Choices,
    atheris_is_missing,
    pieces,
)

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    """A script of this folder as a module."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Known by its name while it runs: its classes look themselves up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


TARGETS = sorted(path.stem for path in HERE.glob("fuzz_*.py"))

needs_atheris = pytest.mark.skipif(
    atheris_is_missing() and os.environ.get(REQUIRED) != "1", reason=SKIPPED
)


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_of_every_target_pass(name: str) -> None:
    module = load(name)
    assert module.SEEDS, "a fuzzer that begins with nothing finds little in a minute"
    for seed in [b"", *module.SEEDS]:
        module.target(seed)


@pytest.mark.fuzz
@pytest.mark.slow
@pytest.mark.timeout(400)
@needs_atheris
def test_a_minute_of_fuzzing_finds_nothing(
    capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    exit_code = load("run_all").main(["--seconds", "60"])
    shown = capsys.readouterr().out
    record_property(PROPERTY, shown)
    assert exit_code == 0, shown


@needs_atheris
def test_a_crash_is_shown_with_the_input_that_brings_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crashing = tmp_path / "fuzz_crash.py"
    crashing.write_text(
        f"import sys; sys.path.append({str(HERE.parents[1])!r})\n"
        "from tests.helpers.fuzz.fuzzing import fuzz\n"
        "def target(data):\n"
        "    assert data[:1] != b'!', 'found it'\n"
        "fuzz(target, [b'!?'])\n"
    )
    run_all = load("run_all")
    monkeypatch.setattr(run_all, "targets", lambda: [crashing])
    assert run_all.main(["--seconds", "1"]) == 1
    shown = capsys.readouterr().out
    assert "fuzz_crash" in shown and "CRASHED" in shown
    assert "found it" in shown
    assert b"!?".hex() in shown


@pytest.mark.parametrize(("required", "exit_code"), [("", 0), ("1", 1)])
def test_without_atheris_fuzzing_is_skipped_by_name_unless_it_is_required(
    required: str,
    exit_code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_all = load("run_all")
    monkeypatch.setattr(run_all, "atheris_is_missing", lambda: True)
    monkeypatch.setenv(REQUIRED, required)
    assert run_all.main([]) == exit_code
    assert capsys.readouterr().out == SKIPPED + "\n"


def test_the_time_is_shared_by_all_targets() -> None:
    seconds_each = load("run_all").seconds_each
    assert seconds_each(60, 4) == 28
    assert seconds_each(60, 3) == 28
    assert seconds_each(60, 2) == 58
    assert seconds_each(1, 9) == 1


def test_choices_read_an_input_to_its_end_and_then_give_nothing() -> None:
    choices = Choices(b"\x05abc")
    assert choices.number(3) == 2
    assert choices.take(2) == b"ab"
    assert choices
    assert choices.take(9) == b"c"
    assert not choices and choices.number(7) == 0 and choices.take(1) == b""
    assert [list(pieces(b"abc", size)) for size in (0, 2)] == [[b"abc"], [b"ab", b"c"]]
