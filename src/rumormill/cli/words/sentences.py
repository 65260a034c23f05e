"""Every error as one sentence, and its exit code."""

from __future__ import annotations

import os

import typer

from rumormill.core.errors import ConfigError, RumormillError
from rumormill.core.words import printable

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNKNOWN = 3
"""It may have been done: nobody can say."""
EXIT_INTERRUPTED = 130

# The base of every complaint about arguments. Some versions of typer bring their own copy of
# click, so it is found through the one name that all of them export.
ArgumentError: type[Exception] = typer.BadParameter.__mro__[1]


class UsageError(RumormillError):
    """The command cannot mean anything as it was written."""


def exit_code_of(error: BaseException) -> int:
    """2 if the command was wrong, 1 if the world was.

    >>> exit_code_of(UsageError("no such thing")), exit_code_of(OSError("disk full"))
    (2, 1)
    """
    error = innermost(error)
    wrong_command = isinstance(error, UsageError | ConfigError | ArgumentError)
    return EXIT_USAGE if wrong_command else EXIT_FAILED


def sentence_of(error: BaseException) -> str:
    """What went wrong, on one line.

    >>> sentence_of(FileNotFoundError(2, "No such file or directory", "node.key"))
    'node.key: no such file or directory.'
    >>> sentence_of(KeyError("surprise"))
    "this should not have happened: KeyError('surprise'); RUMORMILL_TRACEBACK=1 shows where."
    """
    error = innermost(error)
    if isinstance(error, ArgumentError):
        text = _argument_sentence(error)
    elif isinstance(error, RumormillError):
        text = str(error)
    elif isinstance(error, OSError):
        text = _system_sentence(error)
    elif isinstance(error, typer.Abort):
        text = "given up"
    else:
        text = f"this should not have happened: {error!r}; RUMORMILL_TRACEBACK=1 shows where"
    return full_stop(one_line(text))


def one_line(text: str) -> str:
    """``text`` on one line, with nothing in it that a terminal would obey.

    >>> one_line("two\\nlines and \\x1b[31mred")
    'two lines and \\\\x1b[31mred'
    """
    return printable(" ".join(text.split()))


def full_stop(text: str) -> str:
    """``text`` as a sentence ends.

    >>> full_stop("no such option"), full_stop("is it?")
    ('no such option.', 'is it?')
    """
    return text if text.endswith((".", "!", "?", ")")) else f"{text}."


def innermost(error: BaseException) -> BaseException:
    """The error itself, where tasks have wrapped it into groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _argument_sentence(error: BaseException) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = full_stop(one_line(message.replace("Value error, ", "")))
    context = getattr(error, "ctx", None)
    return f"{message} ({context.command_path} --help shows how)" if context else message


def _system_sentence(error: OSError) -> str:
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    reason = reason[:1].lower() + reason[1:]
    return f"{error.filename}: {reason}" if error.filename else reason
