from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters


class Example(Parameters):
    size: int = 1


def test_a_wrong_path_is_shown_as_the_user_wrote_it() -> None:
    values: dict[str, Any] = {"size": Path("some/file")}
    with pytest.raises(ConfigError, match=r"^size: .* \(got 'some/file'\)$"):
        Example(**values)
