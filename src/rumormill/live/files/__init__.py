"""Files that a node keeps: whole at any time, and readable by their owner alone."""

from __future__ import annotations

from rumormill.live.files.private import read_json, read_private, replace_whole, write_new

__all__ = ["read_json", "read_private", "replace_whole", "write_new"]
