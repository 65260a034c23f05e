"""How families are found: by entry points, ours and those of others."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

import rumormill
from rumormill.core.errors import ConfigError
from rumormill.live.family import Family, families
from rumormill.live.family.families import GROUP, find_family, load, network_names


class Pigeons(Family):
    name = "pigeons"
    networks = ("pigeon",)

    def make(self, network: str, settings: Any) -> rumormill.Network:
        raise NotImplementedError


class Doves(Family):
    name = "doves"
    networks = ("dove", "pigeon")
    order = 50

    def make(self, network: str, settings: Any) -> rumormill.Network:
        raise NotImplementedError


PIGEONS, DOVES, NO_FAMILY = Pigeons(), Doves(), "a mere text"


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}", GROUP)


def test_families_stand_in_their_order_and_networks_by_name() -> None:
    found = load([point("pigeons", "PIGEONS"), point("doves", "DOVES")])
    assert [family.name for family in found.families] == ["doves", "pigeons"]
    assert list(found.networks) == ["dove", "pigeon"]


def test_a_name_that_is_taken_stays_with_the_first_and_it_is_told() -> None:
    found = load([point("pigeons", "PIGEONS"), point("doves", "DOVES")])
    assert found.networks["pigeon"] is DOVES
    assert found.problems == (
        "the families doves and pigeons both have a network pigeon; that of doves is used",
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("MISSING", "has no attribute 'MISSING'"),
        ("NO_FAMILY", "is no Family"),
    ],
)
def test_a_family_that_cannot_be_loaded_harms_nobody_else(value: str, problem: str) -> None:
    found = load([point("broken", value), point("pigeons", "PIGEONS")])
    assert found.families == (PIGEONS,)
    (sentence,) = found.problems
    assert sentence.startswith("the family broken (") and problem in sentence


def test_who_asks_for_a_network_that_is_not_there_is_told_of_what_could_not_be_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = load([point("pigeons", "PIGEONS"), point("broken", "MISSING")])
    monkeypatch.setattr(families, "registry", lambda: broken)
    with pytest.raises(ConfigError, match=r"must be one of pigeon, not 'dove'; the family broken"):
        find_family("dove")


def test_what_is_wrong_with_a_family_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(families, "entry_points", lambda group: [point("broken", "MISSING")])
    families.registry.cache_clear()
    try:
        assert families.registry().families == families.registry().families == ()
    finally:
        families.registry.cache_clear()
    (record,) = caplog.records
    assert record.getMessage().startswith("the family broken (")


def test_the_families_of_this_distribution_are_found() -> None:
    assert network_names()[:4] == ("gossipsub", "floodsub", "randomsub", "bep50")


@pytest.mark.parametrize("network", network_names())
def test_every_network_has_the_keys_that_all_have(network: str) -> None:
    keys = find_family(network).known_keys(network)
    assert {"listen", "bootstrap", "key_file", "spool"} <= keys.keys()


@pytest.mark.parametrize("family", families.families(), ids=lambda family: family.name)
def test_what_a_family_says_of_itself_fits_together(family: Family) -> None:
    family.check_address(family.listen)
    family.check_address(family.listen_example)
    assert {act.network for act in family.acts()} <= set(family.networks)
    assert {page.network for page in family.settings_pages()} <= set(family.networks)
