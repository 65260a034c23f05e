"""Small programs in the user's cache that start another one with something taken off."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rumormill.system.files import replace_file


def write_launcher(kind: str, target: Path, text: str, name: str = "") -> Path:
    """Write the program once for each ``target``, as ``name`` in a folder of its own if given."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "rumormill" / kind / re.sub(r"\W+", "-", str(target)).strip("-")[-200:] / name
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: another process may be starting it.
        replace_file(path, text.encode(), mode=0o755, durable=False)
    return path
