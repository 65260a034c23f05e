"""What is not installed is named, with the command that helps."""

from __future__ import annotations

import pytest

from rumormill.core.errors import ConfigError
from rumormill.system.packages import require


def test_what_is_installed_is_no_matter() -> None:
    require(("json", "pytest"), "rumormill[node]", "a test")


def test_the_first_that_is_missing_is_named_with_its_extra_and_the_key_that_asked() -> None:
    with pytest.raises(ConfigError) as caught:
        require(
            ("json", "no_such_thing", "nor_this"), "rumormill[node]", "the HTTP side", key="http"
        )
    assert str(caught.value) == (
        "http: the HTTP side needs no_such_thing, which is not installed; "
        "pip install 'rumormill[node]' brings it"
    )
