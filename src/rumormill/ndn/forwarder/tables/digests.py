"""Names that end with the digest of a whole Data: there is only one that they can mean."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.name import Name, prefix_ends

HEAD: Final = b"\x01\x20"
"""Type and length of the component."""
SIZE: Final = 34


def without_digest(name: Name) -> Name | None:
    """The name of the Data itself, if the name ends with a digest; else None.

    >>> without_digest(b"\\x08\\x01a" + HEAD + bytes(32))
    b'\\x08\\x01a'
    >>> without_digest(b"\\x08\\x01a") is None
    True
    """
    # The first question is enough for nearly all; a longer component may hold the same bytes.
    if name[-SIZE : -SIZE + 2] == HEAD and prefix_ends(name)[-2] == len(name) - SIZE:
        return name[:-SIZE]
    return None


def matches_digest(name: Name, data: Data) -> bool:
    """Whether a name that ends with a digest is the full name of a Data."""
    return name[:-SIZE] == data.name and name[-SIZE + 2 :] == sha256(data.raw).digest()
