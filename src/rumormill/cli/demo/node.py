"""One node of an act: ``rumormill sub`` or ``rumormill pub``, and what it told last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rumormill.cli.demo.process import Command, DemoError, Event


class Node:
    """Has one life after the other; each is a command of its own."""

    def __init__(self, number: int, heard: Callable[[int, Event], None]) -> None:
        self.number = number
        self.command = Command(f"node {number}", ())
        self.away = False
        """Killed by us, and not started again yet."""
        self.ready: Event = {}
        self.address = ""
        """Where others find it, also while it is away; publishers have none."""
        self.subscribers = 0
        """Others whose subscription it knows of, by its last status."""
        self.peers = 0
        """Nodes that it is connected to, by its last status."""
        self._tell = heard

    async def start(self, arguments: Sequence[str]) -> None:
        """Start its command; nothing is known of this life of it."""
        self.ready, self.subscribers, self.peers = {}, 0, 0
        self.command = Command(f"node {self.number}", arguments, self._heard)
        await self.command.start()
        self.away = False

    async def kill(self) -> None:
        """End this life of it with SIGKILL."""
        self.away = True
        await self.command.kill()

    def check_alive(self) -> None:
        """Raise :class:`DemoError` if it ended, and not by our hand."""
        if self.command.ended and not self.away:
            raise DemoError(f"node {self.number} ended by itself: {self.command.last_words()}")

    def describe(self) -> dict[str, Any]:
        """Who it is, for programs."""
        command = f"rumormill {' '.join(self.command.arguments)}"
        return {"node": self.number, "id": self.ready["id"], "address": self.address,
                "pid": self.command.pid, "command": command}  # fmt: skip

    def _heard(self, event: Event) -> None:
        if event["event"] == "ready":
            self.ready = event
            self.address = next(iter(event["addresses"]), "")
        elif event["event"] == "status":
            (topic,) = event["topics"].values()
            self.subscribers = topic["subscribers"]
            self.peers = event["peers"]
        self._tell(self.number, event)
