"""``rumormill keygen`` and ``rumormill id``: who a node is, and what a topic is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rumormill.cli.families import BEP50, LIBP2P, commands_of
from rumormill.cli.render import json_line
from rumormill.cli.sentences import UsageError
from rumormill.core.errors import LocalProtocolError, RumormillError
from rumormill.live.families import family_of
from rumormill.live.files.private import read_json, read_private
from rumormill.system.files import draft_of

ADDRESSES = ("/ip4/", "/ip6/", "/dns/", "/dns4/", "/dns6/")

BEP50_TOPIC = re.compile(r"magnet:.*|[0-9a-fA-F]{64}(:.*)?", re.DOTALL)


def run_keygen(network: str, out: Path, force: bool, as_json: bool) -> int:
    """Write a new key file and say who it is."""
    family_of(network)
    commands = commands_of(network)
    try:
        key = replace_key(out, commands.create_key) if force else commands.create_key(out)
    except FileExistsError:
        problem = f"{out} exists; --force overwrites it, and its identity is lost"
        raise RumormillError(problem) from None
    if commands.key_line is not None and not as_json:
        print(commands.key_line(key))
    else:
        show("key", {**commands.describe_key(key), "file": str(out)}, as_json)
    return 0


def replace_key(out: Path, create: Callable[[Path], Any]) -> Any:
    """Write a key beside ``out`` and put it in its place: there is one whole key at any time."""
    with draft_of(out) as draft:
        return create(draft)


def run_id(what: str, as_json: bool) -> int:
    """Say who a key file is, or what an address or a topic says."""
    if what.startswith(ADDRESSES):
        show("address", describe_address(what), as_json)
    elif BEP50_TOPIC.fullmatch(what):
        show("topic", describe_topic(what), as_json)
    else:
        show("key", {**describe_file(what), "file": what}, as_json)
    return 0


def describe_file(path: str) -> dict[str, Any]:
    """What everyone may know of the key in a file, whichever family it is of."""
    try:
        content = read_json(read_private(path, "key_file"))
    except ValueError:
        content = {}
    if content.get("type") == "bep50":
        from rumormill.bep50.live.key_file import load_item_key

        return BEP50.describe_key(load_item_key(path))
    from rumormill.libp2p.live.key_file import load_key

    return LIBP2P.describe_key(load_key(path))


def describe_address(text: str) -> dict[str, Any]:
    """The parts of an address."""
    from rumormill.libp2p.stack.multiaddr import Multiaddr

    try:
        address = Multiaddr.parse(text)
    except LocalProtocolError as error:
        raise UsageError(str(error)) from error
    return {
        "address": str(address),
        "host": address.host,
        "port": address.port,
        "family": address.family,
        "id": address.peer,
    }


def describe_topic(text: str) -> dict[str, Any]:
    """The parts of a bep50 topic, and what it is called in the DHT."""
    family_of("bep50")
    from rumormill.bep50.wire.topics import parse_topic

    try:
        topic = parse_topic(text)
    except LocalProtocolError as error:
        raise UsageError(str(error)) from error
    return {
        "topic": topic.text,
        "public_key": topic.public_key.hex(),
        "salt": topic.salt.hex() or None,
        "target": topic.target.hex(),
    }


def show(event: str, fields: dict[str, Any], as_json: bool) -> None:
    """One JSON object, or a line for each field that has a value."""
    if as_json:
        print(json_line(event, fields))
        return
    for name, value in fields.items():
        if value is not None:
            print(f"{name.replace('_', ' '):<11}{value}")
