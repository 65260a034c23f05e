"""TLS in words: why a handshake failed, as a short name for counters and as a sentence.

What is wrong with the other end's certificate we find out ourselves; what is wrong with ours the
other end tells by an alert. The names say whose it is: ``certificate_expired`` is the other end's,
``our_certificate_expired`` is ours.
"""

from __future__ import annotations

import ssl
from typing import NamedTuple


class Failure(NamedTuple):
    """Why a handshake, or a session, came to its end."""

    reason: str
    """A short name, of which there are few."""
    detail: str = ""
    """What OpenSSL says."""


ANOTHER_CA = "certificate_of_another_ca"

OF_CERTIFICATES = {
    9: "certificate_not_yet_valid",
    10: "certificate_expired",
    2: ANOTHER_CA,  # its issuer is not known
    7: ANOTHER_CA,  # a CA of the same name, and another key
    18: ANOTHER_CA,  # it has issued itself
    19: ANOTHER_CA,
    20: ANOTHER_CA,
    21: ANOTHER_CA,
    23: "certificate_revoked",
}
"""By the number that OpenSSL gives to what is wrong with a certificate."""

REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "no_certificate",
    "HTTP_REQUEST": "not_tls",
    "HTTPS_PROXY_REQUEST": "not_tls",
    "WRONG_VERSION_NUMBER": "not_tls",  # of a record: the bytes are something else
    "UNSUPPORTED_PROTOCOL": "protocol_version",
    "VERSION_TOO_LOW": "protocol_version",
    "TLSV1_ALERT_PROTOCOL_VERSION": "protocol_version",
    "NO_SHARED_CIPHER": "nothing_in_common",
    "NO_SHARED_GROUP": "nothing_in_common",
    "NO_SUITABLE_GROUPS": "nothing_in_common",
    "NO_SUITABLE_KEY_SHARE": "nothing_in_common",
    "NO_SHARED_SIGNATURE_ALGORITHMS": "nothing_in_common",
    "NO_SUITABLE_SIGNATURE_ALGORITHM": "nothing_in_common",
    "WRONG_CURVE": "nothing_in_common",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "handshake_refused",
    "TLSV1_ALERT_INSUFFICIENT_SECURITY": "handshake_refused",
    "TLSV1_ALERT_ACCESS_DENIED": "handshake_refused",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "our_certificate_expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "our_certificate_revoked",
    "SSLV3_ALERT_BAD_CERTIFICATE": "our_certificate_refused",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "our_certificate_refused",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "our_certificate_refused",
    "TLSV1_ALERT_UNKNOWN_CA": "our_certificate_of_another_ca",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "our_certificate_missing",
    "DECRYPTION_FAILED_OR_BAD_RECORD_MAC": "bad_record",
    "BAD_RECORD_TYPE": "bad_record",
    "PACKET_LENGTH_TOO_LONG": "bad_record",
    "DATA_LENGTH_TOO_LONG": "bad_record",
    "ENCRYPTED_LENGTH_TOO_LONG": "bad_record",
    "LENGTH_TOO_SHORT": "bad_record",
}
"""By the name that OpenSSL gives to what went wrong; all else is ``tls_error``."""

REFUSED_CERTIFICATE = "certificate_refused"
OTHER = "tls_error"

TIMED_OUT = "handshake_timed_out"
TOO_LONG = "handshake_too_long"
TOO_MANY = "too_many_handshakes"
TOO_MANY_OF_ADDRESS = "too_many_handshakes_of_address"
MADE_ROOM = "made_room"
CLOSED = "closed_in_handshake"
ANSWERS_UNREAD = "answers_not_read"


def failure_of(error: ssl.SSLError) -> Failure:
    """What went wrong."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = OF_CERTIFICATES.get(error.verify_code, REFUSED_CERTIFICATE)
        return Failure(reason, error.verify_message)
    return Failure(REASONS.get(error.reason or "", OTHER), _sentence(error))


def _sentence(error: ssl.SSLError) -> str:
    """What OpenSSL says, without where in Python's code that was.

    >>> _sentence(ssl.SSLError(1, "[SSL: NO_SHARED_CIPHER] no shared cipher (_ssl.c:1006)"))
    'no shared cipher'
    """
    text = str(error.args[-1]) if error.args else ""
    return text.rpartition("] ")[2].partition(" (_ssl.c")[0]
