from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack.multistream import (
    GREETING,
    LONGEST_TOKEN,
    MOST_PROPOSALS,
    Negotiation,
    TokenReader,
    encode_token,
)

names = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=60).filter(
    lambda name: name not in ("na", GREETING)
)


def tokens(data: bytes) -> list[str]:
    reader = TokenReader()
    reader.feed(data)
    out = []
    while (token := reader.next()) is not None:
        out.append(token)
    assert reader.rest() == b""
    return out


def settle(dialer: Negotiation, listener: Negotiation) -> int:
    """Let both talk until both agree; return the number of writes of the dialer."""
    for writes in range(1, 200):
        at_listener = listener.receive(dialer.data_to_send())
        at_dialer = dialer.receive(listener.data_to_send())
        if at_listener is not None and at_dialer is not None:
            return writes
    raise AssertionError("no agreement")


def test_the_greeting_on_the_wire_is_what_the_specification_shows() -> None:
    assert encode_token(GREETING).hex() == "132f6d756c746973747265616d2f312e302e300a"


def test_a_dialer_sends_its_greeting_and_its_first_proposal_in_one_write() -> None:
    assert tokens(Negotiation.dialer(["/a", "/b"]).data_to_send()) == [GREETING, "/a"]


def test_a_listener_sends_its_greeting_and_its_answer_in_one_write() -> None:
    listener = Negotiation.listener(["/a"])
    assert listener.receive(Negotiation.dialer(["/a"]).data_to_send()) == b""
    assert tokens(listener.data_to_send()) == [GREETING, "/a"]


def test_agreement_on_the_first_proposal_costs_one_round_trip() -> None:
    dialer, listener = Negotiation.dialer(["/a"]), Negotiation.listener(["/a", "/b"])
    assert settle(dialer, listener) == 1
    assert dialer.protocol == listener.protocol == "/a"


def test_the_second_proposal_is_tried_when_the_first_is_not_available() -> None:
    dialer, listener = Negotiation.dialer(["/a", "/b"]), Negotiation.listener(["/b"])
    assert settle(dialer, listener) == 2
    assert dialer.protocol == listener.protocol == "/b"


def test_a_dialer_whose_proposals_are_all_refused_fails() -> None:
    dialer, listener = Negotiation.dialer(["/a", "/b"]), Negotiation.listener(["/c"])
    with pytest.raises(RemoteProtocolError) as caught:
        settle(dialer, listener)
    assert caught.value.reason == "no_common_protocol"


def test_a_list_request_is_answered_with_not_available_and_the_negotiation_goes_on() -> None:
    listener = Negotiation.listener(["/a"])
    assert listener.receive(encode_token(GREETING) + encode_token("ls")) is None
    assert tokens(listener.data_to_send()) == [GREETING, "na"]
    assert listener.receive(encode_token("/a")) == b""


def test_bytes_that_were_sent_along_optimistically_come_out_behind_the_agreement() -> None:
    listener = Negotiation.listener(["/a"])
    assert listener.receive(Negotiation.dialer(["/a"]).data_to_send() + b"early") == b"early"


def test_a_listener_gives_up_after_a_bounded_number_of_proposals() -> None:
    listener = Negotiation.listener(["/a"])
    listener.receive(encode_token(GREETING))
    with pytest.raises(RemoteProtocolError) as caught:
        listener.receive(encode_token("/b") * MOST_PROPOSALS)
    assert caught.value.reason == "too_many_proposals"


def test_a_token_of_the_longest_size_is_read_and_a_longer_one_refused_at_its_length() -> None:
    reader = TokenReader()
    reader.feed(b"\x80\x08" + b"a" * (LONGEST_TOKEN - 1) + b"\n")
    assert reader.next() == "a" * (LONGEST_TOKEN - 1)
    reader = TokenReader()
    reader.feed(b"\x81\x08")
    with pytest.raises(RemoteProtocolError) as caught:
        reader.next()
    assert caught.value.reason == "token_too_long"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00", "bad_token"),
        (b"\x01a", "bad_token"),
        (b"\x02\xff\n", "bad_token"),
        (b"\x80\x80\x01", "token_too_long"),
        (encode_token("/multistream/2.0.0"), "bad_greeting"),
        (encode_token(GREETING) + encode_token("/other"), "unexpected_answer"),
    ],
)
def test_a_dialer_fails_on(data: bytes, reason: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        Negotiation.dialer(["/a"]).receive(data)
    assert caught.value.reason == reason


def test_a_name_that_cannot_be_a_token_is_the_callers_fault() -> None:
    for name in ("a\nb", "x" * LONGEST_TOKEN):
        with pytest.raises(LocalProtocolError):
            Negotiation.dialer([name])
    with pytest.raises(LocalProtocolError):
        Negotiation.dialer([])


@given(st.lists(names, min_size=1, max_size=8, unique=True), st.data())
def test_any_cut_of_the_bytes_gives_the_same_agreement(
    proposals: list[str], data: st.DataObject
) -> None:
    supported = data.draw(st.sampled_from(proposals))
    dialer, listener = Negotiation.dialer(proposals), Negotiation.listener([supported])
    size = data.draw(st.integers(1, 40))
    done: list[bytes | None] = [None, None]
    while None in done:
        for index, (source, target) in enumerate(((dialer, listener), (listener, dialer))):
            out = source.data_to_send()
            for start in range(0, len(out), size):
                done[index] = target.receive(out[start : start + size])
    assert done == [b"", b""]
    assert dialer.protocol == listener.protocol == supported


@given(st.binary(max_size=3000), st.integers(1, 3000), st.booleans())
def test_arbitrary_bytes_raise_nothing_but_remote_protocol_errors(
    data: bytes, size: int, dialer: bool
) -> None:
    machine = Negotiation.dialer(["/a"]) if dialer else Negotiation.listener(["/a"])
    try:
        for start in range(0, len(data), size):
            if machine.receive(data[start : start + size]) is not None:
                break
    except RemoteProtocolError:
        pass
    assert len(machine.data_to_send()) <= 64 + 5 * MOST_PROPOSALS


@given(st.lists(names, max_size=10))
def test_tokens_read_back_as_they_were_written(written: list[str]) -> None:
    assert tokens(b"".join(encode_token(name) for name in written)) == written
