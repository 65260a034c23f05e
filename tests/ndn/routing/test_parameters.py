"""The settings of routing, and routes by hand as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.routing.static_route import StaticRoute, read_static_route
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.routers import Routers


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("/a/b=tcp://host:6363", ("/a/b", "tcp://host:6363", 1)),
        ("/=udp://[::1]:6363,7", ("/", "udp://[::1]:6363", 7)),
        ("/8=x/a=unix:///run/nfd.sock", ("/8=x/a", "unix:///run/nfd.sock", 1)),
        ("ndn:/a=tcp://host:1", ("/a", "tcp://host:1", 1)),
    ],
)
def test_a_route_by_hand_is_a_prefix_an_address_and_perhaps_a_cost(
    text: str, route: tuple[str, str, int]
) -> None:
    prefix, address, cost = route
    assert read_static_route(text) == StaticRoute(name_from_uri(prefix), address, cost)


@pytest.mark.parametrize(
    "text", ["", "/a", "/a=", "/a=host:1", "a=tcp://h:1", "/a=tcp://h:1,x", "/a=tcp://h:1,-1",
             "/a=tcp://h:1,99999999999", "/params-sha256=00=tcp://h:1", "/a=udp://host:1", "/a=udp4://host:1"],
)  # fmt: skip
def test_what_is_no_route_is_an_error_that_names_the_key(text: str) -> None:
    with pytest.raises(ConfigError, match="routes"):
        RoutingParameters(routes=(text,))


def test_one_route_needs_no_list() -> None:
    values: dict[str, Any] = {"routes": "/a=tcp://h:1"}
    assert RoutingParameters(**values).routes == ("/a=tcp://h:1",)


def test_a_node_must_have_a_name_that_fits() -> None:
    with pytest.raises(LocalProtocolError, match="shorter"):
        Routers().add(["x" * 600])
