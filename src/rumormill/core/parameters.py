"""The base of every set of parameters: typed, frozen, and wrong values name their key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from rumormill.core.errors import ConfigError


class Parameters(BaseModel):
    """Parameters of a machine or a network; a wrong one raises :class:`ConfigError` with its key.

    >>> class Example(Parameters):
    ...     D: int = 6
    >>> Example(D=[])
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: D: input should be a valid integer (got [])
    >>> Example(DD=7)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: DD: there is no such key (did you mean D?)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise self._config_error(error) from None

    @classmethod
    def _config_error(cls, error: ValidationError) -> ConfigError:
        """The first problem that pydantic found, as one sentence about one key."""
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            return cause
        if problem["type"] == "extra_forbidden":
            return ConfigError(key, unknown_key(key, cls.model_fields))
        message = problem["msg"].removeprefix("Value error, ")
        value = problem["input"]
        # The user has written text, even where a file of settings has made a path of it.
        got = str(value) if hasattr(value, "__fspath__") else value
        return ConfigError(key, f"{message[0].lower()}{message[1:]} (got {got!r})")


ParametersType = TypeVar("ParametersType", bound=Parameters)


def read_table(kind: type[ParametersType], key: str, given: Any) -> ParametersType:
    """Parameters within parameters: a table of ``node.toml``, a JSON object or a mapping.

    What is wrong is told with the whole key.

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
        raise ConfigError(
            key, f"must be a table with {', '.join(kind.model_fields)}, not {given!r}"
        )
    for name in given:
        if not isinstance(name, str):
            raise ConfigError(key, f"has a key that is no text, {name!r}")
    try:
        return kind(**given)
    except ConfigError as error:
        raise ConfigError(f"{key}.{error.key}", error.problem) from None


def read_tables(kind: type[ParametersType], key: str, given: Any) -> dict[str, ParametersType]:
    """A table of such tables, one for each topic.

    >>> read_tables(Parameters, "topics", 7)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: topics: must be a table with a table for each topic, not 7
    """
    if not isinstance(given, Mapping):
        raise ConfigError(key, f"must be a table with a table for each topic, not {given!r}")
    return {topic: read_table(kind, f"{key}.{topic}", table) for topic, table in given.items()}


def not_above(small: str, value: float, large: str, limit: float) -> None:
    """Raise :class:`ConfigError` if one parameter is above another.

    >>> not_above("D_low", 7, "D", 6)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: D_low: must not be above D (7 > 6)
    """
    if value > limit:
        raise ConfigError(small, f"must not be above {large} ({value:g} > {limit:g})")


def unknown_key(key: str, known: Any) -> str:
    """What to say of a key that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.4)
    return "there is no such key" + (f" (did you mean {near[0]}?)" if near else "")
