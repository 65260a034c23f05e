"""Parameters within parameters: tables as users write them, and errors that name the whole key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters

GroupType = TypeVar("GroupType", bound=Parameters)


def read_table(kind: type[GroupType], key: str, given: Any) -> GroupType:
    """A table of ``node.toml``, a JSON object or a mapping, as parameters of a kind.

    >>> class Example(Parameters):
    ...     weight: float
    >>> read_table(Example, "P3", {"weight": "heavy"})
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: P3.weight: input should be a valid number, unable to parse \
string as a number (got 'heavy')
    """
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise ConfigError(key, f"must be a table with {_keys(kind)}, not {given!r}")
    for name in given:
        if not isinstance(name, str):
            raise ConfigError(key, f"has a key that is no text, {name!r}")
    try:
        return kind(**given)
    except ConfigError as error:
        raise ConfigError(f"{key}.{error.key}", error.problem) from None


def read_group(kind: type[GroupType], key: str, given: Any) -> GroupType | None:
    """The same of a group that may be off; all its keys are given, or none.

    >>> read_group(Parameters, "P3", False) is None
    True
    """
    if given is None or given is False:
        return None
    if isinstance(given, Mapping):
        required = [name for name, field in kind.model_fields.items() if field.is_required()]
        missing = [name for name in required if name not in given]
        if missing:
            raise ConfigError(
                f"{key}.{missing[0]}",
                f"is missing; {key} needs all of {', '.join(required)}, or is left out whole",
            )
    return read_table(kind, key, given)


def _keys(kind: type[Parameters]) -> str:
    return ", ".join(kind.model_fields)
