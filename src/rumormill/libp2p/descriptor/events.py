"""Trace events of topics with descriptors, beyond those that all topics have."""

from __future__ import annotations

from typing import Final

TRUST_CHANGED: Final = "trust_changed"  # fields: trusted (how many are), edges, banned
EDGE_REFUSED: Final = "edge_refused"  # a word on trust that does not count; fields: reason
EPOCH_BEGAN: Final = "epoch_began"  # we write with a new key; fields: readers, without
KEY_LEARNED: Final = "key_learned"  # we can read an author's epoch, or a shared key came
KEY_REFUSED: Final = "key_refused"  # a sealed key that is none for us; fields: reason

REPEATABLE: Final = (EDGE_REFUSED, KEY_REFUSED)
"""Those that a peer can bring about as often as it likes."""
