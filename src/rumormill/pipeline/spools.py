"""The spools that a query reads, opened and told apart by their ids."""

from __future__ import annotations

from collections.abc import Sequence

from rumormill.capture.log import Log
from rumormill.core.errors import ConfigError
from rumormill.pipeline.reading import ReadPlan


def open_all(sources: Sequence[str], plan: ReadPlan) -> list[Log]:
    """The log of each source; the same spool twice is an error that names both."""
    found: dict[str, Log] = {}
    for source in sources:
        spool = plan.open(source)
        other = found.setdefault(spool.spool_id, spool)
        if other is not spool:
            raise ConfigError(
                "spool", f"{source} and {other.source} are the same spool, {spool.spool_id}"
            )
    return list(found.values())
