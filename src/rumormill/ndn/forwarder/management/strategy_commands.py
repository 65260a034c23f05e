"""Commands about strategies: strategy-choice/set and strategy-choice/unset."""

from __future__ import annotations

from typing import Final, get_args

from rumormill.ndn.forwarder.management.answers import (
    NO_ROOM,
    TOO_LONG,
    Answer,
    Handler,
    Request,
    done,
    refused,
)
from rumormill.ndn.forwarder.management.tables import Tables
from rumormill.ndn.forwarder.parameters import ForwarderParameters, StrategyName
from rumormill.ndn.wire.control import ControlParameters, StatusCode
from rumormill.ndn.wire.name import Name, component, name_from_uri, prefix_ends

PREFIX: Final = name_from_uri("/localhost/nfd/strategy")
"""What the names of strategies begin with."""

NAMES: Final[dict[Name, StrategyName]] = {
    PREFIX + component(name.encode()): name for name in get_args(StrategyName)
}


def strategy_name(strategy: StrategyName) -> Name:
    """What a strategy is called in commands and lists."""
    return PREFIX + component(strategy.encode())


def strategy_of(name: Name) -> StrategyName | None:
    """The strategy of a name, whatever version of it is wanted; None if we have none such."""
    for known, strategy in NAMES.items():
        if name.startswith(known):
            return strategy
    return None


class StrategyCommands:
    """What programs say about strategies."""

    def __init__(self, parameters: ForwarderParameters, tables: Tables) -> None:
        self._most_components = parameters.max_prefix_components
        self._strategies = tables.strategies

    def handlers(self) -> dict[tuple[str, str], Handler]:
        """What is done for each command, by module and verb."""
        return {("strategy-choice", "set"): self.set, ("strategy-choice", "unset"): self.unset}

    def set(self, request: Request) -> Answer:
        """Choose the strategy of a prefix."""
        prefix, wanted = request.parameters.name, request.parameters.strategy
        if prefix is None or wanted is None:
            return refused(StatusCode.BAD_REQUEST, "Malformed command")
        if len(prefix_ends(prefix)) - 1 > self._most_components:
            return refused(TOO_LONG, f"more than {self._most_components} components")
        strategy = strategy_of(wanted)
        if strategy is None:
            return refused(StatusCode.NOT_FOUND, "Strategy not registered")
        if not self._strategies.set(prefix, strategy):
            return refused(NO_ROOM, "No room for more strategies")
        return done(ControlParameters(name=prefix, strategy=strategy_name(strategy)))

    def unset(self, request: Request) -> Answer:
        """Leave a prefix to the strategy of a shorter one; the root must keep one."""
        prefix = request.parameters.name
        if not prefix:
            return refused(StatusCode.BAD_REQUEST, "Malformed command")
        self._strategies.unset(prefix)
        return done(ControlParameters(name=prefix))
