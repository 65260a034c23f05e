"""Which strategy is for which names: the longest prefix wins."""

from __future__ import annotations

from collections.abc import Iterator

from rumormill.core.turn import Turn
from rumormill.ndn.forwarder.parameters import ForwarderParameters, StrategyName
from rumormill.ndn.forwarder.strategies.best_route import BestRoute
from rumormill.ndn.forwarder.strategies.multicast import Multicast
from rumormill.ndn.forwarder.strategies.strategy import Strategy, Suppression
from rumormill.ndn.forwarder.tables.prefix_table import PrefixTable
from rumormill.ndn.wire.name import Name, name_to_uri

STRATEGY_SET = "strategy_set"  # fields: prefix, strategy
STRATEGY_UNSET = "strategy_unset"  # fields: prefix

ROOT: Name = b""


class StrategyChoice:
    """Strategies by prefix; that of the root is for whatever has none of its own."""

    def __init__(self, turn: Turn, parameters: ForwarderParameters) -> None:
        self._turn = turn
        self._most = parameters.max_strategies
        suppression = Suppression(parameters.suppression_first, parameters.suppression_most)
        self._strategies: dict[StrategyName, Strategy] = {
            "best-route": BestRoute(suppression),
            "multicast": Multicast(suppression),
        }
        self._default: StrategyName = parameters.strategy
        self._chosen: PrefixTable[StrategyName] = PrefixTable()
        self._chosen.set(ROOT, self._default)
        self._only: Strategy | None = self._strategies[self._default]
        """The strategy of the root, if no other prefix has one."""

    def __len__(self) -> int:
        return len(self._chosen)

    def set(self, prefix: Name, strategy: StrategyName) -> bool:
        """Choose the strategy for a prefix; False if there is no room for more."""
        earlier = self._chosen.get(prefix)
        # The root's does not count.
        if earlier is None and len(self._chosen) > self._most:
            return False
        if earlier != strategy:
            self._chosen.set(prefix, strategy)
            self._changed()
            self._turn.trace(STRATEGY_SET, prefix=name_to_uri(prefix), strategy=strategy)
        return True

    def unset(self, prefix: Name) -> None:
        """Leave a prefix to the strategy of a shorter one; the root falls back to the setting."""
        if prefix == ROOT:
            self.set(ROOT, self._default)
        elif self._chosen.remove(prefix) is not None:
            self._changed()
            self._turn.trace(STRATEGY_UNSET, prefix=name_to_uri(prefix))

    def of(self, name: Name) -> StrategyName:
        """What the strategy for a name is called."""
        return self._chosen.longest(name) or self._default

    def strategy(self, name: Name) -> Strategy:
        """The strategy for a name."""
        return self._only or self._strategies[self.of(name)]

    def choices(self) -> Iterator[tuple[Name, StrategyName]]:
        """All prefixes that have a strategy of their own, the root first."""
        yield from self._chosen.by_prefix.items()

    def _changed(self) -> None:
        alone = len(self._chosen) == 1
        self._only = self._strategies[self.of(ROOT)] if alone else None
