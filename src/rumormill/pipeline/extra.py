"""Whether what the pipeline stands on is installed, and what to do where it is not."""

from __future__ import annotations

from rumormill.system.packages import require


def require_spark() -> None:
    """Raise :class:`ConfigError` with the command that helps, if a package is missing."""
    require(
        ("pyspark", "pyarrow", "pandas", "urllib3"),
        "rumormill[spark]",
        "the pipeline",
        key="pipeline",
    )
