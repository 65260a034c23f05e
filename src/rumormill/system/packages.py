"""Whether what is needed is installed, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from rumormill.core.errors import ConfigError


def require(packages: Iterable[str], bring: str, what: str, *, key: str = "network") -> None:
    """Raise :class:`ConfigError` with the command that helps, if one of ``packages`` is missing.

    ``bring``: what ``pip`` installs to bring them, such as an extra of this distribution. ``what``
    needs them, as the sentence says; ``key`` is what the user wrote that asked for it.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ConfigError(
                key,
                f"{what} needs {package}, which is not installed; pip install '{bring}' brings it",
            )
