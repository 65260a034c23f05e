"""JSON that strangers send: one object of texts, and one more of them in it; or a sentence why not.

A message needs no lists and no deeper objects. So what would take much memory or many levels of
recursion is refused before it is read, after one look at the text from its beginning.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Never

from rumormill.capture.envelope import MOST_HEADERS
from rumormill.node.guard import Refusal

MOST_TEXTS: Final = 2 * MOST_HEADERS + 16
"""In one body: two for each header, and a few more."""

MOST_OBJECTS: Final = 2

MUST_BE_OBJECT: Final = 'the body must be an object as {"topic": "weather", "data": "..."}'

_SPACE: Final = " \t\r\n"

# A string to its end, or to the end of everything; or the beginning of a list or an object.
# Possessive: what is no string is not tried again in other ways, whatever it looks like.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]', re.DOTALL)


def read_object(body: bytes | bytearray) -> dict[str, Any]:
    """The object of a body; :class:`Refusal` says what is wrong with it.

    >>> read_object(b'{"topic": "weather", "headers": {"unit": "mm"}}')
    {'topic': 'weather', 'headers': {'unit': 'mm'}}
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is no UTF-8, at byte {error.start}") from None
    if text.lstrip(_SPACE).startswith("["):
        raise Refusal(400, MUST_BE_OBJECT)
    _check_shape(text)
    try:
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "the body is no JSON") from None
    if not isinstance(found, dict):
        raise Refusal(400, MUST_BE_OBJECT)
    return found


def _check_shape(text: str) -> None:
    """That reading it costs no more than its length."""
    texts = objects = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first == "[":
            raise Refusal(400, "there is a list in the body; a message has none")
        if first == "{":
            objects += 1
        else:
            texts += 1
        if objects > MOST_OBJECTS:
            raise Refusal(400, "the body is nested too deeply; only headers are an object in it")
        if texts > MOST_TEXTS:
            raise Refusal(400, f"the body has more than {MOST_TEXTS} texts")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Refusal(400, f"{name[:40]!r} is there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> Never:
    raise Refusal(400, f"{name} is no JSON")
