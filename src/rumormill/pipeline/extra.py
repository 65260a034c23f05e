"""Whether what the pipeline stands on is installed, and what to do where it is not."""

from __future__ import annotations

from importlib.util import find_spec

from rumormill.core.errors import ConfigError


def require_spark() -> None:
    """Raise :class:`ConfigError` with the command that helps, if a package is missing."""
    for package in ("pyspark", "pyarrow", "xxhash"):
        if find_spec(package) is None:
            raise ConfigError(package, "not installed; pip install 'rumormill[spark]' brings it")
