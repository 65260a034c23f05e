from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.places import SpoolPlace, StreamPlace, read_place

numbers = st.integers(0, 2**62)
places = st.builds(
    SpoolPlace, numbers, numbers, numbers, st.dictionaries(st.text(), numbers, max_size=3)
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), places, max_size=4), numbers)
def test_a_place_is_read_as_it_was_written(spools: dict[str, SpoolPlace], lost: int) -> None:
    place = StreamPlace("trace", spools, lost)
    assert read_place(place.to_json(), "trace") == place


@given(anything)
def test_any_other_object_is_refused_in_words(spools: Any) -> None:
    for offset in (
        {"format": 1, "kind": "messages", "spools": spools, "lost": 0},
        {"format": 1, "kind": "messages", "spools": {"id": spools}, "lost": 0},
        {"format": 1, "kind": "messages", "spools": {}, "lost": spools},
    ):
        try:
            read_place(offset, "messages")
        except ConfigError as error:
            assert error.key == "checkpointLocation"


@pytest.mark.parametrize("offset", [{}, {"format": 2}, {"logOffset": 5}])
def test_the_checkpoint_of_another_source_is_refused(offset: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="checkpointLocation: was not written by this version"):
        read_place(offset, "messages")


def test_a_new_spool_gets_a_number_of_its_own() -> None:
    place = StreamPlace("messages")
    assert place.free_partition() == 0
    place.spools = {"b": SpoolPlace(4, 0, 0), "a": SpoolPlace(1, 0, 0)}
    assert place.free_partition() == 5
