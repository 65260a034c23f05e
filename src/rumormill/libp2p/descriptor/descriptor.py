"""The topic descriptor of libp2p's first pubsub specification, and the topic id that it gives.

The id is the SHA-256 of the descriptor's bytes in base64, as rust's ``Sha256Topic`` makes it of a
descriptor that has a name only. So that one descriptor has one id, it has one encoding: fields in
the order of their numbers, what is not set left out, keys in the order of their bytes and none
twice. Any other encoding is refused, and so is a field that we do not know: it might say who may
publish.
"""

from __future__ import annotations

import base64
import enum
import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeVar

from rumormill.core.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import (
    LENGTH_DELIMITED,
    VARINT,
    bytes_field,
    fields,
    varint_field,
)
from rumormill.libp2p.stack.peer_id import check_peer_id, from_text, to_text

LARGEST_DESCRIPTOR: Final = 64 * 1024
"""Bytes: a thousand publishers fit."""
LONGEST_NAME: Final = 1024
"""Bytes of UTF-8, as of any topic."""
MOST_PUBLISHERS: Final = 1024
"""Peers listed in ``keys``."""
MOST_KEY_HASHES: Final = 64

SALT_SIZE: Final = 16
KEY_HASH_SIZE: Final = SALT_SIZE + 32
"""Bytes of an entry of ``keyHashes``: the salt, and behind it the hash."""

BAD: Final = "bad_descriptor"


class AuthMode(enum.IntEnum):
    """Who may publish."""

    NONE = 0
    """Anyone."""
    KEY = 1
    """The peers that are listed."""
    WOT = 2
    """They, and whom a trusted peer trusts."""


class EncryptionMode(enum.IntEnum):
    """Who can read."""

    NONE = 0
    """Anyone."""
    SHAREDKEY = 1
    """Who has one of the keys whose hashes are listed."""
    WOT = 2
    """Trusted peers, by keys that authors seal to each of them."""


@dataclass(frozen=True)
class AuthOptions:
    """``AuthOpts``; ``keys`` are peer ids."""

    mode: AuthMode = AuthMode.NONE
    keys: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class EncryptionOptions:
    """``EncOpts``; each of ``key_hashes`` is a salt of 16 bytes and the hash behind it.

    In the order in which the keys are to be used, the first first.
    """

    mode: EncryptionMode = EncryptionMode.NONE
    key_hashes: tuple[bytes, ...] = ()


NO_AUTH, NO_ENCRYPTION = AuthOptions(), EncryptionOptions()


@dataclass(frozen=True)
class TopicDescriptor:
    """What a topic says of itself; :class:`ConfigError` if it contradicts itself.

    >>> TopicDescriptor("weather").topic_id
    '+ELLHh2xzBH2WK+dVpRMgfoBI5hDLK5VMoiQJE0do3Q='
    >>> TopicDescriptor.decode(TopicDescriptor("weather").encode()).name
    'weather'
    """

    name: str
    auth: AuthOptions = NO_AUTH
    encryption: EncryptionOptions = NO_ENCRYPTION

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_auth(self.auth)
        _check_encryption(self.encryption, self.auth)
        if len(self.encode()) > LARGEST_DESCRIPTOR:
            raise ConfigError("keys", f"the descriptor is larger than {LARGEST_DESCRIPTOR} bytes")

    @classmethod
    def make(
        cls,
        name: str,
        *,
        auth: str = "none",
        publishers: tuple[str, ...] = (),
        encryption: str = "none",
        key_hashes: tuple[bytes, ...] = (),
    ) -> TopicDescriptor:
        """A descriptor from words and peer ids as text, in any order.

        >>> made = TopicDescriptor.make("weather", auth="key", publishers=(
        ...     "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN",))
        >>> made.auth.mode.name, len(made.topic_id)
        ('KEY', 44)
        """
        try:
            ids = {from_text(each) for each in publishers}
        except LocalProtocolError as error:
            raise ConfigError("publishers", str(error)) from None
        return cls(
            name,
            AuthOptions(AUTH_WORDS.read(auth), tuple(sorted(ids))),
            EncryptionOptions(ENCRYPTION_WORDS.read(encryption), key_hashes),
        )

    # ---- the id

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the descriptor: 32 bytes."""
        return hashlib.sha256(self.encode()).digest()

    @cached_property
    def topic_id(self) -> str:
        """What the topic is called on the wire."""
        return base64.b64encode(self.digest).decode("ascii")

    @property
    def guarded(self) -> bool:
        """Whether the descriptor asks for anything: one with a name alone does not."""
        return bool(self.auth.mode or self.encryption.mode)

    @property
    def publishers(self) -> tuple[str, ...]:
        """The listed peers, as text."""
        return tuple(to_text(each) for each in self.auth.keys)

    # ---- bytes

    def encode(self) -> bytes:
        """The one encoding of the descriptor.

        >>> TopicDescriptor("weather").encode()
        b'\\n\\x07weather'
        """
        auth = _options(self.auth.mode, self.auth.keys)
        encryption = _options(self.encryption.mode, self.encryption.key_hashes)
        return b"".join(
            (
                bytes_field(1, self.name.encode()),
                bytes_field(2, auth) if auth else b"",
                bytes_field(3, encryption) if encryption else b"",
            )
        )

    @classmethod
    def decode(cls, raw: bytes) -> TopicDescriptor:
        """Read a descriptor; :class:`RemoteProtocolError` for any bytes that are none."""
        if len(raw) > LARGEST_DESCRIPTOR:
            problem = f"{len(raw)} bytes, {LARGEST_DESCRIPTOR} allowed"
            raise RemoteProtocolError(BAD, problem)
        try:
            found = _read(raw)
        except ConfigError as error:
            raise RemoteProtocolError(BAD, str(error)) from None
        except RemoteProtocolError as error:
            raise RemoteProtocolError(BAD, error.detail) from None
        if found.encode() != raw:
            raise RemoteProtocolError(BAD, "not in the one encoding that a descriptor has")
        return found

    @classmethod
    def decode_for(cls, topic: str, raw: bytes) -> TopicDescriptor:
        """The descriptor of a topic; :class:`RemoteProtocolError` if it is another topic's."""
        found = cls.decode(raw)
        if found.topic_id != topic:
            raise RemoteProtocolError(BAD, f"it is the one of {found.topic_id}, not of {topic!r}")
        return found


