"""``rumormill keygen`` and ``rumormill id``: who a node is, and what an address or a topic says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rumormill.cli.commands.key_options import dashed
from rumormill.cli.words.render import json_line
from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import ConfigError, LocalProtocolError, RumormillError
from rumormill.live.family import NOTHING, Description, Family, FolderKey
from rumormill.live.family.families import families, family_of
from rumormill.live.files.private import read_json, read_private
from rumormill.system.files import draft_of

NO_COUNTS: Mapping[str, int | None] = MappingProxyType({})


def run_keygen(
    network: str,
    out: Path,
    force: bool,
    as_json: bool,
    counts: Mapping[str, int | None] = NO_COUNTS,
    settings: Mapping[str, str] = NOTHING,
) -> int:
    """Write a new key file, or add to a folder of keys, and say who they are."""
    family = family_of(network)
    wanted = wanted_keys(family, network, counts)
    check_settings(family, network, settings)
    if family.key_options:
        if force:
            problem = "what is in the folder stays, and what is missing is added"
            raise UsageError(f"--force is not for {network}: {problem}")
        show_folder(family.create_keys(out, wanted), as_json)
        return 0
    try:

        def create(path: Path) -> Mapping[str, Any]:
            return family.create_key(path, settings)

        public = replace_key(out, create) if force else create(out)
    except FileExistsError:
        problem = f"{out} exists; --force overwrites it, and its identity is lost"
        raise RumormillError(problem) from None
    if family.topics_of_keys and not as_json:
        print(public["id"])  # for a shell, which makes a topic of it
    else:
        show("key", {**public, "file": str(out)}, as_json)
    return 0


def wanted_keys(
    family: Family, network: str, counts: Mapping[str, int | None]
) -> Mapping[str, int]:
    """How many of each the family is to make; :class:`UsageError` for what it does not know."""
    given = {name: count for name, count in counts.items() if count is not None}
    known = {option.name: option.default for option in family.key_options}
    for name in given:
        if name not in known:
            options = ", ".join(map(dashed, known))
            problem = f"it has only {options}" if known else "its key is one file"
            raise UsageError(f"{dashed(name)} is not for {network}: {problem}")
    return known | given


def check_settings(family: Family, network: str, settings: Mapping[str, str]) -> None:
    """Refuse with :class:`UsageError` what the family's keys do not know."""
    for name in settings:
        if name not in family.key_settings:
            known = ", ".join(family.key_settings)
            problem = f"it has only {known}" if known else "there is nothing to be set of its keys"
            raise UsageError(f"--set {name} is not for keys of {network}: {problem}")


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
    width = max(11, *(len(name) + 1 for name in fields))
    for name, value in fields.items():
        if value is not None:
            print(f"{name.replace('_', ' '):<{width}}{value}")


def show_folder(keys: Sequence[FolderKey], as_json: bool) -> None:
    """One JSON object for each key, or a table: which folder is whose."""
    if as_json:
        for key in keys:
            print(json_line("key", {**key._asdict(), "folder": str(key.folder)}))
        return
    rows = [("key", "folder", "", "id")]
    rows += [(key.kind, str(key.folder), "new" if key.new else "kept", key.id) for key in keys]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        )
