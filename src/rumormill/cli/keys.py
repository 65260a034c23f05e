"""``rumormill keygen`` and ``rumormill id``: who a node is."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from rumormill.cli.render import json_line
from rumormill.cli.sentences import UsageError
from rumormill.core.errors import LocalProtocolError, RumormillError
from rumormill.libp2p.stack.keys import PublicKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.live.keyfile import create_key, load_key

ADDRESSES = ("/ip4/", "/ip6/", "/dns/", "/dns4/", "/dns6/")


def run_keygen(out: Path, force: bool, as_json: bool) -> int:
    """Write a new key file and say who it is."""
    try:
        key = replace_key(out) if force else create_key(out)
    except FileExistsError:
        problem = f"{out} exists; --force overwrites it, and its identity is lost"
        raise RumormillError(problem) from None
    show("key", {"id": key.peer, **describe_key(key.public_key), "file": str(out)}, as_json)
    return 0


def replace_key(out: Path) -> Any:
    """Write a key beside ``out`` and put it in its place: there is one whole key at any time."""
    draft = out.with_name(f".{out.name}.{secrets.token_hex(8)}")
    key = create_key(draft)
    try:
        os.replace(draft, out)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return key


def run_id(what: str, as_json: bool) -> int:
    """Say who a key file is, or what an address says."""
    if what.startswith(ADDRESSES):
        show("address", describe_address(what), as_json)
    else:
        key = load_key(what)
        show("key", {"id": key.peer, **describe_key(key.public_key), "file": what}, as_json)
    return 0


def describe_key(key: PublicKey) -> dict[str, Any]:
    """What everyone may know of a key."""
    return {"type": key.type.name.lower(), "public_key": key.data.hex()}


def describe_address(text: str) -> dict[str, Any]:
    """The parts of an address."""
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


def show(event: str, fields: dict[str, Any], as_json: bool) -> None:
    """One JSON object, or a line for each field that has a value."""
    if as_json:
        print(json_line(event, fields))
        return
    for name, value in fields.items():
        if value is not None:
            print(f"{name.replace('_', ' '):<11}{value}")
