"""Writes the pages of settings from the docstrings of the parameters: `make docs`.

A test compares them, so that the pages cannot fall behind the code.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

from rumormill.live.configuration.settings import known_keys
from rumormill.live.family import SettingsPage
from rumormill.live.family.families import families, network_names

DOCS = Path(__file__).parent

PAGES = tuple(page for family in families() for page in family.settings_pages())


def documented_fields(kind: type) -> dict[str, str]:
    """Each field of the class with the docstring under it."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    body = definition.body
    found: dict[str, str] = {}
    for field, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = ""
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                text = " ".join(str(following.value.value).split()).replace("``", "`")
            found[field.target.id] = text
    return found


def page(which: SettingsPage) -> str:
    """The whole page."""
    lines = [which.introduction]
    for title, kinds in which.parts.items():
        # A part that bears a network's name has the keys of that network alone.
        keys = known_keys(title if title in network_names() else which.network)
        lines += [f"## {title}\n", "| key | default | meaning |", "|---|---|---|"]
        fields: dict[str, str] = {}
        for kind in kinds:
            fields |= documented_fields(kind)
        for name, text in fields.items():
            if name in keys:
                lines.append(f"| `{name}` | {in_words(keys[name].default)} | {text} |")
        lines.append("")
    return "\n".join(lines)


def in_words(default: object) -> str:
    """A default as a reader would write it."""
    if default is None or default in ((), {}, -1, ""):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    for each in PAGES:
        (DOCS / each.file).write_text(page(each))
