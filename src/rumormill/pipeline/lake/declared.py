"""Columns as tables declare them: in the words of SQL, read without a session."""

from __future__ import annotations

import re
from typing import Final

from rumormill.core.errors import ConfigError

_PART: Final = re.compile(r"(?:`[^`]*`|<|>|\(|\)|,|[^`<>(),]+)")
_COLUMN: Final = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))\s*:?\s+(?P<type>.*\S)\s*", re.S
)


def columns_of(declared: str) -> dict[str, str]:
    """Names and types of columns that are declared as SQL has them. It needs no session.

    >>> columns_of("minute timestamp, `by` string, tree array<struct<node: string, hop: int>>")
    {'minute': 'timestamp', 'by': 'string', 'tree': 'array<struct<node: string, hop: int>>'}
    """
    texts, depth = [""], 0
    for part in _PART.findall(declared):
        depth += (part in "<(") - (part in ">)")
        if part == "," and depth == 0:
            texts.append("")
        else:
            texts[-1] += part
    found: dict[str, str] = {}
    for text in texts:
        column = _COLUMN.fullmatch(text)
        if column is None:
            raise ConfigError(
                "columns", f"{text.strip()!r} is no column: it takes a name and a type"
            )
        name = column["quoted"] or column["plain"]
        if name in found:
            raise ConfigError("columns", f"there are two columns {name!r}")
        found[name] = column["type"]
    return found
