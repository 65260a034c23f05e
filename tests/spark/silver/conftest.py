"""What is known by hand must be found by the pipeline and by the second opinion alike."""

from __future__ import annotations

from functools import partial

import pytest

from tests.helpers.second_opinion.by_hand import Opinion
from tests.helpers.second_opinion.oracle import second_opinion
from tests.helpers.second_opinion.pipeline import silver_of


@pytest.fixture(scope="session", params=["second opinion", "pipeline"])
def opinion(request: pytest.FixtureRequest) -> Opinion:
    """Makes the silver tables of a trace."""
    if request.param == "second opinion":
        return second_opinion
    return partial(silver_of, request.getfixturevalue("spark"))
