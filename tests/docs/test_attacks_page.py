"""docs/attacks.md says of each attack what its scenario does, and names no other."""

from __future__ import annotations

import re
import tomllib

import pytest

from rumormill.libp2p.attacks import ATTACKS
from rumormill.libp2p.attacks.catalogue import AMONG_STRANGERS
from rumormill.libp2p.attacks.recording import network_name
from tests.helpers.named_tests import missing, named_tests, rows
from tests.helpers.places import DOCS

PAGE = (DOCS / "attacks.md").read_text()


def section(title: str) -> str:
    """What stands under a heading, up to the next one."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def printed() -> list[str]:
    """The lines of the command's table that are about attacks."""
    (block,) = re.findall(r"```console\n\$ rumormill attack .*--alerts\n(.*?)```", PAGE, re.DOTALL)
    return [line for line in block.splitlines()[2:] if line.strip()]


def test_the_printed_table_has_every_attack_with_its_alerts_and_each_passed() -> None:
    lines = printed()
    assert len(lines) == len(ATTACKS)
    for line, scenario in zip(lines, ATTACKS.values(), strict=True):
        assert line.startswith(f"{scenario.name}  ")
        *_, alerts, verdict = re.split(r" {2,}", line.strip())
        told = set() if alerts == "-" else set(alerts.split(", "))
        assert (told, verdict) == (set(scenario.alerts), "pass"), scenario.name


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("With 20 Sybils for each", list(ATTACKS)),
        ("With 40 Sybils for each", [*list(ATTACKS)[:10], "cold boot"]),
    ],
)
def test_with_more_sybils_every_attack_passed_too(title: str, names: list[str]) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", section(title), re.DOTALL)
    lines = [line for line in block.splitlines() if re.search(r" (pass|FAIL)$", line)]
    assert [re.split(r" {2,}", line)[0] for line in lines] == names
    assert all(line.endswith(" pass") for line in lines)


def test_what_each_attack_does_is_what_its_scenario_says() -> None:
    told = [tuple(row) for row in rows(section("Each attack"))]
    attacks = [each for each in ATTACKS.values() if each.attacker is not None]
    assert told == [(each.name, each.does, each.stopped_by) for each in attacks]


def test_every_name_that_others_gave_is_covered_by_an_attack_or_a_test_that_exists() -> None:
    covered: set[str] = set()
    for _, attacks, shown_by in rows(section("Which attack covers what")):
        named = [] if attacks == "none" else attacks.split(", ")
        assert set(named) <= set(ATTACKS), attacks
        covered |= set(named)
        tests = named_tests([shown_by])
        assert missing(tests) == []
        assert named or tests or "details" in shown_by
    assert covered == set(ATTACKS)


def test_the_parameters_among_strangers_are_those_of_the_cold_boot() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", section("Among strangers"), re.DOTALL)
    (network,) = tomllib.loads(block)["network"]
    assert network == {"name": "gossipsub", **AMONG_STRANGERS}
    changed = {each.name: dict(each.gossipsub) for each in ATTACKS.values() if each.gossipsub}
    assert changed == {"cold boot": dict(AMONG_STRANGERS)}


def test_networks_are_called_as_the_page_says() -> None:
    assert f"`{network_name(ATTACKS['cold boot'])}`" in PAGE
