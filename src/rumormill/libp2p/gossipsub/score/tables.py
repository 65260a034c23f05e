"""Groups of a score's parameters: all keys of one are given, or it is off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters, read_table


def read_group(owner: type[Parameters], key: str, given: Any) -> Parameters | None:
    """A group as users write it; ``owner`` says which parameters it has, ``false`` that it is off.

    >>> class Weights(Parameters):
    ...     weight: float
    >>> class Example(Parameters):
    ...     P3: Weights | None = None
    >>> read_group(Example, "P3", False) is None
    True
    """
    if given is None or given is False:
        return None
    kind: type[Parameters] = get_args(owner.model_fields[key].annotation)[0]
    if isinstance(given, Mapping):
        required = [name for name, field in kind.model_fields.items() if field.is_required()]
        missing = [name for name in required if name not in given]
        if missing:
            raise ConfigError(
                f"{key}.{missing[0]}",
                f"is missing; {key} needs all of {', '.join(required)}, or is left out whole",
            )
    return read_table(kind, key, given)
