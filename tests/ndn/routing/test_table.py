"""The table: which way is taken, told, and held back."""

from __future__ import annotations

from rumormill.core.timers import Alarm
from rumormill.ndn.faces.face import Face
from rumormill.ndn.routing.messages import node_with_epoch
from rumormill.ndn.routing.neighbour import Neighbour
from rumormill.ndn.routing.parameters import UNREACHABLE, RoutingParameters
from rumormill.ndn.routing.table import Table
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.name import Name, name_from_uri
from tests.helpers.ndn.forwarding import NotedFace

PARAMETERS = RoutingParameters(hold=1.0)
GOAL = Destination(node_with_epoch(name_from_uri("/goal"), bytes(8)), name_from_uri("/x"))


class Desk:
    """A table with neighbours ``a``, ``b`` and ``c``."""

    def __init__(self, **parameters: float) -> None:
        self.fib: dict[str, int] = {}
        self.reachable: list[bool] = []
        settings = PARAMETERS.model_copy(update=parameters)
        self.table = Table(self, self, settings, Alarm())
        self.by_name: dict[str, Neighbour] = {}
        for number, name in enumerate("abc"):
            neighbour = Neighbour(NotedFace(number, name, local=False), settings, dialed=True)
            neighbour.node = node_with_epoch(name_from_uri(f"/{name}"), bytes(8))
            self.by_name[name] = neighbour

    def add_route(self, prefix: Name, face: Face, cost: int) -> bool:
        self.fib[face.uri] = cost
        return True

    def remove_route(self, prefix: Name, face: Face) -> None:
        del self.fib[face.uri]

    def way_changed(self, destination: Destination) -> None:
        pass

    def reached(self, destination: Destination, reachable: bool) -> None:
        self.reachable.append(reachable)

    def report(self, now: float = 0.0, **costs: int) -> None:
        for name, cost in costs.items():
            self.table.report(self.by_name[name], GOAL, cost, now)

    def told(self) -> dict[str, int]:
        """What each neighbour is told, and ``z`` who is none of them."""
        nodes = {name: each.node for name, each in self.by_name.items()}
        return {
            name: self.table.told_to(node, GOAL)
            for name, node in {**nodes, "z": node_with_epoch(b"", bytes(8))}.items()
        }


def test_who_is_nearer_is_told_nothing_and_others_the_cost() -> None:
    desk = Desk()
    desk.report(a=2, b=3)
    assert desk.told() == {"a": UNREACHABLE, "b": 3, "c": 3, "z": 3}
    assert desk.table.told_to(GOAL.node, GOAL) == UNREACHABLE
    assert desk.fib == {"a": 3, "b": 4}


def test_who_is_farther_than_we_are_is_no_next_hop() -> None:
    desk = Desk()
    desk.report(a=2, b=3, c=4)
    assert desk.fib == {"a": 3, "b": 4}


def test_a_longer_way_is_told_as_lost_for_a_while() -> None:
    desk = Desk()
    desk.report(a=2, b=3, c=4)
    desk.report(a=UNREACHABLE, now=5.0)
    assert set(desk.told().values()) == {UNREACHABLE}
    assert desk.fib == {"b": 4}  # as near as we were: it did not go by us
    assert desk.table.next_wake() == 6.0
    desk.table.wake(6.0)
    assert desk.told() == {"a": 4, "b": UNREACHABLE, "c": 4, "z": 4}
    assert desk.fib == {"b": 4, "c": 5}
    assert desk.reachable == [True]


def test_what_was_only_known_by_us_is_taken_back_within_the_hold() -> None:
    desk = Desk()
    desk.report(a=2, c=4)
    desk.report(a=UNREACHABLE)
    assert desk.fib == {}
    desk.report(c=UNREACHABLE, now=0.5)
    desk.table.wake(1.0)
    assert desk.table.destinations() == []
    assert desk.reachable == [True, False]
    assert desk.table.sizes() == dict.fromkeys(desk.table.sizes(), 0)


def test_a_way_as_short_as_before_ends_the_hold() -> None:
    desk = Desk()
    desk.report(a=2)
    desk.report(a=UNREACHABLE)
    desk.report(b=2, now=0.5)
    assert desk.told() == {"a": 3, "b": UNREACHABLE, "c": 3, "z": 3}
    assert desk.table.next_wake() is None


def test_who_is_nearer_than_we_ever_were_needs_no_hold_though_the_hop_is_dear() -> None:
    desk = Desk(hop_cost=3)
    desk.report(a=2, b=4)
    desk.report(a=UNREACHABLE)
    assert desk.told()["z"] == 7
    assert desk.fib == {"b": 7}


def test_without_a_hold_the_next_best_is_told_at_once() -> None:
    desk = Desk(hold=0.0)
    desk.report(a=2, c=4)
    desk.report(a=UNREACHABLE)
    assert desk.told()["z"] == 5


def test_sixteen_is_no_way() -> None:
    desk = Desk()
    desk.report(a=15)
    assert (desk.fib, desk.reachable, desk.told()["z"]) == ({}, [], UNREACHABLE)
    desk.report(a=14)
    assert (desk.fib, desk.reachable, desk.told()["z"]) == ({"a": 15}, [True], 15)
