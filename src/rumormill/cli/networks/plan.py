"""Which networks a command opens, and how: what its options say, each checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import LocalProtocolError
from rumormill.live.family import DescribedTopic
from rumormill.live.family.families import family_of, find_family

CERTIFICATES = "certificates"
"""The setting of networks whose nodes have certificates: a folder."""

NOT_SETTINGS = {
    "network": "--network",
    "listen": "--listen",
    "bootstrap": "--peer",
    "peer": "--peer",
    "topics": "--topic",
    "relays": "--relay",
    "spool": "--spool",
}


@dataclass(frozen=True)
class NetworkPlan:
    """One network to open: what the options, or one table of a configuration file, say."""

    name: str
    listen: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    """Must be there at the start, one of them at least."""
    bootstrap: tuple[str, ...] = ()
    """Are dialed again and again until they are there."""
    key_file: Path | None = None
    topics: tuple[str, ...] = ()
    relays: tuple[str, ...] = ()
    """Topics that are passed on for others, and that nobody here listens to."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    described: Mapping[str, DescribedTopic] = field(default_factory=dict)
    """By their texts, the topics that came out of a file."""

    def handle(self, topic: str) -> Any:
        """What a network is to be given for a topic: its text, or what came out of its file."""
        return self.described.get(topic, topic)

    def checked(self, listen: str = "--listen", peers: str = "--peer") -> NetworkPlan:
        """The plan with its topics in their one true form, if they and its addresses can be such;
        errors name the keys given.
        """
        family = family_of(self.name)  # what is missing is told now
        if not (self.listen or self.peers or self.bootstrap or family.finds_peers(self.settings)):
            raise UsageError(f"nobody can be reached: it listens nowhere, so give {peers} ADDR")
        check_addresses(listen, self.listen, self.name)
        check_addresses(peers, (*self.peers, *self.bootstrap), self.name)
        topics = tuple(usable_topic(topic, self.name) for topic in self.topics)
        relays = tuple(usable_topic(topic, self.name) for topic in self.relays)
        unchanged = (topics, relays) == (self.topics, self.relays)
        return self if unchanged else replace(self, topics=topics, relays=relays)


def plan_network(
    network: str,
    *,
    topics: Iterable[str],
    listen: Iterable[str] | None,
    peers: Iterable[str] | None,
    key_file: Path | None,
    settings: Mapping[str, Any],
    relays: Iterable[str] = (),
    topic_files: Iterable[Path] = (),
    relay_files: Iterable[Path] = (),
) -> NetworkPlan:
    """The plan that a command's options make."""
    described = load_topics(network, (*topic_files, *relay_files))
    rest = dict(settings)
    if "key_file" in rest:
        if key_file is not None:
            raise UsageError("give --key-file or --set key_file=..., not both")
        key_file = Path(rest.pop("key_file"))
    return NetworkPlan(
        name=network,
        listen=tuple(listen or ()),
        peers=tuple(peers or ()),
        key_file=key_file,
        topics=(*topics, *[described[path].topic_id for path in topic_files]),
        relays=(*relays, *[described[path].topic_id for path in relay_files]),
        settings=rest if listen else {**find_family(network).caller, **rest},
        described={topic.topic_id: topic for topic in described.values()},
    ).checked()


def load_topics(network: str, paths: Iterable[Path]) -> dict[Path, DescribedTopic]:
    """The topics of files."""
    return {path: family_of(network).load_topic(path) for path in paths}


def one_topic(topic: str | None, topic_file: Path | None) -> tuple[list[str], list[Path]]:
    """What a command that takes one topic was given: its text, or its file."""
    if (topic is None) == (topic_file is None):
        raise UsageError("which topic? Give TOPIC or --topic-file FILE, one of the two")
    return [] if topic is None else [topic], [] if topic_file is None else [topic_file]


def usable_topic(topic: str, network: str) -> str:
    """``topic`` in its one true form, or :class:`UsageError` if nothing can be called that."""
    try:
        return find_family(network).topic(topic)
    except LocalProtocolError as error:
        raise UsageError(str(error)) from error


def check_addresses(option: str, addresses: Iterable[str], network: str) -> None:
    """Raise :class:`UsageError` for the first address that is none."""
    check = find_family(network).check_address
    for address in addresses:
        try:
            check(address)
        except LocalProtocolError as error:
            raise UsageError(f"{option} {error}") from error


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """``key=value`` pairs as a mapping; the network turns each text into what its key wants.

    >>> parse_settings(["D=8", "message_id=sha256"])
    {'D': '8', 'message_id': 'sha256'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"--set takes key=value, not {pair!r}")
        if key in NOT_SETTINGS:
            raise UsageError(f"--set cannot set {key}: {NOT_SETTINGS[key]} does")
        if key in settings:
            raise UsageError(f"--set gives {key} twice")
        settings[key] = value.strip()
    return settings


def all_settings(
    network: str, pairs: Iterable[str] | None, certificates: Path | None
) -> dict[str, Any]:
    """The settings that ``--set`` and the options for single settings give."""
    settings = parse_settings(pairs or ())
    if certificates is None:
        return settings
    if CERTIFICATES not in family_of(network).known_keys(network):
        raise UsageError(f"--certificates is not for {network}, whose nodes have none")
    if CERTIFICATES in settings:
        raise UsageError("give --certificates or --set certificates=..., not both")
    return {**settings, CERTIFICATES: certificates}
