"""Whether a certificate was issued, step by step, by a CA that is trusted, and when.

The TLS library looks at the same, but only in a handshake, and all that one hears then is that it
failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from rumormill.bcos.certificates.identity import is_leaf
from rumormill.bcos.live.pem_files import problem


def check_dates(certificate: x509.Certificate, path: Path, now: datetime, whose: str = "") -> None:
    """Raise :class:`ConfigError` unless the certificate is valid now."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    subject = f"{path}: the certificate{whose}"
    if now > end:
        raise problem(f"{subject} expired at {end:%Y-%m-%d %H:%M} UTC")
    if now < begin:
        raise problem(
            f"{subject} is not valid before {begin:%Y-%m-%d %H:%M} UTC; is the clock right?"
        )


def check_chain(
    leaf: x509.Certificate,
    others: Sequence[x509.Certificate],
    trusted: Sequence[x509.Certificate],
    path: Path,
    ca: Path,
    now: datetime,
) -> None:
    """Raise :class:`ConfigError` unless ``others`` lead from the leaf to one of ``trusted``."""
    roots = [each for each in trusted if _issued(each, each)]
    if not roots:
        raise problem(f"{ca} holds no CA that vouches for itself: it must be the root")
    at = leaf
    for _ in range(1 + len(others) + len(trusted)):
        root = next((each for each in roots if _issued(each, at)), None)
        if root is not None:
            check_dates(root, ca, now, f" of the CA {_name(root)}")
            _check_may_issue(root, ca, root=True)
            return
        found = [each for each in (*others, *trusted) if each != at and _issued(each, at)]
        if not found:
            raise _gap(leaf, at, others, trusted, path, ca)
        at = found[0]
        check_dates(at, path, now, f" of its issuer {_name(at)}")
        _check_may_issue(at, path, root=False)
    raise problem(f"{path}: its certificates vouch for each other in a circle, and no CA for them")


def _gap(
    leaf: x509.Certificate,
    at: x509.Certificate,
    others: Sequence[x509.Certificate],
    trusted: Sequence[x509.Certificate],
    path: Path,
    ca: Path,
) -> Exception:
    """What to say when nobody is found who issued ``at``."""
    issuer = at.issuer.rfc4514_string()
    if any(each.subject == at.issuer for each in (at, *others, *trusted)):
        return problem(f"{path} was issued by another CA than {ca}, whatever their names are")
    if at == leaf:
        return problem(
            f"{path} lacks the certificate of its issuer {issuer}: "
            "the agency's must stand behind the first one"
        )
    return problem(
        f"{path} was not issued by {ca}: {_name(at)} was issued by {issuer}, which is not there"
    )


def _issued(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    if issuer.subject != certificate.issuer:
        return False
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _check_may_issue(certificate: x509.Certificate, path: Path, *, root: bool) -> None:
    """Old CAs say nothing of what they may do; an agency has to."""
    said = is_leaf(certificate)
    if said or (said is None and not root):
        raise problem(f"{path}: {_name(certificate)} issued certificates and is no CA")


def _name(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string()
