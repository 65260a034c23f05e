"""JSON that others send, read with a limit for all that could cost us more than its length."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, Never

from rumormill.core.errors import RemoteProtocolError

MOST_BYTES: Final = 64 * 1024
"""Of a text, unless its reader knows better: what SDKs and nodes say of themselves is small."""

DEEPEST: Final = 16
"""Lists and objects within each other."""

_NESTS: Final = (dict, list)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(data: bytes, most_bytes: int = MOST_BYTES) -> Any:
    """What the text says; :class:`RemoteProtocolError` if it is not JSON, too long or too deep.

    All texts in it can be written as UTF-8 again.

    >>> read_json(b'["weather", "news"]')
    ['weather', 'news']
    """
    if len(data) > most_bytes:
        raise RemoteProtocolError("json_too_large", f"{len(data)} bytes, {most_bytes} allowed")
    try:
        text = data.decode()
        found = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        if _SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()  # half of a pair: it is no text
    except (ValueError, RecursionError):
        raise RemoteProtocolError("bad_json", f"{len(data)} bytes") from None
    if isinstance(found, _NESTS) and text.count("[") + text.count("{") > DEEPEST:
        _check_depth(found)
    return found


def read_object(data: bytes, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """The same of a text that has to be an object."""
    found = read_json(data, most_bytes)
    if not isinstance(found, dict):
        raise RemoteProtocolError("bad_json", f"no object but a {type(found).__name__}")
    return found


def text_of(found: dict[str, Any], key: str) -> str:
    """A text of an object; it must be there."""
    value = found.get(key)
    if not isinstance(value, str):
        raise RemoteProtocolError("bad_json", f"{key} is no text")
    return value


def number_of(found: dict[str, Any], key: str) -> int:
    """A whole number of an object; it must be there."""
    value = found.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RemoteProtocolError("bad_json", f"{key} is no number")
    return value


def write_json(value: object) -> bytes:
    """Without spaces, keys as they stand."""
    return json.dumps(value, separators=(",", ":")).encode()


def _check_depth(found: Any) -> None:
    level = [found]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each) if isinstance(inner, _NESTS)]
        if not level:
            return
    raise RemoteProtocolError("json_too_deep", f"more than {DEEPEST} levels")


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _no_constant(name: str) -> Never:
    raise ValueError(name)  # NaN and the like are not JSON


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)  # it could not be written again
    return number
