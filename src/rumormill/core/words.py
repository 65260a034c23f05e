"""Names and numbers in a sentence, as every room that speaks to people says them."""

from __future__ import annotations

LONG_NAME = 16
"""A peer id of so many characters is shown whole."""

HEAD, TAIL = 4, 7
"""Characters of a longer one that are shown. The ends of peer ids differ, the beginnings do not."""


def plural(count: int, noun: str) -> str:
    """A number and its noun.

    >>> plural(1, "peer"), plural(2000, "peer"), plural(0, "delivery"), plural(2, "key")
    ('1 peer', '2,000 peers', '0 deliveries', '2 keys')
    """
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        noun = f"{noun[:-1]}ie"
    return f"{count:,} {noun}s"


def printable(text: str) -> str:
    """``text`` with escapes in place of control characters: strangers write what we print.

    >>> printable("a\\tb\\x9b2J")
    'a\\\\tb\\\\x9b2J'
    """
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)


def short(name: str, enough: int = LONG_NAME, head: int = HEAD, tail: int = TAIL) -> str:
    """A name by its two ends, if it is longer than ``enough``.

    >>> short("12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA"), short("node-1")
    ('12D3..QAJU5SA', 'node-1')
    """
    whole = len(name) <= enough or head + 2 + tail >= len(name)
    return name if whole else f"{name[:head]}..{name[-tail:]}"
