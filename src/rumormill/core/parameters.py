"""The base of every set of parameters: typed, frozen, and wrong values name their key."""

from __future__ import annotations

import difflib
from typing import Any

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


def unknown_key(key: str, known: Any) -> str:
    """What to say of a key that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.4)
    return "there is no such key" + (f" (did you mean {near[0]}?)" if near else "")
