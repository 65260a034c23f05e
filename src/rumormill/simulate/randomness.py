"""Random sources that depend on a seed and a name, and on nothing else."""

from __future__ import annotations

import hashlib
import random


def derive_random(seed: int | str, *names: str | int) -> random.Random:
    """A generator for what ``names`` say, whatever else was derived before.

    SHA-256 rather than ``hash()``: the latter differs from process to process.

    >>> derive_random(1, "node", "a").random() == derive_random(1, "node", "a").random()
    True
    >>> derive_random(1, "node", "a").random() == derive_random(1, "node", "b").random()
    False
    """
    digest = hashlib.sha256(repr((seed, names)).encode("utf-8", "surrogatepass")).digest()
    return random.Random(int.from_bytes(digest, "big"))
