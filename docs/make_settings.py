"""Writes docs/settings.md from the parameters' own docstrings: `make docs`.

A test compares the two, so that the page cannot fall behind the code.
"""

from __future__ import annotations

import ast
from pathlib import Path

from rumormill.live.settings import known_keys

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "settings.md"

PARTS = {
    "The network": ("live/settings.py", "LiveParameters"),
    "gossipsub": ("libp2p/gossipsub/parameters.py", "GossipsubParameters"),
    "Messages and topics": ("libp2p/parameters.py", "PubsubParameters"),
    "Peers and connections": ("libp2p/host_parameters.py", "HostParameters"),
    "Limits of one connection": ("libp2p/stack/limits.py", "ConnectionLimits"),
}

INTRODUCTION = """# Settings of gossipsub and floodsub

The same keys everywhere: `rumormill.open("gossipsub", D=8)`, `--set D=8` on the command line, and
`D = 8` in a table of `node.toml`. A wrong value or an unknown key is named in one sentence.
floodsub has all but those under "gossipsub". This page is made by `make docs`.
"""


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


def page() -> str:
    """The whole page."""
    keys = known_keys("gossipsub")
    lines = [INTRODUCTION]
    for title, (path, class_name) in PARTS.items():
        lines += [f"## {title}\n", "| key | default | meaning |", "|---|---|---|"]
        fields = documented_fields(ROOT / "src" / "rumormill" / path, class_name)
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
    PAGE.write_text(page())
