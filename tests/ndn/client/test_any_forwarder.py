"""Whatever forwarders say, and whenever: the client goes on, and wants what it wants."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumormill.core.machine import Hold, Subscribe, Unsubscribe
from rumormill.core.transport import Dial
from rumormill.ndn.effects import Forget, Publication, PublicationEnded
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import ControlResponse, encode_response
from rumormill.ndn.wire.data import encode_data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import encode_link
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.client import ClientBench, ScriptedForwarder
from tests.helpers.ndn.faces import data, interest

ADDRESSES = ("tcp://127.0.0.1:6363", "tcp://127.0.0.1:6364", "udp://127.0.0.1:6363")
TOPICS = ("/a", "/b", "/c/d")
RESPONSES = st.builds(
    lambda code, text: encode_response(ControlResponse(code, text)),
    st.sampled_from([200, 400, 403, 409, 501, 0]), st.text(max_size=20),
) | st.binary(max_size=40)  # fmt: skip
PACKETS = st.one_of(
    st.binary(max_size=100),
    st.builds(tlv, st.sampled_from([0x05, 0x06, 0x64]), st.binary(max_size=60)),
    st.sampled_from(
        [
            interest("/alice/msg/a/1").raw,
            interest("/a/notify", parameters=b"p").raw,
            interest("/a/notify", parameters=b"\x07\x05\x08\x03bob\x80\x01k").raw,
            data("/bob/msg/a/k").raw,
            encode_link(interest("/a/notify").raw, nack=150),
            encode_link(b"x" * 100, sequence=1, index=1, count=3),
        ]
    ),
)


@given(st.lists(PACKETS, max_size=20), st.integers(1, 100))
def test_any_bytes_of_the_forwarder(packets: list[bytes], size: int) -> None:
    bench = ClientBench()
    bench.feed(Subscribe("/a"))
    forwarder = bench.forwarder()
    forwarder.serve()
    raw = b"".join(packets)
    for start in range(0, len(raw), size):
        forwarder.send(raw[start : start + size])
    bench.advance(300)
    sizes = bench.machine.sizes()
    assert sizes["routes"] == 2
    assert sizes["reassemblies"] == sizes["interests"] == 0


@given(st.lists(RESPONSES, min_size=1, max_size=10))
@settings(max_examples=200)
def test_any_answers_to_commands(contents: list[bytes]) -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    for content in contents:
        for _, asked in forwarder.commands():
            forwarder.send(encode_data(asked.name, content, DigestSigner()).raw)
        bench.advance(0.7)
    for _ in range(140):
        forwarder.serve()
        bench.advance(0.5)
    assert bench.routes()[-1:] == ["/alice/msg"]


class Forwarders(RuleBasedStateMachine):
    """Forwarders come, go, answer, refuse and are silent; in the end they have what is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = ClientBench(
            max_commands=2, refresh_interval=5, command_retry=0.5, longest_command_retry=4,
            faces=FaceParameters(redial_jitter=0, redial_longest_delay=1),
        )  # fmt: skip
        self.forwarders: dict[str, ScriptedForwarder] = {}
        self.asked: list[tuple[ScriptedForwarder, Interest]] = []
        self.wanted: dict[str, None] = {}
        self.tokens = 0

    def _look(self) -> None:
        for forwarder in self.forwarders.values():
            self.asked += [(forwarder, interest) for _, interest in forwarder.commands()]

    @rule(address=st.sampled_from(ADDRESSES))
    def comes(self, address: str) -> None:
        if address in self.forwarders:
            return
        dial = self.bench.dial(address)
        if dial or address.startswith("udp:"):
            self.forwarders[address] = self.bench.forwarder(address, dial)

    @rule(address=st.sampled_from(ADDRESSES[:2]))
    def fails(self, address: str) -> None:
        if address not in self.forwarders:
            dial = self.bench.dial(address)
            if dial:
                self.bench.fail(dial)

    @precondition(lambda self: self.forwarders)
    @rule(choice=st.data())
    def goes(self, choice: st.DataObject) -> None:
        address = choice.draw(st.sampled_from(sorted(self.forwarders)))
        if not address.startswith("udp:"):
            self.forwarders.pop(address).leave()

    @rule(topic=st.sampled_from(TOPICS))
    def subscribes(self, topic: str) -> None:
        self.bench.feed(Subscribe(topic))
        self.wanted[topic] = None

    @rule(topic=st.sampled_from(TOPICS))
    def unsubscribes(self, topic: str) -> None:
        self.bench.feed(Unsubscribe(topic))
        self.wanted.pop(topic, None)

    @rule(topic=st.sampled_from(TOPICS))
    def publishes(self, topic: str) -> None:
        self.tokens += 1
        self.bench.feed(Publication(self.tokens, topic, b"x"))

    @rule(paused=st.booleans())
    def holds(self, paused: bool) -> None:
        self.bench.feed(Hold(paused))

    @rule(token=st.integers(1, 5))
    def forgets(self, token: int) -> None:
        self.bench.feed(Forget(token))

    @rule(choice=st.data(), code=st.sampled_from([200, 200, 403, -1]))
    def answers(self, choice: st.DataObject, code: int) -> None:
        self._look()
        if self.asked:
            place = choice.draw(st.integers(0, len(self.asked) - 1))
            forwarder, asked = self.asked.pop(place)
            if forwarder.address not in self.forwarders:
                return
            if code < 0:
                forwarder.nack(asked)
            else:
                forwarder.answer(asked, code)

    @precondition(lambda self: self.forwarders)
    @rule(choice=st.data(), raw=PACKETS)
    def says(self, choice: st.DataObject, raw: bytes) -> None:
        address = choice.draw(st.sampled_from(sorted(self.forwarders)))
        self.forwarders[address].send(raw)

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 20.0]))
    def time_passes(self, seconds: float) -> None:
        self.bench.advance(seconds)

    @invariant()
    def all_has_bounds(self) -> None:
        sizes = self.bench.machine.sizes()
        assert sizes["routes"] <= len(TOPICS) + 1
        assert sizes["commands"] <= 2
        assert sizes["commands_waiting"] <= sizes["routes"]
        assert sizes["command_timers"] <= sizes["commands"] + sizes["routes"]
        assert sizes["uplinks"] <= 3
        assert len(self.bench.machine.peers) <= 3

    def teardown(self) -> None:
        """One forwarder that answers, in the end, has what is wanted and nothing else."""
        bench = self.bench
        bench.feed(Hold(False))
        last = "tcp://127.0.0.1:7777"
        bench.feed(Dial(last, True))
        served = bench.forwarder(last, bench.last_dial())
        for forwarder in list(self.forwarders.values()):
            if forwarder.connection:
                forwarder.leave()
        # What is there by UDP answers nothing any more, and has to give way.
        for _ in range(80):
            served.serve()
            bench.advance(0.5)
        expected = [f"{topic}/notify" for topic in self.wanted]
        granted = served.granted()
        assert "/alice/msg" in granted
        assert sorted(granted) == sorted([*expected, "/alice/msg"])
        bench.take(PublicationEnded)


TestForwarders = Forwarders.TestCase
TestForwarders.settings = settings(max_examples=80, stateful_step_count=40)
