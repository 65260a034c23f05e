from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.certificates.access import AccessLists, node_ids
from rumormill.core.errors import ConfigError

ALICE, BOB = "ab" * 64, "cd" * 64


def test_without_lists_everyone_may_connect() -> None:
    assert AccessLists().refuses(ALICE) == ""


def test_who_is_not_on_the_white_list_is_refused() -> None:
    lists = AccessLists(allowed=[ALICE])
    assert lists.refuses(ALICE) == ""
    assert lists.refuses(BOB) == "not_in_whitelist"
    assert lists.refuses("") == "not_in_whitelist"


def test_the_black_list_wins() -> None:
    lists = AccessLists(allowed=[ALICE, BOB], denied=[BOB])
    assert lists.refuses(ALICE) == ""
    assert lists.refuses(BOB) == "in_blacklist"


def test_ids_are_the_same_in_either_case() -> None:
    lists = AccessLists(allowed=[ALICE.upper()], denied=[f" {BOB} "])
    assert lists.refuses(ALICE) == lists.refuses(ALICE.upper()) == ""
    assert lists.refuses(BOB.upper()) == "in_blacklist"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0f", "'0f' has 2 characters"),
        ("", "'' has 0 characters"),
        ("04" + ALICE, "has 130 characters"),
        ("g" * 128, "has others"),
        ("\u0661" * 128, "has others"),
    ],
)
def test_what_is_no_node_id_is_told_with_the_list_that_it_is_on(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"^allowed: a node id has 128 hex digits.*{problem}"):
        AccessLists(allowed=[ALICE, text])
    with pytest.raises(ConfigError, match=r"^denied: "):
        AccessLists(denied=[text])


@given(st.binary(min_size=64, max_size=64))
def test_every_public_key_makes_an_id_that_a_list_takes(key: bytes) -> None:
    assert node_ids([key.hex().upper()]) == (key.hex(),)
