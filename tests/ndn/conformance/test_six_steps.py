"""The seed's process packet by packet, against what the original was seen to send.

Prefix /alice, topic /t/x, NotifyNonce 0c897094, plain digests, lifetimes of four seconds. Of the
two digests in the capture the first and last two bytes are written down; here they are computed
from the packet's own bytes, and have to agree with those.
"""

from __future__ import annotations

from hashlib import sha256
from random import Random

from rumormill.ndn.pubsub.parameters import PubSubParameters
from tests.helpers.ndn.pubsub import Member, Packet, Town

AS_THE_ORIGINAL = PubSubParameters(notify_lifetime=4, fetch_lifetime=4, nonce_size=4)

TOPIC = bytes.fromhex("080174 080178")
NOTIFY = bytes.fromhex("08066e6f74696679")
PARAMETERS = bytes.fromhex("240f 07070805616c696365 80040c897094")
DIGEST_INFO = bytes.fromhex("2c031b0100")
MESSAGE_NAME = bytes.fromhex("0805616c696365 08036d7367 080174 080178 08040c897094")
PLAIN_META = bytes.fromhex("1403180100")
DATA_DIGEST_INFO = bytes.fromhex("16031b0100")


class Scripted(Random):
    """Random numbers that were chosen."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(1)
        self._numbers = list(numbers)

    def getrandbits(self, k: int, /) -> int:
        return self._numbers.pop(0)


def notify_packet() -> bytes:
    """The capture, with the digests that it must have."""
    value = sha256(TOPIC + NOTIFY + PARAMETERS + DIGEST_INFO).digest()
    assert value.hex()[:4] == "1eb1" and value.hex()[-4:] == "9432"
    tail = PARAMETERS + DIGEST_INFO + bytes.fromhex("2e20") + value
    digest = sha256(tail).digest()
    assert digest.hex()[:4] == "551e" and digest.hex()[-4:] == "b475"
    name = bytes.fromhex("0730") + TOPIC + NOTIFY + bytes.fromhex("0220") + digest
    return bytes.fromhex("0574") + name + bytes.fromhex("0a046c6c6901 0c020fa0") + tail


NOTIFY_NAME = notify_packet()[4:52]


def publication(parameters: PubSubParameters = AS_THE_ORIGINAL) -> tuple[Town, Member, Member]:
    """Alice publishes b"hello" to /t/x, which Bob listens to."""
    town = Town(latency=0.0)
    alice = town.add("/alice", parameters=parameters)
    bob = town.add("/bob", "/t/x", parameters=parameters)
    alice.pubsub._publisher._packing._random = Scripted(0x0C897094)
    alice.pubsub._pending._random = Scripted(0x6C6C6901)
    bob.pubsub._pending._random = Scripted(0x01020304)
    alice.publish("/t/x", b"hello")
    town.run(0.0)
    return town, alice, bob


def packets_of(town: Town) -> list[Packet]:
    """What members have sent, without what the forwarder passed on."""
    return [packet for packet in town.sent if packet.source]


def test_step_1_a_subscriber_listens_on_the_topic_and_notify() -> None:
    town = Town()
    town.add("/bob", "/t/x")
    assert town.routes[TOPIC + NOTIFY] == {"/bob": None}


def test_a_publisher_listens_on_its_prefix_and_msg() -> None:
    town = Town()
    town.add("/alice")
    assert list(town.routes) == [bytes.fromhex("0805616c696365 08036d7367")]


def test_step_2_the_notify_interest_is_the_one_of_the_capture() -> None:
    town, _, _ = publication()
    first = packets_of(town)[0]
    assert (first.source, first.kind, first.raw) == ("/alice", "interest", notify_packet())


def test_step_3_the_interest_for_the_message() -> None:
    town, _, _ = publication()
    second = packets_of(town)[1]
    expected = bytes.fromhex("0524 0718") + MESSAGE_NAME + bytes.fromhex("0a0401020304 0c020fa0")
    assert (second.source, second.kind, second.raw) == ("/bob", "interest", expected)


def test_step_4_the_message_data() -> None:
    town, _, _ = publication()
    third = packets_of(town)[2]
    covered = (
        bytes.fromhex("0718") + MESSAGE_NAME + PLAIN_META + b"\x15\x05hello" + DATA_DIGEST_INFO
    )
    signed = covered + b"\x17\x20" + sha256(covered).digest()
    expected = b"\x06" + bytes((len(signed),)) + signed
    assert (third.source, third.kind, third.raw) == ("/alice", "data", expected)


def test_step_5_the_message_is_handed_to_the_application() -> None:
    _, _, bob = publication()
    assert bob.messages == [b"hello"]


def test_step_5_the_acknowledgement_has_the_whole_name_of_the_notify_and_no_content() -> None:
    town, _, _ = publication()
    fourth = packets_of(town)[3]
    covered = bytes.fromhex("0730") + NOTIFY_NAME + PLAIN_META + DATA_DIGEST_INFO
    signed = covered + b"\x17\x20" + sha256(covered).digest()
    expected = b"\x06" + bytes((len(signed),)) + signed
    assert (fourth.source, fourth.kind, fourth.raw) == ("/bob", "data", expected)


def test_step_6_the_acknowledgement_ends_it_and_the_soft_state_is_erased() -> None:
    town, alice, _ = publication()
    assert alice.outcomes == ["delivered"]
    assert len(packets_of(town)) == 4
    assert alice.pubsub.sizes()["publications"] == 0
    town.run(AS_THE_ORIGINAL.linger + 1)
    assert alice.pubsub.sizes()["kept"] == 0


def test_with_a_forwarding_hint_the_notify_carries_it_and_the_interest_honours_it() -> None:
    hinted = PubSubParameters(
        notify_lifetime=4, fetch_lifetime=4, nonce_size=4, forwarding_hint="/gate"
    )
    town, alice, bob = publication(hinted)
    notify, fetch = packets_of(town)[0].interest, packets_of(town)[1]
    gate = bytes.fromhex("0706 080467617465")
    assert notify.parameters == PARAMETERS[2:] + b"\xd3" + bytes((len(gate),)) + gate
    hint = b"\x1e" + bytes((len(gate),)) + gate
    after_name = hint + bytes.fromhex("0a0401020304 0c020fa0")
    assert fetch.raw == bytes.fromhex("052e 0718") + MESSAGE_NAME + after_name
    assert bob.messages == [b"hello"] and alice.outcomes == ["delivered"]
