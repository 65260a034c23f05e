"""Keys that can be set, whichever part of a network they belong to, and text as their values."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters, unknown_key


class Key(NamedTuple):
    """One key that can be set."""

    name: str
    type: Any
    default: Any


PartType = TypeVar("PartType", bound=Parameters)


def keys_of(part: type[Parameters]) -> dict[str, Key]:
    """The keys of one set of parameters, by name."""
    return {
        name: Key(name, field.annotation, field.get_default(call_default_factory=True))
        for name, field in part.model_fields.items()
    }


def part_of(part: type[PartType], values: Mapping[str, Any]) -> PartType:
    """The parameters that have their keys among ``values``; other keys are left alone."""
    return part(**{key: value for key, value in values.items() if key in part.model_fields})


def known_values(known: Mapping[str, Key], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the user gave, as the keys want it; :class:`ConfigError` for a key that there is not."""
    for key in given:
        if key not in known:
            raise ConfigError(key, unknown_key(key, known))
    return {key: converted(known[key], value) for key, value in given.items()}


def converted(key: Key, value: Any) -> Any:
    """``value`` as the key wants it; numbers and truth values are left to the parameters.

    >>> converted(Key("listen", tuple[str, ...], ()), "[::1]:6881, 127.0.0.1:6881")
    ['[::1]:6881', '127.0.0.1:6881']
    """
    if not isinstance(value, str):
        return value
    kinds = kinds_of(key.type)
    if types.NoneType in kinds and value.lower() in ("none", "null", ""):
        return None
    in_brackets = value.startswith("[") and value.endswith("]")
    if kinds & {tuple, list, set, frozenset} and not in_brackets:
        return [each.strip() for each in value.split(",") if each.strip()]
    if kinds & {tuple, list, set, frozenset, dict, Mapping}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ConfigError(key.name, f"must be JSON, not {value!r}") from None
    return value


def names_files(annotation: Any) -> bool:
    """Whether a value is the path of a file, or a list of such.

    >>> names_files(Path | None), names_files(tuple[Path, ...]), names_files(str)
    (True, True, False)
    """
    return Path in kinds_of(annotation) or Path in get_args(annotation)


def kinds_of(annotation: Any) -> set[Any]:
    """What an annotation allows, without what stands in brackets."""
    if get_origin(annotation) in (Union, types.UnionType):
        return {kind for each in get_args(annotation) for kind in kinds_of(each)}
    return {get_origin(annotation) or annotation}
