"""What ``rumormill topic`` does with files of topics: make them, show them, rotate, trust."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.libp2p.descriptor.control_message import SUFFIX
from rumormill.libp2p.descriptor.descriptor import (
    AUTH_WORDS,
    ENCRYPTION_WORDS,
    MOST_KEY_HASHES,
    AuthMode,
    EncryptionMode,
    TopicDescriptor,
)
from rumormill.libp2p.descriptor.edges import LARGEST_NUMBER, REVOKED, sign_edge
from rumormill.libp2p.descriptor.shared_keys import new_keys
from rumormill.libp2p.descriptor.trust import TrustGraph
from rumormill.libp2p.live.key_file import load_key
from rumormill.libp2p.live.topic_file import (
    KEY,
    KEYS,
    RESERVE,
    TRUST,
    TopicFile,
    keys_content,
    load_edges,
    load_keys,
    load_topic,
    merge_edges,
    trust_content,
    write_topic,
)
from rumormill.libp2p.stack.peer_id import from_text, to_text
from rumormill.live.family import TopicWish, TrustWish
from rumormill.live.files.private import replace_whole, write_new
from rumormill.system.lock_file import LockFile, LockHeldError

LOCK = ".lock"
LOCK_PATIENCE = 5.0
"""Seconds that another process may take with the files of a topic."""


def create_topic(wish: TopicWish) -> Mapping[str, Any]:
    """Write the files of a new topic; none of them may be there yet (:class:`FileExistsError`)."""
    encryption = ENCRYPTION_WORDS.read(wish.encryption)
    count = wish.keys if encryption is EncryptionMode.SHAREDKEY else 0
    if encryption is EncryptionMode.SHAREDKEY and not 0 < count <= MOST_KEY_HASHES:
        raise ConfigError("keys", f"must be 1 to {MOST_KEY_HASHES}, not {count}")
    keys, hashes = new_keys(count, random.SystemRandom())
    descriptor = TopicDescriptor.make(
        wish.name,
        auth=wish.auth,
        publishers=tuple(peer_in(each) for each in wish.publishers),
        encryption=wish.encryption,
        key_hashes=hashes,
    )
    names = [wish.out, *[wish.out.with_suffix(each) for each in (KEYS, RESERVE, TRUST)]]
    there = next((name for name in names if name.exists()), None)
    if there is not None or len(set(names)) < len(names):
        raise FileExistsError(str(there or wish.out))
    write_topic(wish.out, descriptor)
    if keys:
        write_new(names[1], KEY, keys_content(descriptor, keys[:1]))
    if keys[1:]:
        write_new(names[2], KEY, keys_content(descriptor, keys[1:]))
    return describe_topic(wish.out)


def peer_in(text: str) -> str:
    """A peer id, as it is or out of a key file."""
    try:
        return to_text(from_text(text))
    except LocalProtocolError as error:
        if not Path(text).is_file():
            raise ConfigError("publishers", f"{error}; nor is it a key file") from None
        return load_key(text).peer


def describe_topic(path: Path) -> Mapping[str, Any]:
    """What everyone may know of a topic, and what is there beside its descriptor."""
    topic = load_topic(path)
    descriptor = topic.descriptor
    fields: dict[str, Any] = {
        "id": descriptor.topic_id,
        "name": descriptor.name,
        "auth": AUTH_WORDS.word(descriptor.auth.mode),
        "publishers": ", ".join(descriptor.publishers) or None,
        "enc": ENCRYPTION_WORDS.word(descriptor.encryption.mode),
        "file": str(path),
    }
    if descriptor.encryption.mode is EncryptionMode.SHAREDKEY:
        fields["keys"] = f"{len(topic.keys)} of {len(descriptor.encryption.key_hashes)} in use here"
    if descriptor.auth.mode is AuthMode.WOT:
        fields |= _describe_trust(topic)
    if descriptor.auth.mode is AuthMode.WOT or descriptor.encryption.mode is EncryptionMode.WOT:
        fields["control_topic"] = descriptor.topic_id + SUFFIX
    return fields


def _describe_trust(topic: TopicFile) -> dict[str, Any]:
    edges = load_edges(topic.beside(TRUST), topic.descriptor)
    graph, now = TrustGraph(topic.descriptor.auth.keys), time.time()
    for edge in edges:
        graph.add(edge, now)
    trusted = [to_text(each) for each in graph.trusted(now)]
    banned = [to_text(each) for each in sorted(graph.banned())]
    return {"trusted": ", ".join(trusted), "banned": ", ".join(banned) or None}


def rotate_topic(path: Path) -> Mapping[str, Any]:
    """Put the next key of the reserve into use, beside those that are."""
    topic = load_topic(path)
    descriptor = topic.descriptor
    if descriptor.encryption.mode is not EncryptionMode.SHAREDKEY:
        raise ConfigError("enc", f"{descriptor.name!r} has no shared keys: it is not 'shared-key'")
    with locked(topic):
        keys = load_keys(topic.beside(KEYS), descriptor)
        # A key is put into use before it leaves the reserve: it is in both if we were killed then.
        reserve = [key for key in load_keys(topic.beside(RESERVE), descriptor) if key not in keys]
        if not reserve:
            raise ConfigError(
                KEY, f"there is no key left in {topic.beside(RESERVE)}: make a new topic"
            )
        replace_whole(topic.beside(KEYS), keys_content(descriptor, (*keys, reserve[0])))
        replace_whole(topic.beside(RESERVE), keys_content(descriptor, reserve[1:]))
    return {**describe_topic(path), "reserve": len(reserve) - 1}


def change_trust(wish: TrustWish) -> Mapping[str, Any]:
    """Sign a word on a peer and put it into the topic's file, from which nodes tell it on."""
    topic = load_topic(wish.topic_file)
    descriptor = topic.descriptor
    if descriptor.auth.mode is not AuthMode.WOT:
        raise ConfigError("auth", f"{descriptor.name!r} has no web of trust: its auth is not 'wot'")
    key, subject, now = load_key(wish.key_file), from_text(peer_in(wish.peer)), time.time()
    until = REVOKED if wish.until is None else int(wish.until)
    if wish.until is not None and not now < until <= LARGEST_NUMBER:
        raise ConfigError("until", "must be in the future")
    with locked(topic):
        edges = load_edges(topic.beside(TRUST), descriptor)
        graph = TrustGraph(descriptor.auth.keys)
        for edge in edges:
            graph.add(edge, now)
        if not graph.trusts(key.peer_id, now):
            raise ConfigError(
                "key_file", f"{key.peer} is not trusted itself, so its word counts for nothing"
            )
        last = graph.last_sequence(key.peer_id, subject)
        edge = sign_edge(
            key, descriptor.digest, subject, sequence=max(last + 1, int(now * 1000)), until=until
        )
        raw = trust_content(descriptor, merge_edges(edges, (edge,)))
        replace_whole(topic.beside(TRUST), raw)
    said = {"topic": descriptor.topic_id, "issuer": key.peer, "peer": to_text(subject)}
    return {**said, "until": None if edge.revokes else until, "file": str(topic.beside(TRUST))}


@contextlib.contextmanager
def locked(topic: TopicFile, patience: float = LOCK_PATIENCE) -> Iterator[None]:
    """Nobody else changes the files of the topic meanwhile: a node does so, too."""
    deadline, path = time.monotonic() + patience, topic.beside(LOCK)
    while True:
        try:
            lock = LockFile(path)
            break
        except LockHeldError as error:
            if time.monotonic() >= deadline:
                raise ConfigError(KEY, str(error)) from None
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()


def edges_and(topic: TopicFile, known: Sequence[Any]) -> bytes | None:
    """What the trust file should hold if it is to hold these edges too; None if it does."""
    there = load_edges(topic.beside(TRUST), topic.descriptor)
    merged = merge_edges(there, known)
    return None if merged == there else trust_content(topic.descriptor, merged)
