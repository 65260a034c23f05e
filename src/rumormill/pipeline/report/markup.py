"""HTML that cannot be broken by what is put into it.

    tag("td", topic, class_="name", data_topic=topic)

Text and attributes are escaped; only what :func:`tag` and :func:`raw` return goes in as it is.
Names of topics and peers are chosen by strangers, so nothing else builds HTML here.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

VOID = {"meta", "input", "br", "rect", "circle", "path", "polyline", "line", "stop"}
"""Elements without content."""


class Markup(str):
    """A piece of HTML that is safe to put into a page."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]
"""What can stand in an element; ``None`` stands for nothing."""


def raw(text: str) -> Markup:
    """Our own text, as it is: style and script."""
    return Markup(text)


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. ``class_`` is ``class``, ``data_topic`` is ``data-topic``; None leaves one out.

    >>> tag("td", "<b>", class_="name", data_topic='"x"', hidden=None)
    '<td class="name" data-topic="&quot;x&quot;">&lt;b&gt;</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{written}>" if name in HTML_VOID else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


HTML_VOID = {"meta", "input", "br"}


def join(children: Child) -> Markup:
    """Children one after the other.

    >>> join(["a & b", None, [tag("br")], 3])
    'a &amp; b<br>3'
    """
    if children is None:
        return Markup("")
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(html.escape(children))
    if isinstance(children, int | float):
        return Markup(str(children))
    return Markup("".join(join(child) for child in children))


def json_block(identifier: str, value: Any) -> Markup:
    """Data for the page's script, in an element that no text in it can close.

    >>> json_block("data", ["</script>"])
    '<script type="application/json" id="data">["\\\\u003c/script\\\\u003e"]</script>'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # all ASCII
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{identifier}">{text}</script>')


def number(value: float | None) -> str | None:
    """A number for a ``data-value`` attribute, to the last digit; nothing for none."""
    return None if value is None else json.dumps(value)


def _attribute(value: Any) -> str:
    # A page cannot hold this character; a browser would put another in its place.
    return "" if value is True else str(value).replace("\0", "\\x00")
