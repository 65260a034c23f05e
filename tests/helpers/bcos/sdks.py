"""SDK machines among node machines, in virtual time."""

from __future__ import annotations

import random
from typing import Any, TypeVar

from rumormill.bcos.sdk.machine import SdkMachine
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.private_topics import TopicKeys
from rumormill.core.machine import Check, Checked, Deliver, Verdict
from rumormill.core.message import Message
from rumormill.core.transport import Dial
from tests.helpers.bcos.machine_network import credentials_of, identify
from tests.helpers.bcos.nodes import Nodes, channel_of

Kind = TypeVar("Kind")


class Chain(Nodes):
    """Nodes by letters, each pair of ``links`` connected, and SDKs at them; every message passes
    its check.
    """

    def __init__(self, *links: str) -> None:
        super().__init__()
        self.start("".join(sorted(set("".join(links)))))
        for link in links:
            self.dial(link[0], link[1])
        self.run(1)

    def sdk(
        self, name: str, nodes: str, *, keys: TopicKeys | None = None, **parameters: Any
    ) -> SdkMachine:
        """An SDK that is connected to the nodes of these letters."""
        number = 100 + len(self.machines)
        machine = SdkMachine(
            name=name, network="bcos", parameters=SdkParameters(**parameters),
            random=random.Random(number), keys=keys or TopicKeys(), identify=identify,
        )  # fmt: skip
        self.add(name, machine, None, credentials_of(number))
        self.feed(name, *(Dial(channel_of(each), keep=True) for each in nodes))
        self.run(1)
        return machine

    def feed(self, name: str, *inputs: Any) -> None:
        """As of every network; whatever is to be checked is accepted."""
        super().feed(name, *inputs)
        checks = self.take(name, Check)
        if checks:
            super().feed(name, *(Checked(each.token, Verdict.ACCEPT) for each in checks))

    def take(self, name: str, kind: type[Kind]) -> list[Kind]:
        """The effects of a kind since the last look; they are gone then."""
        found = self.of(name, kind)
        self.effects[name] = [e for e in self.effects[name] if not isinstance(e, kind)]
        return found

    def messages(self, name: str) -> list[Message]:
        """What was delivered since the last look."""
        return [effect.message for effect in self.take(name, Deliver)]
