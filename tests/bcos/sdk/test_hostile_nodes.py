"""Whatever a node sends, an SDK does not raise, and keeps within its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.effects import SetResponder, Unicast, Watch
from rumormill.bcos.sdk.private_topics import TopicKeys
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.bcos.wire.verification import encode_verify_request, need_verify, verify_channel
from rumormill.core.machine import Subscribe
from rumormill.core.transport import BytesReceived
from tests.helpers.bcos.sdk_bench import SdkBench

KEY = TopicPrivateKey(bytes([7] * 32))
KEYS = TopicKeys(("secret",), KEY, (KEY.public_key,))
NAME = need_verify("secret")

TYPES = st.sampled_from(
    [value for name, value in vars(ChannelType).items() if not name.startswith("_")] + [0, 0xFFFF]
)
CHANNEL = verify_channel(NAME, "0" * 32)
BODIES = st.one_of(
    st.binary(max_size=64),
    st.builds(
        encode_body, st.sampled_from(["weather", "news", NAME, CHANNEL]), st.binary(max_size=32)
    ),
    st.sampled_from(
        [
            b"{}", b"[]", b'{"result":null}', b'{"result":{"nodes":[1,"a"],"here":1}}',
            b'{"result":[{"NodeID":"a","Topic":["weather"]}]}', b'{"protocol":3}',
            b'{"protocol":1e400}', b'{"error":1}', encode_verify_request("ab" * 64, NAME, CHANNEL),
        ]
    ),
)  # fmt: skip


def ready_bench() -> SdkBench:
    """An SDK that listens, answers, waits for answers, and verifies."""
    bench = SdkBench(KEYS, max_checks=4, max_answers=2, max_ids=4)
    for topic in "weather", "secret":
        bench.feed(Subscribe(topic))
    bench.feed(SetResponder("news", True))
    bench.feed(Watch("secret", True))
    return bench


@given(pieces=st.lists(st.binary(max_size=100), max_size=8), up=st.booleans())
def test_any_bytes_of_a_node(pieces: list[bytes], up: bool) -> None:
    bench = ready_bench()
    address = "127.0.0.1:20200"
    node = bench.node(address) if up else bench.opened(address, bench.dial(address))
    for piece in pieces:
        bench.feed(BytesReceived(node.number, piece))
        bench.advance(0.1)
    bench.advance(40)
    assert bench.machine.sizes()["questions"] <= 8


@given(
    packets=st.lists(
        st.tuples(TYPES, st.integers(0, 5), st.sampled_from([0, 100, 104, -1]), BODIES), max_size=20
    )
)
def test_any_packets_of_a_node(packets: list[tuple[int, int, int, bytes]]) -> None:
    bench = ready_bench()
    node = bench.node()
    bench.feed(Unicast(1, "weather", b"rain", 5))
    seqs = [packet.seq for packet in node.packets()] + [b"%032d" % n for n in range(6)]
    for kind, which, result, body in packets:
        seq = seqs[which % len(seqs)]
        raw = encode_channel(ChannelPacket(kind, seq, result, body))
        bench.feed(BytesReceived(node.number, raw))
        bench.wake()
        seqs[:0] = [packet.seq for packet in node.packets()]
    bench.advance(40)
    sizes = bench.machine.sizes()
    assert sizes["publications"] == sizes["answering"] == 0
    assert sizes["ids"] <= 4
