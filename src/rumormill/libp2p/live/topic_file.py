"""The files of a topic: its descriptor, its keys and whom its peers trust, side by side.

    weather.topic     the descriptor; may be given to anyone, above all to who relays
    weather.keys      shared keys in use; for readers and writers alone, mode 0600
    weather.reserve   keys that are listed and not in use yet; for who rotates them, mode 0600
    weather.trust     signed words on whom to trust, grown by nodes and by 'rumormill topic trust'

Each is a JSON object that names the topic's id. The descriptor stands in its file as bytes in
base64: of these the id is made, and whatever does not fit together is refused in a sentence.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rumormill.core.errors import ConfigError, RemoteProtocolError
from rumormill.libp2p.descriptor.descriptor import SALT_SIZE, TopicDescriptor
from rumormill.libp2p.descriptor.edges import TrustEdge, decode_edge
from rumormill.libp2p.descriptor.shared_keys import key_hash
from rumormill.live.files.private import read_private, write_new

KEY: Final = "topic_file"
"""What errors call these files."""

LARGEST_FILE: Final = 4 * 1024 * 1024
"""Bytes: eight thousand edges have half of it."""

KEYS, RESERVE, TRUST = ".keys", ".reserve", ".trust"
"""How the names of the files beside the descriptor end."""

TOPIC_TYPE, KEYS_TYPE, TRUST_TYPE = "topic", "topic-keys", "topic-trust"


@dataclass(frozen=True)
class TopicFile:
    """A topic out of its files, for ``network.subscribe``, ``publish`` and ``relay``."""

    path: Path
    descriptor: TopicDescriptor
    keys: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def topic_id(self) -> str:
        """What the topic is called on the wire."""
        return self.descriptor.topic_id

    def beside(self, suffix: str) -> Path:
        """Where another file of the topic is."""
        return self.path.with_suffix(suffix)


def load_topic(path: str | Path) -> TopicFile:
    """The topic of a file, with the keys that are beside it.

    Raises :class:`ConfigError` about ``topic_file`` for one that cannot be read, can be changed by
    others, or is not what it says; keys must be readable by their owner alone.
    """
    path = Path(path)
    content = _read(path, TOPIC_TYPE, secret=False)
    if content is None:
        raise ConfigError(KEY, f"there is no file {path}")
    try:
        raw = _from_base64(content.get("descriptor"))
        descriptor = TopicDescriptor.decode_for(str(content.get("topic")), raw)
    except (ValueError, RemoteProtocolError) as error:
        raise ConfigError(KEY, f"{path} holds no topic: {error}") from None
    return TopicFile(path, descriptor, load_keys(path.with_suffix(KEYS), descriptor))


def load_keys(path: Path, descriptor: TopicDescriptor) -> tuple[bytes, ...]:
    """The shared keys in a file; none if it is not there."""
    content = _read(path, KEYS_TYPE, secret=True)
    if content is None:
        return ()
    _check_topic(path, content, descriptor)
    try:
        keys = tuple(_from_base64(each) for each in _texts(content, "keys"))
    except ValueError as error:
        raise ConfigError(KEY, f"{path} holds no keys: {error}") from None
    hashes = descriptor.encryption.key_hashes
    for number, key in enumerate(keys, start=1):
        if all(key_hash(key, entry[:SALT_SIZE]) != entry for entry in hashes):
            problem = f"key {number} in {path} is none of those that the topic lists"
            raise ConfigError(KEY, problem)
    return keys


def load_edges(path: Path, descriptor: TopicDescriptor) -> tuple[TrustEdge, ...]:
    """The edges in a file, each with a good signature; none if it is not there."""
    content = _read(path, TRUST_TYPE, secret=False)
    if content is None:
        return ()
    _check_topic(path, content, descriptor)
    try:
        edges = tuple(decode_edge(_from_base64(each)) for each in _texts(content, "edges"))
    except (ValueError, RemoteProtocolError) as error:
        raise ConfigError(KEY, f"{path} holds no trust: {error}") from None
    for number, edge in enumerate(edges, start=1):
        if not edge.verify(descriptor.digest):
            raise ConfigError(KEY, f"edge {number} in {path} is not signed by its issuer")
    return edges


# ---- writing


def write_topic(path: Path, descriptor: TopicDescriptor) -> None:
    """Write a descriptor's file, which must not be there yet (:class:`FileExistsError`)."""
    raw = base64.b64encode(descriptor.encode()).decode("ascii")
    content = {"type": TOPIC_TYPE, "topic": descriptor.topic_id, "descriptor": raw}
    write_new(path, KEY, as_json(content))


def keys_content(descriptor: TopicDescriptor, keys: Iterable[bytes]) -> bytes:
    """A file of keys."""
    texts = [base64.b64encode(key).decode("ascii") for key in keys]
    return as_json({"type": KEYS_TYPE, "topic": descriptor.topic_id, "keys": texts})


def trust_content(descriptor: TopicDescriptor, edges: Iterable[TrustEdge]) -> bytes:
    """A file of edges."""
    texts = [base64.b64encode(edge.encode()).decode("ascii") for edge in edges]
    return as_json({"type": TRUST_TYPE, "topic": descriptor.topic_id, "edges": texts})


def merge_edges(*several: Iterable[TrustEdge]) -> tuple[TrustEdge, ...]:
    """Of each issuer's words on a subject the last, sorted."""
    last: dict[tuple[bytes, bytes], TrustEdge] = {}
    for edges in several:
        for edge in edges:
            there = last.get((edge.issuer, edge.subject))
            if there is None or there.weight < edge.weight:
                last[edge.issuer, edge.subject] = edge
    return tuple(sorted(last.values()))


def as_json(content: dict[str, Any]) -> bytes:
    """The content of a file, as people can read it."""
    return json.dumps(content, indent=2).encode() + b"\n"


# ---- reading


def _read(path: Path, kind: str, *, secret: bool) -> dict[str, Any] | None:
    try:
        raw = read_private(path, KEY, LARGEST_FILE, secret=secret)
    except FileNotFoundError:
        return None
    if len(raw) > LARGEST_FILE:
        raise ConfigError(KEY, f"{path} has more than {LARGEST_FILE} bytes")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise ConfigError(KEY, f"{path} is not JSON") from None
    if not isinstance(content, dict) or content.get("type") != kind:
        raise ConfigError(KEY, f'{path} is no JSON object with "type": "{kind}"')
    return content


def _check_topic(path: Path, content: dict[str, Any], descriptor: TopicDescriptor) -> None:
    if content.get("topic") != descriptor.topic_id:
        raise ConfigError(KEY, f"{path} belongs to another topic, {content.get('topic')!r}")


def _texts(content: dict[str, Any], name: str) -> Sequence[object]:
    found = content.get(name)
    if not isinstance(found, list):
        raise ValueError(f'"{name}" is no list')
    return found


def _from_base64(text: object) -> bytes:
    if not isinstance(text, str):
        raise ValueError("a text in base64 is missing")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{text[:20]!r} is not base64") from None
