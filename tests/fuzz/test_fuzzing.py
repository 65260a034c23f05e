"""A minute of coverage-guided fuzzing, and that no crash and no slow input goes unnoticed."""

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
    SlowInputError,
    atheris_is_missing,
    pieces,
    watched,
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


@needs_atheris
def test_a_slow_input_is_shown_like_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "fuzz_slow.py"
    slow.write_text(
        f"import sys; sys.path.append({str(HERE.parents[1])!r})\n"
        "from tests.helpers.fuzz.fuzzing import fuzz\n"
        "def target(data):\n"
        "    for _ in range(10_000_000 * data.count(b'!')): pass\n"
        "fuzz(target, [b'!'], slow=0.001)\n"
    )
    run_all = load("run_all")
    monkeypatch.setattr(run_all, "targets", lambda: [slow])
    assert run_all.main(["--seconds", "1"]) == 1
    shown = capsys.readouterr().out
    assert "SlowInputError" in shown and b"!".hex() in shown


class Clock:
    """Goes on by what the target says that it took."""

    def __init__(self, *takes: float) -> None:
        self.now = 0.0
        self.takes = list(takes)

    def target(self, _: bytes) -> None:
        self.now += self.takes.pop(0)


def test_an_input_is_slow_only_if_it_is_so_each_time() -> None:
    clock = Clock(9.0, 9.0, 0.1)
    watched(clock.target, slow=1.0, clock=lambda: clock.now)(b"")
    clock = Clock(9.0, 9.0, 9.0)
    with pytest.raises(SlowInputError, match=r"0 bytes take 9000\.0 ms, 1000\.0 ms are"):
        watched(clock.target, slow=1.0, clock=lambda: clock.now)(b"")


def test_a_long_input_and_a_slow_machine_have_more_time() -> None:
    clock = Clock(*[1.5] * 12)
    watched(clock.target, slow=1.0, clock=lambda: clock.now, patience=2.0)(b"")
    watched(clock.target, slow=1.0, clock=lambda: clock.now)(bytes(600_000))

    def in_pieces(data: bytes) -> None:
        clock.target(data)
        list(pieces(bytes(30_000), 1))

    watched(in_pieces, slow=1.0, clock=lambda: clock.now)(b"")
    with pytest.raises(SlowInputError):
        watched(clock.target, slow=1.0, clock=lambda: clock.now)(b"")


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
