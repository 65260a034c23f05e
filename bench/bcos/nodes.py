"""Nodes of ours, as the command line starts them, each in a process of its own."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import NamedTuple

from bench.siege.processes import Program

STARTING = 30.0
"""Seconds that a program may take until it is ready."""


class Node(NamedTuple):
    """A node that runs."""

    program: Program
    address: str
    """For nodes."""
    channel: str
    """For SDKs."""


async def start_node(
    stack: contextlib.AsyncExitStack, what: str, certificates: Path, *peers: str
) -> Node:
    """Run a node until the stack is closed."""
    command = [
        sys.executable, "-m", "rumormill.cli", "node", "--network", "bcos", "--json",
        "--certificates", str(certificates), "--listen", "127.0.0.1:0",
        "--set", "channel_listen=127.0.0.1:0",
        *(word for peer in peers for word in ("--peer", peer)),
    ]  # fmt: skip
    program = await stack.enter_async_context(Program(what, command))
    said = await program.expect("ready", STARTING)
    # It says how it is now and then; nobody here listens.
    program.drain()
    return Node(program, said["addresses"][0], said["services"]["channel"][0])
