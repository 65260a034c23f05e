"""Whatever SDKs send, the node goes on, and what it keeps has bounds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.bcos.wire.verification import encode_topic_status, need_verify, push_channel
from rumormill.core.machine import Subscribe
from rumormill.core.transport import CloseTransport, WriteBytes
from tests.helpers.bcos.sdk_side import Sdk, SdkSide, node_id, seq

B = node_id("b")
PRIVATE = need_verify("p")
TOPICS = ("news", "weather", PRIVATE, push_channel(PRIVATE))
KINDS = st.sampled_from(
    [value for name, value in vars(ChannelType).items() if name.isupper()]
) | st.integers(0, 0xFFFF)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.builds(encode_body, st.sampled_from(TOPICS), st.binary(max_size=20)),
    st.sampled_from(
        [
            b'{"jsonrpc":"2.0","method":"getPeers","params":[1],"id":1}',
            b'{"jsonrpc":"2.0","method":"rumormill_subscribers","params":[7],"id":1}',
            b'{"minimumSupport":1,"maximumSupport":3}',
            b'["news","weather"]',
            b"[]",
            encode_topic_status(True, B, PRIVATE),
        ]
    ),
)
SEQS = st.builds(seq, st.integers(0, 3)) | st.just(b"%032d" % 1)
PACKETS = st.builds(ChannelPacket, KINDS, SEQS, st.sampled_from([0, 104, -1]), BODIES)


def busy_side() -> tuple[SdkSide, Sdk]:
    """A node with all that can happen, and an SDK that has questions to answer."""
    side = SdkSide(max_session_requests=8)
    side.feed(Subscribe("weather"))
    side.node_has(B, "news", PRIVATE, f"#!$VerifyChannel_{PRIVATE}_" + "0" * 32)
    side.sdk("news")
    sdk = side.sdk()
    sdk.send(ChannelType.SUBSCRIBE, data=f'["news","{push_channel(PRIVATE)}"]'.encode())
    side.arrives(B, ChannelPacket(ChannelType.REQUEST, seq(1), 0, encode_body("news", b"")))
    return side, sdk


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes(pieces: list[bytes]) -> None:
    side, sdk = busy_side()
    for piece in pieces:
        sdk.write(piece)
    assert side.sdk().send(ChannelType.HEARTBEAT, data=b"0")


@given(st.lists(PACKETS, max_size=20), st.integers(1, 300))
@settings(max_examples=200)
def test_any_packets_in_any_pieces(packets: list[ChannelPacket], size: int) -> None:
    side, sdk = busy_side()
    raw = b"".join(map(encode_channel, packets))
    before = len(side.effects)
    for start in range(0, len(raw), size):
        sdk.write(raw[start : start + size])
    assert len(side.of(CloseTransport)) <= 1
    # Nothing that an SDK says makes us write more than a few packets for each of its own.
    written = [effect for effect in side.effects[before:] if isinstance(effect, WriteBytes)]
    assert len(written) <= 4 * len(packets)
    assert side.sdk().send(ChannelType.HEARTBEAT, data=b"0")
    side.passes(30)
    side.passes(60)
    assert side.server.sizes() == dict.fromkeys(side.server.sizes(), 0)


@given(st.lists(PACKETS, max_size=10), st.sampled_from([0, 1, 2, 9]))
def test_any_packets_of_another_node(packets: list[ChannelPacket], kind: int) -> None:
    side, _ = busy_side()
    for packet in packets:
        side.arrives(B, packet, kind)
    assert len(side.nodes.answered) <= len(packets) + 1


class Sdks(RuleBasedStateMachine):
    """SDKs and nodes come, speak and go; all that was kept for them goes with them."""

    def __init__(self) -> None:
        super().__init__()
        self.side = SdkSide(max_sessions=5, max_session_requests=4, session_queue_bytes=1024)
        self.sdks: list[Sdk] = []

    @precondition(lambda self: len(self.sdks) < 7)
    @rule(topics=st.lists(st.sampled_from(TOPICS), max_size=3))
    def comes(self, topics: list[str]) -> None:
        sdk = self.side.sdk()
        sdk.send(
            ChannelType.SUBSCRIBE, data=("[" + ",".join(f'"{t}"' for t in topics) + "]").encode()
        )
        self.sdks.append(sdk)

    @precondition(lambda self: self.sdks)
    @rule(data=st.data(), packet=PACKETS)
    def says(self, data: st.DataObject, packet: ChannelPacket) -> None:
        data.draw(st.sampled_from(self.sdks)).write(encode_channel(packet))

    @precondition(lambda self: self.sdks)
    @rule(data=st.data(), full=st.booleans())
    def is_full(self, data: st.DataObject, full: bool) -> None:
        data.draw(st.sampled_from(self.sdks)).full(full)

    @precondition(lambda self: self.sdks)
    @rule(data=st.data())
    def goes(self, data: st.DataObject) -> None:
        sdk = data.draw(st.sampled_from(self.sdks))
        self.sdks.remove(sdk)
        sdk.leave()

    @rule(packet=PACKETS, kind=st.integers(0, 2))
    def arrives(self, packet: ChannelPacket, kind: int) -> None:
        self.side.arrives(B, packet, kind)

    @rule(topics=st.lists(st.sampled_from(TOPICS), max_size=3))
    def node_has(self, topics: list[str]) -> None:
        self.side.node_has(B, *topics, f"#!$VerifyChannel_{PRIVATE}_" + "0" * 32)

    @rule(answer=PACKETS | st.none())
    def node_answers(self, answer: ChannelPacket | None) -> None:
        if self.side.nodes.asked:
            asked = self.side.nodes.asked.pop()
            self.side.fails(asked) if answer is None else self.side.replies(asked, answer)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 31.0]))
    def time_passes(self, seconds: float) -> None:
        self.side.passes(seconds)

    @rule()
    def confirmed(self) -> None:
        self.side.confirmed(B)

    @invariant()
    def all_has_bounds(self) -> None:
        sizes = self.side.sizes()
        assert sizes["sessions"] <= 5
        assert sizes["subscriptions"] <= 5 * len(TOPICS)
        assert sizes["requests_in_flight"] <= 4 * 6
        assert sizes["session_requests"] <= 4 * 5
        assert sizes["questions"] <= 4 * 6 + len(TOPICS)
        assert sizes["queued_bytes"] <= 5 * 1024 * 2

    def teardown(self) -> None:
        for sdk in self.sdks:
            sdk.leave()
        self.side.node_leaves(B)
        for asked in self.side.nodes.asked:
            self.side.fails(asked)
        self.side.passes(60)
        assert self.side.sizes() == dict.fromkeys(self.side.sizes(), 0)


TestSdks = Sdks.TestCase
TestSdks.settings = settings(max_examples=60, stateful_step_count=40)
