"""Whose signatures count, topic by topic, as the user says.

A rule gives the keys that may publish below a prefix; of several prefixes the longest counts. There
only these keys do, and a plain digest, which anybody can make, does not. Topics without a rule are
open: a digest is enough, yet a signature that claims to be somebody's is verified with a key that
is known, or refused. Of what is signed in a way that we do not know, nothing is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.key_names import key_named_by
from rumormill.ndn.security.keys import PublicKey
from rumormill.ndn.wire.name import Name, prefix_ends
from rumormill.ndn.wire.signature import Signature, SignatureType

CHEAP: Final = 2.0
"""Microseconds of a digest, or of a signature whose key is not known."""


class KeyRing:
    """Some keys, found by what key locators say."""

    __slots__ = ("_by_digest", "_by_name")

    def __init__(self, keys: Iterable[PublicKey] = ()) -> None:
        self._by_name: dict[Name, PublicKey] = {}
        self._by_digest: dict[bytes, PublicKey] = {}
        for key in keys:
            self.add(key)

    def add(self, key: PublicKey) -> None:
        """One more; two keys of one name are a mistake, since one of them would never be found."""
        if self._by_name.setdefault(key.name, key) != key:
            raise LocalProtocolError(f"two keys are called {key.uri}")
        if key.digest:
            self._by_digest[key.digest] = key

    def __iter__(self) -> Iterator[PublicKey]:
        return iter(self._by_name.values())

    def of(self, signature: Signature) -> PublicKey | None:
        """The key that a signature names; None if it is not here, or of another kind."""
        name = signature.key_name
        if name is not None:
            key = self._by_name.get(name) or self._by_name.get(key_named_by(name))
        else:
            key = self._by_digest.get(signature.key_digest or b"")
        return key if key is not None and key.signature_type == signature.type else None


class Trust:
    """Which signatures are accepted. It never changes, so any thread may ask."""

    __slots__ = ("_known", "_rules")

    def __init__(
        self, rules: Mapping[Name, Iterable[PublicKey] | None], known: Iterable[PublicKey] = ()
    ) -> None:
        """``rules`` are keys by topic prefix, or None where topics are open below a prefix that
        is not; ``known`` are further keys, for topics that are open.
        """
        self._known = KeyRing(known)
        self._rules: dict[Name, KeyRing | None] = {}
        for prefix, keys in rules.items():
            ring = None if keys is None else KeyRing(keys)
            self._rules[prefix] = ring
            for key in ring or ():
                self._known.add(key)

    @classmethod
    def open(cls, known: Iterable[PublicKey] = ()) -> Trust:
        """No rules: digests are accepted, and signatures of keys that are known."""
        return cls({}, known)

    def verdict(self, topic: Name, signature: Signature | None) -> bool:
        """Whether something about ``topic`` with this signature is believed; None: it has none.

        The parameters digest of an Interest holds it together like a digest signature would, so
        that one without a signature is believed where digests are.
        """
        ring = self._ring(topic)
        if signature is None:
            return ring is None
        if signature.type == SignatureType.DIGEST:
            return ring is None and sha256(signature.covered).digest() == signature.value
        key = (self._known if ring is None else ring).of(signature)
        return key is not None and key.verify(signature.covered, signature.value)

    def cost(self, signature: Signature | None) -> float:
        """What :meth:`verdict` takes, in microseconds, roughly."""
        if signature is None or signature.type == SignatureType.DIGEST:
            return CHEAP
        key = self._known.of(signature)
        return CHEAP if key is None else key.cost

    def _ring(self, topic: Name) -> KeyRing | None:
        """The keys of the longest prefix that has a rule; None if the topic is open."""
        if not self._rules:
            return None
        for end in reversed(prefix_ends(topic)):
            prefix = topic[:end]
            if prefix in self._rules:
                return self._rules[prefix]
        return None
