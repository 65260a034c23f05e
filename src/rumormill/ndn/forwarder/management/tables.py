"""All that the forwarder keeps, as management sees it."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.face_directory import FaceDirectory
from rumormill.ndn.forwarder.face_state import FaceState
from rumormill.ndn.forwarder.statistics import Statistics
from rumormill.ndn.forwarder.strategies.strategy_choice import StrategyChoice
from rumormill.ndn.forwarder.tables.content_store import ContentStore
from rumormill.ndn.forwarder.tables.fib import Fib
from rumormill.ndn.forwarder.tables.pit import Pit
from rumormill.ndn.forwarder.tally import Tally


class Tables(NamedTuple):
    """What there is."""

    states: dict[int, FaceState]
    fib: Fib
    pit: Pit
    store: ContentStore
    strategies: StrategyChoice
    statistics: Statistics
    tally: Tally
    directory: FaceDirectory

    def face(self, id: int) -> Face | None:
        """The face of a number, if it is there."""
        state = self.states.get(id)
        return None if state is None else state.face

    def faces(self) -> list[Face]:
        """All faces that are there, by their numbers."""
        return [state.face for _, state in sorted(self.states.items())]
