"""Whatever strangers put into packets: it is refused or taken, and nothing else happens."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import decode_data, encode_data
from rumormill.ndn.wire.interest import decode_interest, encode_interest
from rumormill.ndn.wire.name import component, name_from_uri
from rumormill.ndn.wire.notify import message_name, notify_name
from tests.helpers.ndn.pubsub import Member, Town, foreign_message, foreign_notify

K = b"\x0c\x89\x70\x94"
NAME = message_name(name_from_uri("/alice"), name_from_uri("/t/x"), K)
PIECES = st.lists(
    st.sampled_from(
        [b"\x07", b"\x80", b"\xd3", b"\x08", b"\x81", b"\xfd", b"\x00", b"\x01", b"\x04", b"abcd"]
    ),
    max_size=20,
).map(b"".join)
CONTENTS = st.one_of(st.binary(max_size=60), PIECES)


def subscriber() -> tuple[Town, Member]:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", parameters=PubSubParameters(segments=True))
    town.run(1)
    return town, bob


def still_works(town: Town, bob: Member) -> None:
    """A true message comes through after it."""
    bob.interest(foreign_notify("/t/x", "/carol", b"next"))
    bob.data(foreign_message("/t/x", "/carol", b"next", b"next"))
    town.run(0)
    assert bob.messages[-1] == b"next"


@given(CONTENTS)
def test_any_parameters_of_a_notification(parameters: bytes) -> None:
    town, bob = subscriber()
    notify = encode_interest(
        notify_name(name_from_uri("/t/x")), nonce=b"1234", parameters=parameters,
        signer=DigestSigner(),
    )  # fmt: skip
    bob.interest(notify)
    # Either it names somebody, who is asked, or it is refused; own messages cannot be made up.
    assert [each.kind for each in town.between("/bob")] in (["interest"], ["nack"])
    still_works(town, bob)


@given(st.lists(st.binary(max_size=10), min_size=1, max_size=5), st.binary(max_size=20))
def test_any_name_of_an_interest(values: list[bytes], parameters: bytes) -> None:
    town, bob = subscriber()
    name = b"".join(map(component, values))
    bob.interest(encode_interest(name, nonce=b"1234"))
    bob.interest(encode_interest(name, nonce=b"1234", parameters=parameters))
    assert {each.kind for each in town.between("/bob")} == {"nack"}
    still_works(town, bob)


@given(CONTENTS, st.sampled_from([0, 1, 3, 0x524D, 1 << 40]))
def test_any_content_of_a_message(content: bytes, content_type: int) -> None:
    town, bob = subscriber()
    bob.interest(foreign_notify("/t/x", "/alice", K))
    bob.data(encode_data(NAME, content, DigestSigner(), content_type=content_type))
    town.run(0)
    assert bob.messages == ([content] if content_type == 0 else [])
    still_works(town, bob)


@given(st.data())
def test_damaged_packets_of_the_six_steps(data: st.DataObject) -> None:
    """One byte of each packet may be another: whatever can still be read is dealt with."""
    town, bob = subscriber()
    for raw in (
        foreign_notify("/t/x", "/alice", K).raw,
        encode_data(NAME, b"hi", DigestSigner()).raw,
    ):
        place = data.draw(st.integers(0, len(raw) - 1))
        damaged = raw[:place] + bytes((data.draw(st.integers(0, 255)),)) + raw[place + 1 :]
        with suppress(RemoteProtocolError):
            if raw[0] == 5:
                bob.interest(decode_interest(damaged))
                bob.nack(decode_interest(damaged), data.draw(st.integers(0, 200)))
            else:
                bob.data(decode_data(damaged))
        town.run(0)
    still_works(town, bob)
