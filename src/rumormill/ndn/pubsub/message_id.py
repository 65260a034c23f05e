"""What a message is called in traces and receipts, at its publisher and its subscribers alike."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from rumormill.ndn.wire.name import Name

ID_SIZE: Final = 16


def message_id_of(name: Name) -> bytes:
    """The id of the message whose Data has this name: the first bytes of the name's SHA-256."""
    return sha256(name).digest()[:ID_SIZE]
