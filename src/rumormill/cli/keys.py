"""``rumormill keygen`` and ``rumormill id``: who a node is, and what an address or a topic says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rumormill.cli.render import json_line
from rumormill.cli.sentences import UsageError
from rumormill.core.errors import ConfigError, LocalProtocolError, RumormillError
from rumormill.live.families import families, family_of
from rumormill.live.family import Description, Family
from rumormill.live.files.private import read_json, read_private
from rumormill.system.files import draft_of


def run_keygen(network: str, out: Path, force: bool, as_json: bool) -> int:
    """Write a new key file and say who it is."""
    family = family_of(network)
    try:
        public = replace_key(out, family.create_key) if force else family.create_key(out)
    except FileExistsError:
        problem = f"{out} exists; --force overwrites it, and its identity is lost"
        raise RumormillError(problem) from None
    if family.topics_of_keys and not as_json:
        print(public["id"])  # for a shell, which makes a topic of it
    else:
        show("key", {**public, "file": str(out)}, as_json)
    return 0


def replace_key(out: Path, create: Callable[[Path], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Write a key beside ``out`` and put it in its place: there is one whole key at any time."""
    with draft_of(out) as draft:
        return create(draft)


def run_id(what: str, as_json: bool) -> int:
    """Say who a key file is, or what an address or a topic says."""
    kind, fields = described(what) or Description("key", describe_file(what))
    show(kind, fields, as_json)
    return 0


def described(what: str) -> Description | None:
    """What the family says whose address or topic this looks like; None if it is none."""
    for family in families():
        try:
            found = family.describe(what)
        except LocalProtocolError as error:
            raise UsageError(str(error)) from error
        if found is not None:
            return found
    return None


def describe_file(path: str) -> Mapping[str, Any]:
    """What everyone may know of the key in a file, whichever family it is of."""
    try:
        content = read_json(read_private(path, "key_file"))
    except ValueError:
        content = {}
    family = key_owner(content.get("type"))
    if family is None:
        known = ", ".join(kind for family in families() for kind in family.key_types)
        problem = f'{path} holds no key: its "type" must be one of {known}'
        raise ConfigError("key_file", problem)
    return {**family.describe_key(Path(path)), "file": path}


def key_owner(kind: object) -> Family | None:
    """The family whose key files have this type."""
    return next((family for family in families() if kind in family.key_types), None)


def show(event: str, fields: Mapping[str, Any], as_json: bool) -> None:
    """One JSON object, or a line for each field that has a value."""
    if as_json:
        print(json_line(event, dict(fields)))
        return
    for name, value in fields.items():
        if value is not None:
            print(f"{name.replace('_', ' '):<11}{value}")
