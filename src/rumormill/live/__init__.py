"""The asyncio side: one driver for every machine, TCP, networks, topics, subscriptions.

Protocol logic lives in machines that know no socket and no clock; this room gives them both. A
family derives its network from :class:`Network` or :class:`MessageNetwork`, and gives its machine
to a :class:`Driver`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumormill.live.checks.checker import Checker, Subject
    from rumormill.live.checks.validation import Accept, Ignore, Reject, Validation, Validators
    from rumormill.live.driver import Driver
    from rumormill.live.message_network import MessageNetwork
    from rumormill.live.network import Network
    from rumormill.live.topics.subscription import Subscription, WhenFull
    from rumormill.live.topics.topic import Topic

__all__ = [
    "Accept",
    "Checker",
    "Driver",
    "Ignore",
    "MessageNetwork",
    "Network",
    "Reject",
    "Subject",
    "Subscription",
    "Topic",
    "Validation",
    "Validators",
    "WhenFull",
]

_HOMES = {
    "Checker": "checks.checker",
    "Subject": "checks.checker",
    "Driver": "driver",
    "MessageNetwork": "message_network",
    "Network": "network",
    "Subscription": "topics.subscription",
    "WhenFull": "topics.subscription",
    "Topic": "topics.topic",
    "Accept": "checks.validation",
    "Ignore": "checks.validation",
    "Reject": "checks.validation",
    "Validation": "checks.validation",
    "Validators": "checks.validation",
}
"""Where each public name lives. It is imported at first use: whoever needs one of them need not
wait for the others."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rumormill.live' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"rumormill.live.{home}"), name)
    globals()[name] = value
    return value
