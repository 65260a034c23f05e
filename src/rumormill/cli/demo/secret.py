"""A scene: a private topic whose messages pass through an outsider who cannot read them.

Four commands that anyone can type. The outsider stands in the middle, knows the topic's id and
nothing else, and passes on what it sees; the reader and the writer have the topic's files. An
intruder, who has no key that the topic lists, publishes too, and nobody reads it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rumormill.cli.demo.process import Command, DemoError, Event
from rumormill.cli.demo.progress import Reporter
from rumormill.core.words import plural
from rumormill.live.family import SecretScene

PATIENCE = 30.0
"""Seconds for a step that should take one or two."""
POLL = 0.05
MESSAGES = 20


class SecretOutcome(NamedTuple):
    """What came of the scene."""

    published: int
    read: int
    """By who has the topic's files, as they were written."""
    relayed: int
    """Seen by the outsider, which passed them on."""
    leaked: int
    """Of these, how many it could read."""
    forbidden: int
    """Messages of the intruder that reached the reader."""

    @property
    def good(self) -> bool:
        """Whether all was read by who may, and nothing by who may not."""
        everything = self.read == self.relayed == self.published > 0
        return everything and not self.leaked and not self.forbidden

    def sentence(self) -> str:
        """The same for people."""
        if self.good:
            return (
                f"A private topic: an outsider relayed {plural(self.relayed, 'message')} and could "
                f"read none, the reader behind it read all {self.read}, and what an intruder "
                "published was refused."
            )
        return (
            f"The private topic failed: of {plural(self.published, 'message')}, {self.read} were "
            f"read, {self.relayed} relayed, {self.leaked} leaked, {self.forbidden} forged."
        )


class SecretPlay:
    """The scene at work. :meth:`run` does it all; :meth:`close` leaves no process behind."""

    def __init__(self, scene: SecretScene, reporter: Reporter, folder: Path) -> None:
        self._scene = scene
        self._reporter = reporter
        self._folder = folder
        self._file = str(folder / "secret.topic")
        self._key = str(folder / "writer.key")
        self._commands: list[Command] = []
        self._ready: dict[str, Event] = {}
        self._messages: dict[str, list[str | None]] = {"outsider": [], "reader": []}
        """What each got; None for bytes that are no text."""

    async def run(self) -> SecretOutcome:
        """From the keys to what was read."""
        self._reporter.stage("a private topic, and an outsider in the middle who relays it", 1)
        topic = await self._make_topic()
        outsider = await self._listen("outsider", topic)
        await self._listen("reader", "--topic-file", self._file, "--peer", outsider)
        secrets = [f"secret {number}" for number in range(MESSAGES)]
        words = ("--topic-file", self._file, "--key-file", self._key, "--peer", outsider)
        await asyncio.gather(
            self._publish("intruder", topic, "--peer", outsider, texts=["from an intruder"]),
            self._publish("writer", *words, texts=secrets),
        )
        read = self._messages["reader"]
        await self._until(lambda: len(read) >= MESSAGES, "the reader lacks messages")
        await asyncio.gather(*(command.stop() for command in self._commands))
        self._reporter.done()
        seen = self._messages["outsider"]
        own = [text for text in seen if text != "from an intruder"]
        return SecretOutcome(
            published=len(secrets),
            read=len(set(read) & set(secrets)),
            relayed=len(own),
            leaked=sum(text is not None for text in own),
            forbidden=len(set(read) - set(secrets)),
        )

    async def close(self) -> None:
        """End every process that we started."""
        await asyncio.gather(*(command.kill() for command in self._commands))

    async def _make_topic(self) -> str:
        """A key for the writer, and a topic on which nobody else may write."""
        made: list[Event] = []
        words = ("keygen", "--network", self._scene.network, "--out", self._key, "--json")
        await Command("rumormill keygen", words).run()
        words = ("topic", "create", self._scene.name, "--network", self._scene.network, "--json")
        options = [*self._scene.options, "--publisher", self._key, "--out", self._file]
        await Command("rumormill topic create", (*words, *options), made.append).run()
        return str(made[0]["id"])

    async def _listen(self, name: str, *words: str) -> str:
        """Start a ``sub``; its address."""

        def heard(event: Event) -> None:
            if event["event"] == "ready":
                self._ready[name] = event
            elif event["event"] == "message":
                self._messages[name].append(event.get("data"))

        listen = ("--listen", self._scene.listen, "--network", self._scene.network, "--json")
        command = Command(name, ("sub", *words, *listen), heard)
        self._commands.append(command)
        await command.start()
        await self._until(lambda: name in self._ready, f"the {name} was not ready")
        return str(self._ready[name]["addresses"][0])

    async def _publish(self, name: str, *words: str, texts: Sequence[str]) -> None:
        """Publish some lines by a ``pub`` that ends when all have left."""
        end = ("--network", self._scene.network, "--json")
        command = Command(name, ("pub", *words, *end))
        self._commands.append(command)
        process = await command.start()
        for text in texts:
            command.write(text)
        assert process.stdin is not None
        process.stdin.close()
        await self._until(lambda: command.ended, f"the {name} did not end")
        if process.returncode:
            raise DemoError(f"the {name} failed: {command.last_words()}")

    async def _until(self, condition: Callable[[], Any], problem: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise DemoError(f"{problem} within {PATIENCE:g} s")
            await asyncio.sleep(POLL)
