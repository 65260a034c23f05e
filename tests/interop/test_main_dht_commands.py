"""The commands with nothing but a key and the main DHT: no address of a member is given."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from rumormill.bep50.live.key_file import create_item_key
from tests.helpers.interop.private_dht import PrivateDht

PATIENCE = 60.0


class Shell:
    """Runs ``rumormill`` with what all commands here have in common."""

    def __init__(self, dht: PrivateDht, folder: Path) -> None:
        key = create_item_key(folder / "key.json")
        self.topic = f"{key.public_key.hex()}:weather"
        self._key_file = folder / "key.json"
        self._common = ("--network", "bep50", "--json", "--set", "main_dht=true",
                        "--set", f"main_dht_nodes={','.join(dht.peers[:3])}")  # fmt: skip

    async def start(self, command: str, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rumormill.cli", command, self.topic, *self._common, *arguments,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

    async def publish(self, text: str, ready: float) -> dict[str, Any]:
        """The receipt of ``pub``."""
        pub = await self.start("pub", "--key-file", str(self._key_file), "--data", text,
                               "--ready", str(ready))  # fmt: skip
        out, errors = await asyncio.wait_for(pub.communicate(), PATIENCE)
        assert (pub.returncode, errors) == (0, b"")
        receipt: dict[str, Any] = json.loads(out.splitlines()[-1])
        return receipt


async def event(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
    found: dict[str, Any] = json.loads(line)
    return found


async def test_pub_finds_sub_and_who_comes_when_all_are_gone_finds_the_value(
    tmp_path: Path,
) -> None:
    async with PrivateDht() as dht:
        shell = Shell(dht, tmp_path)
        sub = await shell.start("sub")
        (address,) = (await event(sub))["addresses"]
        receipt = await shell.publish("found by the key alone", ready=60)
        assert (receipt["reached"], receipt["seq"]) == ([address], 1)
        assert (await event(sub))["data"] == "found by the key alone"
        sub.terminate()
        await asyncio.wait_for(sub.communicate(), PATIENCE)
        # Nobody is left: the main DHT has the value, its number, and takes the next one.
        late = await shell.start("sub", "--count", "1")
        await event(late)
        message = await event(late)
        assert (message["data"], message["seq"]) == ("found by the key alone", 1)
        await asyncio.wait_for(late.communicate(), PATIENCE)
        receipt = await shell.publish("to nobody", ready=0.5)
        assert (receipt["reached"], receipt["seq"]) == ([], 2)
        assert receipt["stored"] >= 1
