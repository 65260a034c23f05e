from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.cli.words.sentences import UsageError, exit_code_of, one_line, sentence_of
from rumormill.core.errors import ConfigError, ConnectError, LocalProtocolError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no"), 2),
        (ConfigError("D", "must be a number"), 2),
        (ConnectError("cannot reach it"), 1),
        (LocalProtocolError("no"), 1),
        (PermissionError(13, "Permission denied", "node.key"), 1),
        (RuntimeError("a bug"), 1),
        (ExceptionGroup("tasks", [UsageError("no")]), 2),
    ],
)
def test_exit_codes_tell_a_wrong_command_from_a_wrong_world(error: Exception, code: int) -> None:
    assert exit_code_of(error) == code


def test_a_system_error_names_its_file() -> None:
    sentence = sentence_of(PermissionError(13, "Permission denied", "node.key"))
    assert sentence == "node.key: permission denied."


def test_an_error_inside_a_group_is_told_as_itself() -> None:
    assert sentence_of(ExceptionGroup("tasks", [ConnectError("no answer")])) == "no answer."


@given(st.text())
def test_a_sentence_is_one_line_and_nothing_that_a_terminal_obeys(text: str) -> None:
    assert sentence_of(ConnectError(text)).isprintable()
    assert one_line(text).isprintable()
