"""Bad input on topics with descriptors: refused, counted, never delivered; who is to blame pays."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Deliver
from rumormill.core.trace import DROPPED, IGNORED, REJECTED, TraceEvent
from rumormill.libp2p.descriptor import TopicDescriptor
from rumormill.libp2p.descriptor.commands import ForgetTopic, KnowEdges, KnowTopic, Trust
from rumormill.libp2p.descriptor.control_message import SUFFIX, Control, encode_control
from rumormill.libp2p.descriptor.edges import TrustEdge, sign_edge
from rumormill.libp2p.descriptor.events import EDGE_REFUSED
from rumormill.libp2p.descriptor.private_topic import SETTLING
from rumormill.libp2p.descriptor.private_topics import MOST_TOPICS, PrivateTopics
from rumormill.libp2p.descriptor.sealed_data import about
from rumormill.libp2p.descriptor.shared_keys import SharedKeys
from rumormill.libp2p.descriptor.waiting_room import LONGEST, MOST
from rumormill.libp2p.effects import PublishOtherwise
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.message import WireMessage, build_message
from rumormill.libp2p.wire.signing import signed_message
from tests.helpers.libp2p.private_network import START, descriptor, id_of, key_of, shared
from tests.helpers.libp2p.workbench import Workbench

KEYS, HASHES = shared(2)
OTHER_KEYS, OTHER_HASHES = shared(1, seed=99)


class Bench(Workbench):
    """A node called us, which knows a descriptor, and a peer that sends it messages."""

    def __init__(
        self, topic: TopicDescriptor, *keys: bytes, us: str = "us", judged: bool = False,
        known: bool = True, **parameters: Any,
    ) -> None:  # fmt: skip
        super().__init__(key=key_of(us))
        self.router = GossipsubRouter(GossipsubParameters(), DEFAULT_SCORE)
        self.guard = PrivateTopics(random.Random(5), judged=lambda topic: judged)
        self.pubsub = Pubsub(
            node=self.key.peer, author=self.key, router=self.router, random=random.Random(1),
            parameters=PubsubParameters(**parameters), network="bench", guard=self.guard,
        )  # fmt: skip
        self.topic = topic
        self.now = START
        if known:
            self.feed(KnowTopic(topic, keys))
        self.subscribe(topic.topic_id)
        self.join("peer", topic.topic_id, topic.topic_id + SUFFIX)
        self.sequence = 1

    def bring(self, message: WireMessage) -> str:
        """A peer sends a message; what becomes of it."""
        effects = self.send_message("peer", message)
        events = [each for each in effects if isinstance(each, TraceEvent)]
        for each in events:
            if each.event in (REJECTED, IGNORED) and each.topic in message.topics:
                return f"{each.event} {each.fields['reason']}"
        if any(isinstance(each, Deliver) for each in effects):
            return "delivered"
        return "relayed" if any(each.event == "relayed" for each in events) else "nothing"

    def by(
        self, author: str | PrivateKey, data: bytes = b"rain", topic: str | None = None
    ) -> WireMessage:
        """The next message of an author, as its data is on the wire."""
        self.sequence += 1
        key = key_of(author) if isinstance(author, str) else author
        return signed_message(key, data, (topic or self.topic.topic_id,), self.sequence)

    def sealed(
        self, author: str, data: bytes = b"rain", key: bytes = KEYS[0], **other: Any
    ) -> WireMessage:
        """The same, encrypted; ``other`` spoils what it is bound to."""
        ring = SharedKeys(other.pop("hashes", HASHES), random.Random(self.sequence))
        ring.add([key])
        number = (self.sequence + 1).to_bytes(8, "big")
        bound = {"digest": self.topic.digest, "writer": id_of(author), "sequence": number, **other}
        wire = ring.seal(data, about(bound["digest"], bound["writer"], bound["sequence"]))
        assert wire is not None
        return self.by(author, wire)

    def tell(self, author: str, control: Control | bytes) -> str:
        """Somebody says something on the control topic."""
        raw = control if isinstance(control, bytes) else encode_control(control)
        return self.bring(self.by(author, raw, self.topic.topic_id + SUFFIX))

    def edge(
        self,
        issuer: str,
        subject: str,
        until: float = 3600.0,
        sequence: int = 1,
        digest: bytes = b"",
    ) -> TrustEdge:
        end = int(self.now + until) if until else 0
        return sign_edge(
            key_of(issuer), digest or self.topic.digest, id_of(subject),
            sequence=sequence, until=end,
        )  # fmt: skip

    def read(self) -> list[bytes]:
        return [each.message.data for each in self.of(Deliver)]

    def score(self) -> float:
        return self.pubsub.router.standing.of("peer")  # type: ignore[attr-defined, no-any-return]


# ---- who may publish


def test_a_message_of_who_is_not_listed_is_rejected_and_costs_its_sender() -> None:
    bench = Bench(descriptor("key", ["ann"]))
    assert bench.bring(bench.by("ann")) == "delivered"
    before = bench.score()
    for _ in range(3):
        assert bench.bring(bench.by("mallory")) == "rejected untrusted_author"
    assert bench.score() < before
    for _ in range(20):
        outcome = bench.bring(bench.by("mallory"))
    assert outcome == "nothing"  # it is not even read any more
    assert len(bench.read()) == 1


def test_a_message_that_only_claims_to_be_of_a_listed_peer_is_rejected() -> None:
    bench = Bench(descriptor("key", ["ann"]))
    forged = build_message(
        data=b"rain", topics=(bench.topic.topic_id,), sender_id=id_of("ann"), sequence=bytes(8),
        sign=key_of("mallory").sign,
    )  # fmt: skip
    assert bench.bring(forged) == "rejected bad_signature"


def test_a_message_of_another_topic_is_worth_nothing_here() -> None:
    bench = Bench(descriptor("key", ["ann"]))
    other = bench.by("ann", topic="elsewhere")
    raw = other.raw.replace(b"elsewhere", b"weatherbe")
    assert len(raw) == len(other.raw)
    replayed = build_message(
        data=other.data, topics=(bench.topic.topic_id,), sender_id=other.sender_id,
        sequence=other.sequence, sign=lambda _: other.signature or b"",
    )  # fmt: skip
    assert bench.bring(replayed) == "rejected bad_signature"


def test_who_is_not_listed_cannot_publish_and_is_told_so() -> None:
    bench = Bench(descriptor("key", ["ann"]))
    with pytest.raises(LocalProtocolError, match="may not publish on 'weather'"):
        bench.publish(bench.topic.topic_id, b"rain")
    assert Bench(descriptor("key", ["us"]), us="us").publish(descriptor("key", ["us"]).topic_id)


def test_a_message_with_other_topics_beside_a_guarded_one_is_rejected() -> None:
    bench = Bench(descriptor("key", ["ann"]), multi_topic=True)
    message = signed_message(key_of("ann"), b"rain", (bench.topic.topic_id, "other"), 7)
    assert bench.bring(message) == "rejected guarded_with_others"
    with pytest.raises(LocalProtocolError, match="no other topic"):
        bench.publish((bench.topic.topic_id, "other"), b"rain")


def test_trust_that_is_not_known_yet_costs_nobody_and_trust_that_is_settled_does() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    assert bench.bring(bench.by("bob")) == "ignored untrusted_author"
    bench.run_until(bench.now + SETTLING + 1)
    assert bench.bring(bench.by("bob")) == "rejected untrusted_author"
    bench.tell("ann", Control((bench.edge("ann", "bob"),)))
    assert bench.bring(bench.by("bob")) == "delivered"
    bench.tell("ann", Control((bench.edge("ann", "bob", until=0, sequence=2),)))
    assert bench.bring(bench.by("bob")) == "ignored untrusted_author"


def test_a_revocation_that_comes_while_a_message_is_checked_keeps_it_out() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    bench.tell("ann", Control((bench.edge("ann", "bob"),)))
    bench.answer_checks = False
    bench.send_message("peer", bench.by("bob", b"too late"))
    (check,) = bench.open_checks
    bench.feed(KnowEdges(bench.topic.topic_id, [bench.edge("ann", "bob", until=0, sequence=2)]))
    bench.answer(check)
    assert bench.read() == []


def test_trust_that_has_ended_is_none() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    bench.tell("ann", Control((bench.edge("ann", "bob", until=60.0),)))
    assert bench.bring(bench.by("bob")) == "delivered"
    bench.run_until(bench.now + 61)
    assert bench.bring(bench.by("bob")) == "ignored untrusted_author"


# ---- words on trust


@pytest.mark.parametrize(
    ("spoil", "outcome"),
    [
        ({"digest": b"\1" * 32}, "rejected bad_trust_edge"),
        ({}, "nothing"),
    ],
)
def test_an_edge_of_another_topic_is_rejected(spoil: dict[str, Any], outcome: str) -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    told = bench.tell("ann", Control((bench.edge("ann", "bob", **spoil),)))
    assert told == outcome or (told == "relayed" and not spoil)


@pytest.mark.parametrize("raw", [b"\xff", b"\x0a\x03abc", bytes(61 * 1024)])
def test_what_is_no_word_on_trust_is_rejected(raw: bytes) -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    assert bench.tell("ann", raw) == "rejected bad_trust_message"


def test_words_of_strangers_end_here_and_are_not_passed_on() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    assert bench.tell("mallory", Control((bench.edge("mallory", "friend"),))) == "ignored no_news"
    (refused,) = [each for each in bench.of(TraceEvent) if each.event == EDGE_REFUSED]
    assert refused.fields["reason"] == "unknown_issuer"


def test_a_flood_of_strangers_is_bounded_and_counted() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    for number in range(8):
        edges = tuple(bench.edge(f"m{number}-{each}", "friend") for each in range(120))
        bench.tell("mallory", Control(edges))
    reasons = [each.fields["reason"] for each in bench.of(TraceEvent) if each.event == EDGE_REFUSED]
    assert reasons.count("flood") >= 300 and len(reasons) == 960
    assert bench.guard.sizes()["trust_edges"] <= 512
    assert bench.tell("ann", Control((bench.edge("ann", "bob"),))) == "relayed"


def test_a_trusted_peer_that_says_the_same_again_and_again_is_not_passed_on_for_ever() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    outcomes = [bench.tell("ann", Control(known=bytes(16))) for _ in range(60)]
    assert outcomes.count("relayed") == 40 and outcomes[-1] == "ignored trust_flood"


def test_only_a_trusted_peer_can_say_whom_it_trusts() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    with pytest.raises(LocalProtocolError, match="counts for nothing"):
        bench.feed(Trust(bench.topic.topic_id, id_of("bob"), int(START + 100)))
    with pytest.raises(LocalProtocolError, match="not known here"):
        bench.feed(Trust("elsewhere", id_of("bob"), int(START + 100)))
    by_list = Bench(descriptor("key", ["us"]))
    with pytest.raises(LocalProtocolError, match="no web of trust"):
        by_list.feed(Trust(by_list.topic.topic_id, id_of("bob"), int(START + 100)))


def test_our_later_word_counts_though_our_clock_was_set_back() -> None:
    bench = Bench(descriptor("wot", ["us"]))
    bench.feed(Trust(bench.topic.topic_id, id_of("bob"), int(START + 100_000)))
    assert bench.bring(bench.by("bob")) == "delivered"
    bench.now -= 50_000
    bench.feed(Trust(bench.topic.topic_id, id_of("bob"), 0))
    assert bench.bring(bench.by("bob")) == "ignored untrusted_author"


# ---- what is in messages


def test_an_encrypted_message_is_delivered_as_its_author_wrote_it() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), *KEYS)
    assert bench.bring(bench.sealed("ann", b"rain at noon")) == "delivered"
    assert bench.bring(bench.sealed("ann", b"snow at one", KEYS[1])) == "delivered"
    assert bench.read() == [b"rain at noon", b"snow at one"]


def test_what_is_passed_on_is_what_came() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), *KEYS)
    bench.join("other", bench.topic.topic_id)
    bench.run_until(bench.now + 2)
    message = bench.sealed("ann")
    bench.bring(message)
    (passed,) = [each for rpc in bench.sent["other"] for each in rpc.messages]
    assert passed.raw == message.raw


@pytest.mark.parametrize(
    ("spoil", "outcome"),
    [
        ({"digest": b"\1" * 32}, "ignored bad_seal"),
        ({"writer": b"somebody"}, "ignored bad_seal"),
        ({"sequence": bytes(8)}, "ignored bad_seal"),
        ({"hashes": OTHER_HASHES, "key": OTHER_KEYS[0]}, "rejected unknown_key"),
    ],
)
def test_what_was_encrypted_for_something_else_is_not_delivered(
    spoil: dict[str, Any], outcome: str
) -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), *KEYS)
    assert bench.bring(bench.sealed("ann", **spoil)) == outcome
    assert bench.read() == []


def test_plain_text_on_an_encrypted_topic_is_rejected() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), *KEYS)
    assert bench.bring(bench.by("ann", b"rain")) == "rejected not_sealed"
    assert bench.bring(bench.by("ann", b"rain" * 50)) == "rejected not_sealed"


def test_the_holder_of_a_key_who_is_not_listed_is_refused_all_the_same() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), *KEYS)
    assert bench.bring(bench.sealed("mallory")) == "rejected untrusted_author"


def test_a_node_without_keys_refuses_and_relays_by_the_descriptor_alone() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES))
    assert bench.bring(bench.sealed("ann")) == "relayed"
    assert bench.bring(bench.sealed("mallory")) == "rejected untrusted_author"
    assert bench.bring(bench.by("ann", b"plain")) == "rejected not_sealed"
    assert bench.guard.sizes()["unread_messages"] == 0
    with pytest.raises(LocalProtocolError, match="may not publish"):
        bench.publish(bench.topic.topic_id)


def test_a_listed_peer_without_a_key_cannot_publish_and_is_told_so() -> None:
    bench = Bench(descriptor("key", ["us"], "shared-key", HASHES))
    with pytest.raises(LocalProtocolError, match="none of its keys is here"):
        bench.publish(bench.topic.topic_id)


def test_messages_under_a_key_that_comes_later_wait_for_it() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), KEYS[0])
    for number in range(3):
        assert bench.bring(bench.sealed("ann", b"%d" % number, KEYS[1])) == "relayed"
    assert bench.read() == []
    bench.feed(KnowTopic(bench.topic, KEYS))
    assert bench.read() == [b"0", b"1", b"2"]
    assert bench.guard.sizes()["unread_messages"] == 0


def test_what_waits_too_long_or_finds_no_room_is_lost_and_counted() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), KEYS[0])
    for _ in range(MOST + 10):
        bench.bring(bench.sealed("ann", key=KEYS[1]))
    assert bench.guard.sizes()["unread_messages"] == MOST
    bench.run_until(bench.now + LONGEST + 1)
    lost = [each.fields["reason"] for each in bench.of(TraceEvent) if each.event == DROPPED]
    assert lost.count("waiting_room_full") == 10 and lost.count("key_missing") == MOST
    assert bench.guard.sizes()["unread_messages"] == 0


def test_where_a_validator_judges_nothing_waits_to_be_read_unjudged() -> None:
    bench = Bench(descriptor("key", ["ann"], "shared-key", HASHES), KEYS[0], judged=True)
    bench.bring(bench.sealed("ann", key=KEYS[1]))
    assert bench.guard.sizes()["unread_messages"] == 0
    bench.feed(KnowTopic(bench.topic, KEYS))
    assert bench.read() == []


# ---- the node


def test_a_topic_with_a_descriptor_needs_signatures_and_takes_no_transform() -> None:
    class Reverse:
        max_size = 100

        def outbound(self, topic: str, data: bytes) -> bytes:
            return data[::-1]

        inbound = outbound

    topic = descriptor("key", ["ann"])
    with pytest.raises(LocalProtocolError, match="needs signed messages"):
        Bench(topic, signing="StrictNoSign")
    with pytest.raises(LocalProtocolError, match="takes no transform"):
        Bench(topic, transform=Reverse())


def test_nobody_publishes_in_the_name_of_another_on_a_topic_with_a_descriptor() -> None:
    bench = Bench(descriptor("key", ["us", "ann"]))
    topic = bench.topic.topic_id
    with pytest.raises(LocalProtocolError, match="has a descriptor: publish as yourself"):
        bench.feed(PublishOtherwise((topic,), b"rain", author=key_of("ann")))
    assert bench.publish(topic, b"rain").id


def test_what_is_kept_for_descriptors_is_among_the_sizes_of_the_node() -> None:
    bench = Bench(descriptor("key", ["ann"]))
    assert bench.pubsub.sizes()["described_topics"] == 1


def test_keys_that_are_not_the_topics_are_refused() -> None:
    with pytest.raises(ConfigError, match="none of those"):
        Bench(descriptor("key", ["ann"], "shared-key", HASHES), b"k" * 32)
    with pytest.raises(LocalProtocolError, match="no shared keys"):
        Bench(descriptor("key", ["ann"]), *KEYS)


def test_a_descriptor_with_a_name_alone_asks_nothing() -> None:
    bench = Bench(TopicDescriptor("weather"))
    assert bench.bring(bench.by("mallory")) == "delivered"
    assert bench.guard.sizes()["described_topics"] == 0


def test_a_topic_that_is_forgotten_is_guarded_no_more() -> None:
    bench = Bench(descriptor("wot", ["ann"]))
    bench.feed(ForgetTopic(bench.topic.topic_id))
    assert bench.bring(bench.by("mallory")) == "delivered"
    assert not bench.pubsub.joined(bench.topic.topic_id + SUFFIX)
    assert bench.guard.topics == {} and bench.guard.next_wake() is None


def test_a_node_knows_so_many_descriptors_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_TOPICS == 1024
    monkeypatch.setattr("rumormill.libp2p.descriptor.private_topics.MOST_TOPICS", 2)
    bench = Bench(descriptor("key", ["ann"]))
    bench.feed(KnowTopic(descriptor("key", ["bob"])))
    with pytest.raises(LocalProtocolError, match="no more are kept"):
        bench.feed(KnowTopic(descriptor("key", ["cid"])))


def test_words_that_are_too_large_for_this_nodes_rpcs_are_counted_and_stop_nothing() -> None:
    bench = Bench(descriptor("wot", ["us"]), max_rpc_size=4096, max_control_size=1024)
    edges = [bench.edge("us", f"friend {number}") for number in range(40)]
    bench.feed(KnowEdges(bench.topic.topic_id, edges))
    bench.run_until(bench.now + 5)
    reasons = [each.fields["reason"] for each in bench.of(TraceEvent) if each.event == DROPPED]
    assert "not_published" in reasons
    assert bench.bring(bench.by("friend 7")) == "delivered"


def test_a_node_with_many_descriptors_is_not_asked_about_each_for_every_message() -> None:
    bench = Bench(descriptor("wot", ["us"]))
    for number in range(50):
        bench.feed(KnowTopic(descriptor("wot", ["us"], name=f"topic {number}")))

    def exact() -> float:
        times = [each.telling.next_wake() for each in bench.guard._known.values()]
        return min(time for time in times if time is not None)

    due = bench.guard.next_wake()
    assert due is not None and due <= exact()
    bench.run_until(bench.now + 10)
    assert bench.guard.next_wake() == exact()
