"""The options of ``keygen``, some of which the families that are installed bring along."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from rumormill.cli.options import in_brackets
from rumormill.live.family.families import families

Command = TypeVar("Command", bound=Callable[..., int])

KeyPlace = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Where the new key goes, mode 0600"
        + in_brackets(lambda family: "a folder, to which is added" if family.key_options else "")
        + ".",
    ),
]

KeySetting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="What the key is to be"
        + in_brackets(
            lambda family: "; ".join(f"{key}: {said}" for key, said in family.key_settings.items())
        )
        + "; can be given again.",
    ),
]


def with_key_options(command: Command) -> Command:
    """Give a command the options of all families, in place of its ``**counts``.

    An option that was not given is None, so that one for another family is noticed.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in _options().items()
    ]
    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return command


def _options() -> dict[str, object]:
    """An option for each name; families that share a name share the option."""
    words: dict[str, list[str]] = {}
    for family in families():
        for option in family.key_options:
            said = f"{family.name}: {option.help}; {option.default} unless told"
            words.setdefault(option.name, []).append(said)
    return {
        name: Annotated[
            int | None,
            typer.Option(dashed(name), min=0, metavar="N", help=f"How many ({'; '.join(said)})."),
        ]
        for name, said in words.items()
    }


def dashed(name: str) -> str:
    """The option of a name.

    >>> dashed("topic_keys")
    '--topic-keys'
    """
    return "--" + name.replace("_", "-")
