"""Parameters of pubsub that every router shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.limits import WorkLimits
from rumormill.core.parameters import Parameters, read_tables
from rumormill.libp2p.pubsub.topics.message_id import message_id_function
from rumormill.libp2p.pubsub.topics.subscriptions import (
    SubscriptionFilter,
    allow_all,
    allow_list,
    allow_pattern,
)
from rumormill.libp2p.pubsub.topics.transforms import DataTransform, transform_named
from rumormill.libp2p.stack.peer_id import from_text
from rumormill.libp2p.wire.limits import RpcLimits

ENVELOPE = 1024
"""Room for all of an RPC that is not data: author, sequence number, topic, signature, key."""

MOST_RPC = 64 * 1024 * 1024
"""Bytes of an RPC, whatever is set."""


class TopicRules(Parameters):
    """What is special about one topic; what is not set here is as for the whole network.

    >>> TopicRules(signing="StrictNoSign").signing
    'StrictNoSign'
    """

    signing: Literal["StrictSign", "StrictNoSign"] | None = None
    unsigned_authors: bool | None = None
    message_id: str | Callable[..., bytes] | None = None
    max_message_size: int | None = Field(default=None, ge=1, le=MOST_RPC - ENVELOPE)
    transform: DataTransform | None = None
    fanout_only: bool = False
    """We publish on the topic and never join it: subscribing to it, or relaying it, is refused."""

    @field_validator("message_id")
    @classmethod
    def _known_profile(cls, choice: Any) -> Any:
        if choice is not None:
            message_id_function(choice)
        return choice

    @field_validator("transform", mode="before")
    @classmethod
    def _known_transform(cls, choice: Any) -> Any:
        return transform_named(choice, "transform")


class PubsubParameters(Parameters):
    """How pubsub behaves, whatever the router.

    >>> PubsubParameters(signing="StrictSign").max_rpc_size
    1048576
    """

    signing: Literal["StrictSign", "StrictNoSign"] = "StrictSign"
    """The signature policy; topics may have their own in ``topic_rules``."""
    unsigned_authors: bool = False
    """With ``StrictNoSign``: take messages that name an author and a number though nobody signed
    them, as go sends them without its option ``WithNoAuthor``. The name proves nothing, and is not
    shown."""
    message_id: str | Callable[..., bytes] | None = None
    """A profile's name or a function; by default ``origin_bytes``, unsigned ``sha256``."""
    transform: DataTransform | None = None
    """What happens to the data of every topic between the application and the wire: ``snappy``, or
    a ``DataTransform``."""
    topic_rules: Mapping[str, TopicRules] = Field(default_factory=dict)
    """What is special about single topics."""
    topic_sizes: Mapping[str, int] = Field(default_factory=dict)
    """Of single topics: bytes of data on the wire that a message may have, published and received;
    short for ``max_message_size`` in ``topic_rules``. An RPC may have as much more than
    ``max_rpc_size`` as the largest of them needs."""
    transforms: Mapping[str, DataTransform] = Field(default_factory=dict)
    """The transform of single topics; short for ``transform`` in ``topic_rules``."""
    multi_topic: bool = False
    """Allow publishing one message on several topics (the old ``topicIDs``)."""
    deliver_own: bool = True
    """Deliver our own messages to our own subscriptions."""
    max_rpc_size: int = Field(default=1024 * 1024, ge=2 * ENVELOPE, le=MOST_RPC)
    """Bytes of one RPC, read and written. go reads 1 MiB, js 4 MiB, rust 64 KiB by default."""
    max_control_size: int = Field(default=16 * 1024, ge=1024)
    """Bytes of control in one RPC that we write: what rust reads by default."""
    seen_ttl: float = Field(default=120.0, gt=0)
    """Seconds that a message's id is remembered."""
    seen_from: Literal["first", "last"] = "first"
    """Whether these seconds count from the first copy of a message on, or from the last one."""
    max_seen: int = Field(default=1_000_000, ge=1)
    """Ids remembered at most; the oldest go first, counted."""
    refuse_replays: bool = False
    """Ignore signed messages that are older, by their author's numbers, than what is remembered:
    without it a message can be delivered again after ``seen_ttl``. Costs messages that come later
    than ``replay_window`` after a newer one of their author, and most of authors whose numbers do
    not grow: js before 2026, rust before 2023. ``replay_store`` keeps it over a restart."""
    replay_window: float | None = Field(default=None, ge=0)
    """Seconds within which messages of an author may overtake each other, for ``refuse_replays``;
    half of ``seen_ttl`` by default and at most. With 0 each number must be above all before it, as
    go's ``BasicSeqnoValidator`` has it."""
    max_authors: int = Field(default=100_000, ge=1)
    """Authors remembered for ``refuse_replays``; who was not heard for the longest time goes first,
    counted."""
    queue_messages: int = Field(default=4096, ge=1)
    """Messages that may wait for one peer."""
    queue_bytes: int = Field(default=4 * 1024 * 1024, ge=1)
    """Bytes of messages that may wait for one peer."""
    publish_queue_seconds: float = Field(default=60.0, gt=0)
    """Seconds that a message of ours may wait for a peer whose line is not free; then it is lost to
    this peer, traced as ``expired``. Long, as nobody but us has it. But not longer than peers
    remember messages (rust 60, the others 120 seconds), or it would go round as a new one."""
    forward_queue_seconds: float = Field(default=5.0, gt=0)
    """The same for messages of others that we pass on, and for those that a peer asked for. The
    peer may have them from others by then, and these are asked for no longer: five heartbeats."""
    max_checks: int = Field(default=16384, ge=1)
    """Messages that may be under check at once."""
    max_checks_per_peer: int = Field(default=8192, ge=1)
    """Messages of one peer that may be under check at once."""
    hold_checks_per_peer: int = Field(default=512, ge=1)
    """From so many on, the peer is held back by flow control instead of losing messages."""
    max_check_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    """Bytes of messages that may be under check at once; of one peer half of it, and from a 32nd
    on it is held back."""
    max_copies: int = Field(default=8, ge=0)
    """Differing copies of a message under check that are kept in case the first is forged."""
    max_topics_per_peer: int = Field(default=5000, ge=1)
    """Topics of one peer that we keep record of; a peer that insists on more is dropped."""
    max_rejections: int = Field(default=100, ge=1)
    """Rejected messages (forged, unfit, refused by a validator) that one peer may send at once, and
    one more each second; with more it is dropped. Where peers are scored (gossipsub's ``score``),
    they lower its score instead."""
    work_share: float = Field(default=WorkLimits().share, gt=0, le=1)
    """Of one core: how much work one peer may make us do for nothing (ids looked up, control,
    subscriptions, duplicates, forged messages, answers). Beyond it nothing is read of the peer
    until time has paid for it. Messages that are delivered cost nothing."""
    work_burst: float = Field(default=WorkLimits().burst, gt=0, allow_inf_nan=False)
    """Seconds of such work that a peer may make us do at once: enough for one that comes with, or
    leaves, as many topics as ``max_topics_per_peer`` allows by default. Raise both together."""
    work_patience: float = Field(default=WorkLimits().patience, gt=0, allow_inf_nan=False)
    """Seconds that a peer may be held back for such work, and a tenth of a second more with each
    that passes; then it is dropped."""
    busy_share: float = Field(default=0.4, gt=0, le=1)
    """Of one core: how much time the messages of peers that send very many may take together, while
    others are connected. Beyond it these are held back, and no others."""
    blacklist: tuple[str, ...] = ()
    """Ids of peers that we have nothing to do with: they are dropped, and messages that they wrote
    are ignored, whoever passes them on."""
    useful_for: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Seconds after a message of a peer that was new to us in which the peer does not make room for
    strangers, as far as ``protected_share`` allows."""
    allowed_topics: tuple[str, ...] | None = None
    """Only these topics exist for us: others of our peers are not kept, and we join no other."""
    allowed_topic_pattern: str | None = None
    """The same as a regular expression that must match the whole topic."""
    max_subscriptions_per_rpc: int = Field(default=5000, ge=1)
    """Subscriptions that a peer may send in one RPC; with more it is dropped."""
    max_messages_per_rpc: int = Field(default=5000, ge=1)
    """Messages that a peer may send in one RPC; with more it is dropped."""
    max_message_ids_per_rpc: int = Field(default=5000, ge=1)
    """Ids in IHAVE, IWANT, IDONTWANT that a peer may send in one RPC; with more it is dropped."""
    max_control_messages_per_rpc: int = Field(default=5000, ge=1)
    """IHAVE, IWANT, GRAFT and PRUNE that a peer may send in one RPC, all together; with more it is
    dropped. Peers with more topics in common than this GRAFT all of them at once."""
    max_topics_per_message: int = Field(default=32, ge=1)
    """Topics that one message may have (the old ``topicIDs``); whoever sends more is dropped."""
    max_control_bytes_per_rpc: int = Field(default=256 * 1024, ge=1024)
    """Bytes of control that a peer may send in one RPC; with more it is dropped."""
    trace_packets: bool = False
    """Trace every packet, not only what was in it: a row per RPC and peer."""

    @field_validator("message_id")
    @classmethod
    def _known_profile(cls, choice: Any) -> Any:
        if choice is not None:
            message_id_function(choice)
        return choice

    @field_validator("blacklist")
    @classmethod
    def _peer_ids(cls, peers: tuple[str, ...]) -> tuple[str, ...]:
        for peer in peers:
            try:
                from_text(peer)
            except LocalProtocolError as error:
                raise ConfigError("blacklist", str(error)) from None
        return peers

    @field_validator("transform", mode="before")
    @classmethod
    def _known_transform(cls, choice: Any) -> Any:
        return transform_named(choice, "transform")

    @field_validator("transforms", mode="before")
    @classmethod
    def _known_transforms(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {
            topic: transform_named(each, f"transforms.{topic}") for topic, each in given.items()
        }

    @field_validator("topic_rules", mode="before")
    @classmethod
    def _named_rules(cls, given: Any) -> Any:
        """Read the rules of each topic here, so that a wrong one is told with its topic."""
        return read_tables(TopicRules, "topic_rules", given)

    @model_validator(mode="after")
    def _consistent(self) -> PubsubParameters:
        half = self.max_rpc_size // 2
        if self.max_control_size > half:
            raise ConfigError(
                "max_control_size",
                f"must not be above half of max_rpc_size ({self.max_control_size} > {half})",
            )
        if self.longest_overtaking > self.seen_ttl / 2:
            most = f"half of seen_ttl ({self.replay_window} > {self.seen_ttl / 2})"
            raise ConfigError("replay_window", f"must not be above {most}")
        self.special_topics()
        return self

    def special_topics(self) -> dict[str, TopicRules]:
        """``topic_rules``, with what ``topic_sizes`` and ``transforms`` say put into them."""
        rules = dict(self.topic_rules)
        short_forms: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
            ("topic_sizes", "max_message_size", self.topic_sizes),
            ("transforms", "transform", self.transforms),
        )
        for key, rule, given in short_forms:
            for topic, value in given.items():
                special = rules.get(topic, TopicRules())
                if getattr(special, rule) not in (None, value):
                    raise ConfigError(f"{key}.{topic}", f"topic_rules.{topic}.{rule} differs")
                rules[topic] = _with_rule(special, rule, value, f"{key}.{topic}")
        return rules

    @property
    def max_message_size(self) -> int:
        """Bytes of data on the wire that a message of ours may have, unless its topic says so."""
        return self.max_rpc_size - ENVELOPE

    @property
    def longest_overtaking(self) -> float:
        """Seconds within which messages of an author may overtake each other."""
        return self.seen_ttl / 2 if self.replay_window is None else self.replay_window

    @property
    def largest_rpc(self) -> int:
        """Bytes that an RPC may have on the topic that allows most."""
        sizes = [rules.max_message_size or 0 for rules in self.special_topics().values()]
        return max(self.max_rpc_size, max(sizes, default=0) + ENVELOPE)

    @property
    def largest_message(self) -> int:
        """Bytes of data that the application may publish on the topic that allows most."""
        largest = self.transform.max_size if self.transform else self.max_message_size
        for rules in self.special_topics().values():
            transform = rules.transform or self.transform
            size = transform.max_size if transform else rules.max_message_size or 0
            largest = max(largest, size)
        return largest

    @property
    def work_limits(self) -> WorkLimits:
        """How much work one peer may make us do for nothing."""
        return WorkLimits(self.work_share, self.work_burst, self.work_patience)

    @property
    def rpc_limits(self) -> RpcLimits:
        """What one RPC of a peer may contain."""
        return RpcLimits(
            messages=self.max_messages_per_rpc,
            subscriptions=self.max_subscriptions_per_rpc,
            control_bytes=self.max_control_bytes_per_rpc,
            message_ids=self.max_message_ids_per_rpc,
            topics_per_message=self.max_topics_per_message,
            control_messages=self.max_control_messages_per_rpc,
        )

    def subscription_filter(self) -> SubscriptionFilter:
        """The filter that ``allowed_topics`` and ``allowed_topic_pattern`` make together."""
        if self.allowed_topics is None and self.allowed_topic_pattern is None:
            return allow_all
        by_name = allow_list(self.allowed_topics or ())
        if self.allowed_topic_pattern is None:
            return by_name
        by_pattern = allow_pattern(self.allowed_topic_pattern)
        return lambda topic: by_name(topic) or by_pattern(topic)


def _with_rule(special: TopicRules, rule: str, value: Any, key: str) -> TopicRules:
    """The rules of a topic with one more; a wrong value is told with the key that it stands at."""
    try:
        return TopicRules(**{**dict(special), rule: value})
    except ConfigError as error:
        raise ConfigError(key, error.problem) from None
