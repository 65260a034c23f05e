"""Whatever others send, faces go on, and what they keep has bounds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumormill.core.transport import Dial, OpenTransport, TransportFailed
from rumormill.ndn.wire.link import encode_link
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.faces import FaceBench, Other, data, interest

GOOD = st.sampled_from(
    [
        interest("/a").raw,
        interest("/a/b", parameters=b"p").raw,
        data("/a", b"x" * 400).raw,
        encode_link(interest("/a").raw, token=b"t"),
        encode_link(interest("/a").raw, nack=150),
    ]
)
FRAGMENTS = st.builds(
    lambda fragment, sequence, index, count: encode_link(
        fragment, sequence=sequence, index=min(index, count - 1), count=count
    ),
    st.binary(max_size=40) | GOOD, st.integers(0, 20), st.integers(0, 5), st.integers(2, 6),
)  # fmt: skip
LINKS = st.builds(
    lambda fields, fragment: tlv(0x64, b"".join(tlv(*each) for each in fields) + fragment),
    st.lists(
        st.tuples(
            st.sampled_from([0x51, 0x52, 0x53, 0x62, 0x0320, 0x0340, 0x70]), st.binary(max_size=9)
        ),
        max_size=4,
    ),
    st.binary(max_size=20),
)
JUNK = st.binary(max_size=100) | st.builds(
    tlv, st.sampled_from([0x05, 0x06, 0x64]), st.binary(max_size=60)
)
PACKETS = st.one_of(GOOD, FRAGMENTS, LINKS, JUNK)
DATAGRAMS = st.sampled_from([f"udp://192.0.2.{host}:{port}" for host in (1, 2) for port in (1, 2)])


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes(pieces: list[bytes]) -> None:
    bench = FaceBench()
    other = bench.stream()
    for piece in pieces:
        other.write(piece)
        bench.datagram(piece)
    good = bench.stream("tcp://198.51.100.1:1")
    good.write(interest("/a").raw)
    assert bench.sink.came[-1].face is good.face


@given(st.lists(PACKETS, max_size=20), st.integers(1, 300))
@settings(max_examples=200)
def test_any_packets_in_any_pieces(packets: list[bytes], size: int) -> None:
    bench = FaceBench()
    other = bench.stream()
    raw = b"".join(packets)
    for start in range(0, len(raw), size):
        other.write(raw[start : start + size])
    for packet in packets:
        bench.datagram(packet)
    assert len(bench.sink.came) <= 2 * len(packets) * 3
    other.leave()
    bench.advance(700)
    left = {name for name, count in bench.sizes().items() if count}
    assert left <= {"face_accounts", "accounts"}


class Others(RuleBasedStateMachine):
    """Others come, speak and go; all that was kept for them goes with them."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = FaceBench(
            max_faces=4, max_udp_faces=3, face_queue_bytes=64 * 1024, max_queue_bytes=100 * 1024,
            max_reassemblies=4, max_face_reassemblies=2, redial_jitter=0,
        )  # fmt: skip
        self.others: list[Other] = []
        self.came = 0

    @rule(host=st.integers(1, 3))
    def comes(self, host: int) -> None:
        self.came += 1
        up = len(self.bench.sink.up)
        other = self.bench.stream(f"tcp://192.0.2.{host}:{self.came}")
        if len(self.bench.sink.up) > up:
            self.others.append(other)

    @rule(keep=st.booleans(), works=st.booleans())
    def is_dialed(self, keep: bool, works: bool) -> None:
        self.bench.take(OpenTransport)
        self.bench.feed(Dial("tcp://127.0.0.1:6363", keep))
        for opened in self.bench.take(OpenTransport):
            if works:
                self.others.append(self.bench.stream("tcp://127.0.0.1:6363", opened.dial))
            else:
                self.bench.feed(TransportFailed(opened.dial, "connection_refused"))

    @rule(address=DATAGRAMS, keep=st.booleans())
    def is_dialed_by_udp(self, address: str, keep: bool) -> None:
        self.bench.feed(Dial(address, keep))

    @precondition(lambda self: self.others)
    @rule(choice=st.data(), raw=PACKETS)
    def says(self, choice: st.DataObject, raw: bytes) -> None:
        choice.draw(st.sampled_from(self.others)).write(raw)

    @rule(address=DATAGRAMS, raw=PACKETS)
    def says_by_udp(self, address: str, raw: bytes) -> None:
        self.bench.datagram(raw, address)

    @precondition(lambda self: self.others)
    @rule(choice=st.data(), full=st.booleans())
    def is_full(self, choice: st.DataObject, full: bool) -> None:
        choice.draw(st.sampled_from(self.others)).full(full)

    @rule(size=st.sampled_from([10, 8000]), count=st.sampled_from([1, 10]))
    def all_are_sent_something(self, size: int, count: int) -> None:
        for face in self.bench.faces.all():
            for _ in range(count):
                face.send_interest(interest("/i"))
                face.send_data(data("/d", b"x" * size), b"token")
                face.send_nack(interest("/n"), 150)
        self.bench.end_turn()

    @precondition(lambda self: self.others)
    @rule(choice=st.data())
    def leaves(self, choice: st.DataObject) -> None:
        other = choice.draw(st.sampled_from(self.others))
        self.others.remove(other)
        other.leave()

    @rule()
    def all_are_ended(self) -> None:
        for face in self.bench.faces.all():
            self.bench.faces.close(face, "destroyed")
        self.bench.end_turn()

    @rule(seconds=st.sampled_from([0.1, 1.0, 31.0, 601.0]))
    def time_passes(self, seconds: float) -> None:
        self.bench.advance(seconds)

    @invariant()
    def all_has_bounds(self) -> None:
        sizes = self.bench.sizes()
        assert sizes["connections"] <= 5
        assert sizes["udp_idle"] <= 3 + 4
        assert sizes["reassemblies"] <= 4
        assert sizes["bytes_waiting"] <= 100 * 1024
        assert sizes["faces_to_flush"] == 0
        assert sizes["faces"] == sizes["connections"] + sizes["udp_faces"] + _not_reached(sizes)
        assert len(self.bench.sink.up) - len(self.bench.sink.down) == (
            sizes["connections"] + sizes["udp_faces"]
        )

    def teardown(self) -> None:
        self.bench.faces.shutdown()
        self.bench.end_turn()
        self.bench.advance(700)
        left = {name for name, count in self.bench.sizes().items() if count}
        assert left <= {"face_accounts", "accounts"}
        assert self.bench.faces.next_wake() is None


def _not_reached(sizes: dict[str, int]) -> int:
    """Faces that have to be reached first: there is one address that is dialed."""
    return sizes["faces"] - sizes["connections"] - sizes["udp_faces"] if sizes["targets"] else 0


TestOthers = Others.TestCase
TestOthers.settings = settings(max_examples=60, stateful_step_count=40)