Mode = TypeVar("Mode", bound=enum.IntEnum)


class Words(Generic[Mode]):
    """What a mode is called where people write it."""

    def __init__(self, key: str, words: dict[str, Mode]) -> None:
        self._key = key
        self._words: dict[str, Mode] = words

    def read(self, word: str) -> Mode:
        """The mode of a word; :class:`ConfigError` lists them all for one that is none."""
        found = self._words.get(word.lower())
        if found is None:
            known = ", ".join(self._words)
            raise ConfigError(self._key, f"must be one of {known}, not {word!r}")
        return found

    def word(self, mode: Mode) -> str:
        """The word of a mode."""
        return next(word for word, each in self._words.items() if each == mode)

    @property
    def known(self) -> tuple[str, ...]:
        """All words."""
        return tuple(self._words)


AUTH_WORDS: Final = Words("auth", {"none": AuthMode.NONE, "key": AuthMode.KEY, "wot": AuthMode.WOT})
ENCRYPTION_WORDS: Final = Words(
    "enc",
    {
        "none": EncryptionMode.NONE,
        "shared-key": EncryptionMode.SHAREDKEY,
        "wot": EncryptionMode.WOT,
    },
)


# ---- what must hold


def _check_name(name: str) -> None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ConfigError("name", "cannot be written as UTF-8") from None
    if not 0 < size <= LONGEST_NAME:
        raise ConfigError("name", f"must have 1 to {LONGEST_NAME} bytes, not {size}")


def _check_auth(auth: AuthOptions) -> None:
    if auth.mode is AuthMode.NONE:
        if auth.keys:
            raise ConfigError("auth", "'none' lets anyone publish, so there is no list of peers")
        return
    if not 0 < len(auth.keys) <= MOST_PUBLISHERS:
        count = len(auth.keys)
        raise ConfigError("publishers", f"must be 1 to {MOST_PUBLISHERS} peers, not {count}")
    if list(auth.keys) != sorted(set(auth.keys)):
        raise ConfigError("publishers", "must be in the order of their bytes, none of them twice")
    for each in auth.keys:
        try:
            check_peer_id(each)
        except RemoteProtocolError as error:
            raise ConfigError("publishers", str(error)) from None


def _check_encryption(encryption: EncryptionOptions, auth: AuthOptions) -> None:
    hashes = encryption.key_hashes
    if encryption.mode is EncryptionMode.SHAREDKEY:
        if not 0 < len(hashes) <= MOST_KEY_HASHES:
            raise ConfigError("keys", f"must be 1 to {MOST_KEY_HASHES}, not {len(hashes)}")
        if len(set(hashes)) < len(hashes):
            raise ConfigError("keys", "one of them is there twice")
        if any(len(each) != KEY_HASH_SIZE for each in hashes):
            raise ConfigError("keys", f"the hash of a key has {KEY_HASH_SIZE} bytes")
        return
    if hashes:
        raise ConfigError("enc", "only 'shared-key' has hashes of keys")
    if encryption.mode is EncryptionMode.WOT and auth.mode is AuthMode.NONE:
        raise ConfigError("enc", "'wot' seals keys to trusted peers: auth must be 'key' or 'wot'")


# ---- bytes


def _options(mode: int, values: tuple[bytes, ...]) -> bytes:
    if not mode:
        return b""
    return varint_field(1, mode) + b"".join([bytes_field(2, each) for each in values])


def _read(raw: bytes) -> TopicDescriptor:
    name: str | None = None
    auth, encryption = NO_AUTH, NO_ENCRYPTION
    for number, kind, start, end in fields(raw, 0, len(raw), most=3):
        if kind != LENGTH_DELIMITED or number > 3:
            raise RemoteProtocolError(BAD, f"field {number} is not known")
        if number == 1:
            name = _text(raw[start:end])
        elif number == 2:
            mode, values = _read_options(raw, start, end, MOST_PUBLISHERS)
            auth = AuthOptions(_mode(AuthMode, mode), values)
        else:
            mode, values = _read_options(raw, start, end, MOST_KEY_HASHES)
            encryption = EncryptionOptions(_mode(EncryptionMode, mode), values)
    if name is None:
        raise RemoteProtocolError(BAD, "there is no name")
    return TopicDescriptor(name, auth, encryption)


def _read_options(raw: bytes, start: int, end: int, most: int) -> tuple[int, tuple[bytes, ...]]:
    mode, values = 0, []
    for number, kind, first, last in fields(raw, start, end, most=most + 1):
        if (number, kind) == (1, VARINT):
            mode = first
        elif (number, kind) == (2, LENGTH_DELIMITED):
            values.append(raw[first:last])
        else:
            raise RemoteProtocolError(BAD, f"field {number} of its options is not known")
    return mode, tuple(values)


def _mode(kind: type[Mode], number: int) -> Mode:
    try:
        return kind(number)
    except ValueError:
        raise RemoteProtocolError(BAD, f"mode {number} is not known") from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise RemoteProtocolError(BAD, "its name is not UTF-8") from None
