"""Which strategy is for which names: the longest prefix wins."""

from __future__ import annotations

from rumormill.ndn.forwarder.parameters import StrategyName
from rumormill.ndn.wire.name import Name


class StrategyChoice:
    """Strategies by prefix."""

    def set(self, prefix: Name, strategy: StrategyName) -> bool:
        """Choose the strategy for a prefix; False if there is no room for more."""
        raise NotImplementedError

    def unset(self, prefix: Name) -> None:
        """Leave a prefix to the strategy of a shorter one; the root keeps its own."""
        raise NotImplementedError

    def of(self, name: Name) -> StrategyName:
        """The strategy for a name."""
        raise NotImplementedError
