"""``open_log``: the records of a spool, in a folder or behind the address of a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rumormill.capture.log import require_pyarrow
from rumormill.system.packages import require

if TYPE_CHECKING:
    from rumormill.capture.log import Log


def open_log(
    source: str | Path, kind: str, *, token: str | None = None, retry_seconds: float = 30.0
) -> Log:
    """One kind of records of a spool: ``messages`` or ``trace``.

    ``source`` is the folder of the spool, or the address of the node that keeps it, as in
    ``http://127.0.0.1:7700``; ``token`` is what that node may ask for, and it is asked
    again for ``retry_seconds`` while it is away.
    """
    require_pyarrow()
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        require(("urllib3",), "rumormill[spark]", "reading from a node", key="node")
        from rumormill.capture.reading.remote import RemoteLog

        return RemoteLog(source, kind, token=token, retry_seconds=retry_seconds)
    from rumormill.capture.reading.local import LocalLog

    return LocalLog(source, kind)
