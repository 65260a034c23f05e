"""Writes the pages of settings from the docstrings of the parameters: `make docs`.

A test compares them, so that the pages cannot fall behind the code.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from rumormill.live.settings import known_keys

ROOT = Path(__file__).parent.parent

Source = tuple[str, str]
"""A file of the package, and a class in it."""

COMMON: Source = ("live/parameters.py", "LiveParameters")


class Page(NamedTuple):
    """One page: the keys of a network, part by part."""

    file: str
    network: str
    introduction: str
    parts: dict[str, tuple[Source, ...]]
    """Of each part its sources; what a later one says of a key counts."""


LIBP2P = Page(
    "settings.md",
    "gossipsub",
    """# Settings of gossipsub and floodsub

The same keys everywhere: `rumormill.open("gossipsub", D=8)`, `--set D=8` on the command line, and
`D = 8` in a table of `node.toml`. A wrong value or an unknown key is named in one sentence.
floodsub has all but those under "gossipsub". This page is made by `make docs`.
""",
    {
        "The network": (COMMON, ("libp2p/live/settings.py", "Libp2pParameters")),
        "gossipsub": (("libp2p/gossipsub/parameters.py", "GossipsubParameters"),),
        "Messages and topics": (("libp2p/pubsub/parameters.py", "PubsubParameters"),),
        "Peers and connections": (("libp2p/host/parameters.py", "HostParameters"),),
        "Limits of one connection": (("libp2p/stack/limits.py", "ConnectionLimits"),),
    },
)

BEP50 = Page(
    "bep50-settings.md",
    "bep50",
    """# Settings of bep50

The same keys everywhere: `rumormill.open("bep50", query_timeout=1)`, `--set query_timeout=1` on the
command line, and `query_timeout = 1` in a table of `node.toml`. A wrong value or an unknown key is
named in one sentence. What the family is: [bep50.md](bep50.md). This page is made by `make docs`.
""",
    {
        "The network": (COMMON, ("bep50/live/settings.py", "Bep50Parameters")),
        "The overlay": (("bep50/overlay/parameters.py", "OverlayParameters"),),
        "The main DHT": (("bep50/main_dht/parameters.py", "SessionParameters"),),
        "Items on the main DHT": (("bep50/main_dht/parameters.py", "MainParameters"),),
    },
)

PAGES = (LIBP2P, BEP50)


def documented_fields(path: Path, class_name: str) -> dict[str, str]:
    """Each field of the class with the docstring under it."""
    body = next(
        node.body
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == class_name
    )
    found: dict[str, str] = {}
    for field, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = ""
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                text = " ".join(str(following.value.value).split()).replace("``", "`")
            found[field.target.id] = text
    return found


def page(which: Page) -> str:
    """The whole page."""
    keys = known_keys(which.network)
    lines = [which.introduction]
    for title, sources in which.parts.items():
        lines += [f"## {title}\n", "| key | default | meaning |", "|---|---|---|"]
        fields: dict[str, str] = {}
        for path, class_name in sources:
            fields |= documented_fields(ROOT / "src" / "rumormill" / path, class_name)
        for name, text in fields.items():
            if name in keys:
                lines.append(f"| `{name}` | {in_words(keys[name].default)} | {text} |")
        lines.append("")
    return "\n".join(lines)


def in_words(default: object) -> str:
    """A default as a reader would write it."""
    if default is None or default in ((), {}, -1):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    for each in PAGES:
        (ROOT / "docs" / each.file).write_text(page(each))
