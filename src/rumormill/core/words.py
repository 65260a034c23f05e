"""Names and numbers in a sentence, as every room that speaks to people says them."""

from __future__ import annotations

LONG_NAME = 16
"""A peer id of so many characters is shown whole."""

FAILURES = {
    "certificate_expired": "its certificate has expired",
    "certificate_not_yet_valid": "its certificate is not valid yet",
    "certificate_of_another_ca": "its certificate is of another CA than those we trust",
    "certificate_refused": "its certificate is not one we can trust",
    "certificate_revoked": "its certificate has been revoked",
    "closed": "it closed the connection",
    "closed_in_handshake": "it closed the connection within the TLS handshake",
    "handshake_refused": "it refused the TLS handshake",
    "handshake_timed_out": "the TLS handshake took too long",
    "handshake_too_long": "it sent too much before the TLS handshake was done",
    "no_certificate": "it showed no certificate",
    "not_tls": "it does not speak TLS",
    "nothing_in_common": "it has no cipher or curve of TLS in common with us",
    "our_certificate_expired": "it says that our certificate has expired",
    "our_certificate_missing": "it wants a certificate of us",
    "our_certificate_of_another_ca": "it does not trust the CA of our certificate",
    "our_certificate_refused": "it does not accept our certificate",
    "our_certificate_revoked": "it says that our certificate has been revoked",
    "protocol_version": "it speaks another version of TLS",
    "tls_error": "the TLS handshake failed",
}
"""Reasons of trace events for which underscores alone make no sentence; "it" is the other end."""

HEAD, TAIL = 4, 7
"""Characters of a longer one that are shown. The ends of peer ids differ, the beginnings do not."""


def plural(count: int, noun: str) -> str:
    """A number and its noun.

    >>> plural(1, "peer"), plural(2000, "peer"), plural(0, "delivery"), plural(2, "key")
    ('1 peer', '2,000 peers', '0 deliveries', '2 keys')
    """
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        noun = f"{noun[:-1]}ie"
    return f"{count:,} {noun}s"


def in_words(reason: str, detail: str = "") -> str:
    """What to tell a user of a failure that trace events know by a short name.

    >>> in_words("connection_refused"), in_words("wrong_peer", "it is 12D3KooW...")
    ('connection refused', 'wrong peer (it is 12D3KooW...)')
    >>> in_words("certificate_expired")
    'its certificate has expired'
    """
    words = FAILURES.get(reason) or reason.replace("_", " ")
    return f"{words} ({detail})" if detail else words


def printable(text: str) -> str:
    """``text`` with escapes in place of control characters: strangers write what we print.

    >>> printable("a\\tb\\x9b2J")
    'a\\\\tb\\\\x9b2J'
    """
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)


def short(name: str, enough: int = LONG_NAME, head: int = HEAD, tail: int = TAIL) -> str:
    """A name by its two ends, if it is longer than ``enough``.

    >>> short("12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA"), short("node-1")
    ('12D3..QAJU5SA', 'node-1')
    """
    whole = len(name) <= enough or head + 2 + tail >= len(name)
    return name if whole else f"{name[:head]}..{name[-tail:]}"
