"""What is known of certificates once they are loaded and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rumormill.bcos.certificates.identity import Identity
from rumormill.bcos.live.chain_maker import Profile

Role = Literal["node", "sdk"]


@dataclass(frozen=True)
class CertificateSet:
    """One certificate with its key, and the CA that is trusted: all three have been checked."""

    profile: Profile
    identity: Identity
    ca: Path
    certificate: Path
    """The leaf and those who vouch for it, up to the CA."""
    key: Path
    trusted: bytes
    """The certificates of ``ca``, in DER, one behind the other."""


@dataclass(frozen=True)
class CertificateFolder:
    """All certificates of a node or an SDK."""

    role: Role
    own: CertificateSet
    """Of a node always on secp256k1; of an SDK either profile."""
    channel: CertificateSet | None = None
    """The RSA profile beside it, if there is one."""

    @property
    def identity(self) -> Identity:
        """Who the owner is."""
        return self.own.identity

    @property
    def issuers(self) -> tuple[str, ...]:
        """Who issued its certificates: those of RSA have a CA of theirs."""
        sets = (self.own,) if self.channel is None else (self.own, self.channel)
        return tuple(dict.fromkeys(each.identity.issuer for each in sets))
