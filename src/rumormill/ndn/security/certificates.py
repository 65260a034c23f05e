"""Certificates of NDN, taken as public keys: a Data packet whose content is the key.

Its name is ``/<identity>/KEY/<id>/<issuer>/<version>``. Who issued it and for how long is not
looked at: it is the user who says that this key counts, by giving the file.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.ndn.security.keys import PublicKey, public_key
from rumormill.ndn.wire.data import decode_data

KEY_CONTENT: Final = 2
"""The content type of a certificate."""

LARGEST_CERTIFICATE: Final = 8800
_DATA: Final = 0x06
_MARKS: Final = re.compile(rb"-----(BEGIN|END) NDN CERT-----")
_HEADER: Final = re.compile(rb"^[A-Za-z-]+:.*$", re.MULTILINE)


def key_from_certificate(raw: bytes) -> PublicKey:
    """The key of a certificate: the packet as it is, in base64, or between marks as PEM has it.

    Raises :class:`LocalProtocolError`.
    """
    if len(raw) > 2 * LARGEST_CERTIFICATE:
        raise LocalProtocolError(f"a certificate has {LARGEST_CERTIFICATE} bytes at most")
    try:
        data = decode_data(_packet(raw))
    except RemoteProtocolError as error:
        raise LocalProtocolError(f"it is no certificate of NDN: {error}") from None
    if data.content_type != KEY_CONTENT or not data.content:
        raise LocalProtocolError("it is a Data packet, but holds no key")
    return public_key(data.name, data.content)


def _packet(raw: bytes) -> bytes:
    if raw[:1] == bytes([_DATA]):
        return raw
    text = _HEADER.sub(b"", _MARKS.sub(b"", raw))
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except (ValueError, binascii.Error):
        raise LocalProtocolError("it is neither a certificate of NDN nor one in base64") from None
