"""Where results are kept: JSON for machines, and a Markdown page for readers.

A part that is measured anew replaces the one of an older run; the others stay, each with its own
date and machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.formatting import number
from bench.parts import PARTS, tables_of

Row = dict[str, Any]

JSON_FILE, MARKDOWN_FILE = "latest.json", "latest.md"


def write(folder: Path, measured: dict[str, Row]) -> dict[str, Row]:
    """Write both files; returns all parts, those of older runs included."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = _older(folder / JSON_FILE) | {
        name: _judged(name, part) for name, part in measured.items()
    }
    ordered: dict[str, Row] = {name: parts[name] for name in PARTS if name in parts}
    (folder / JSON_FILE).write_text(json.dumps(ordered, indent=1) + "\n")
    (folder / MARKDOWN_FILE).write_text(page(ordered))
    return ordered


def _judged(name: str, part: Row) -> Row:
    goals = [goal.to_json() for goal in PARTS[name].goals(part)]
    return part | {"goals": goals} if goals else part


def _older(file: Path) -> dict[str, Row]:
    try:
        parts: dict[str, Row] = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return parts


def page(parts: dict[str, Row]) -> str:
    """The Markdown page."""
    lines = ["# Benchmarks", "", "Written by `make bench`; how to read it: `bench/README.md`.", ""]
    for name, part in parts.items():
        lines += [f"## {name}", "", *_circumstances(part), ""]
        lines += [table.to_markdown() for table in tables_of({name: part})]
    return "\n".join(lines)


def _circumstances(part: Row) -> list[str]:
    machine = part["machine"]
    load = " ".join(f"{each:.2f}" for each in machine["load"])
    lines = [
        f"- {machine['date']}{', a quick run' if part['quick'] else ''}",
        f"- {machine['cores']} cores, {machine['processor']}"
        f" ({' '.join(machine['flags']) or 'no flags of interest'}), {machine['system']}",
        f"- load before the run: {load}; cores that others kept busy during it:"
        f" {number(part.get('others_cores'))}",
    ]
    for contestant, versions in part["versions"].items():
        found = ", ".join(f"{name} {version}" for name, version in versions.items())
        lines.append(f"- {contestant}: {found}")
    lines += [f"- {name}: missing, {reason}" for name, reason in part["missing"].items()]
    return lines
