"""Commands, byte for byte as another implementation makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from ndn.app_support import nfd_mgmt
from ndn.encoding import InterestParam, make_interest
from ndn.security.signer import sha256_digest_signer
from ndn.security.signer.sha256_digest_signer import DigestSha256Signer

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Subscribe, Unsubscribe
from rumormill.ndn.client.commands import read_answer
from rumormill.ndn.security.signers import DigestSigner, Ed25519Signer
from rumormill.ndn.wire.control import ControlResponse, encode_response
from rumormill.ndn.wire.data import Data, decode_data, encode_data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import components, name_from_uri
from tests.helpers.ndn.client import ClientBench

HERE = "tcp://127.0.0.1:6363"
ELSEWHERE = "tcp://192.0.2.1:6363"


class FaceElsewhere:
    """A face of python-ndn to another machine."""

    @staticmethod
    def isLocalFace() -> bool:
        return False


@contextmanager
def their_entropy(timestamp: int, random: bytes) -> Iterator[None]:
    """python-ndn takes these for the time and for random bytes."""
    number = int.from_bytes(random, "big")
    with (
        mock.patch.object(nfd_mgmt, "timestamp", lambda: timestamp),
        mock.patch.object(nfd_mgmt, "gen_nonce_64", lambda: number),
        mock.patch.object(sha256_digest_signer, "timestamp", lambda: timestamp),
        mock.patch.object(sha256_digest_signer, "gen_nonce_64", lambda: number),
    ):
        yield


def ours(address: str, form: str, verb: str) -> Interest:
    """What a client of ours sends for the route /weather/notify."""
    bench = ClientBench(command_form=form)
    forwarder = bench.forwarder(address)
    forwarder.serve()
    bench.feed(Subscribe("/weather"))
    if verb == "unregister":
        forwarder.serve()
        bench.feed(Unsubscribe("/weather"))
    ((command, interest),) = forwarder.commands()
    assert (command.verb, command.form) == (verb, form)
    return interest


@pytest.mark.parametrize("verb", ["register", "unregister"])
@pytest.mark.parametrize("address", [HERE, ELSEWHERE])
def test_the_older_form_is_that_of_python_ndn(address: str, verb: str) -> None:
    interest = ours(address, "v0.2", verb)
    parts = components(interest.name)
    timestamp, random = int.from_bytes(parts[5][2:], "big"), parts[6][2:]
    face: Any = FaceElsewhere() if address == ELSEWHERE else None
    assert interest.nonce is not None
    with their_entropy(timestamp, random):
        name = nfd_mgmt.make_command("rib", verb, face, name="/weather/notify")
        their = make_interest(
            name, InterestParam(lifetime=1000, nonce=int.from_bytes(interest.nonce, "big"))
        )
    assert interest.raw == bytes(their)


@pytest.mark.parametrize("verb", ["register", "unregister"])
@pytest.mark.parametrize("address", [HERE, ELSEWHERE])
def test_the_newer_form_is_that_of_python_ndn(address: str, verb: str) -> None:
    interest = ours(address, "v0.3", verb)
    signature = interest.signature
    assert signature is not None and signature.time is not None and signature.nonce is not None
    face: Any = FaceElsewhere() if address == ELSEWHERE else None
    assert interest.nonce is not None
    with their_entropy(signature.time, signature.nonce):
        name = nfd_mgmt.make_command_v2("rib", verb, face, name="/weather/notify")
        their = make_interest(
            name,
            InterestParam(lifetime=1000, nonce=int.from_bytes(interest.nonce, "big")),
            app_param=b"",
            signer=DigestSha256Signer(for_interest=True),
        )
    assert interest.raw == bytes(their)


# ---- answers

NAME = name_from_uri("/localhost/nfd/rib/register/x")
OK = encode_response(ControlResponse(200, "OK"))


def test_an_answer_with_a_right_digest_is_believed() -> None:
    assert read_answer(encode_data(NAME, OK, DigestSigner())).code == 200


def test_an_answer_signed_with_a_key_of_the_forwarder_is_believed() -> None:
    signer = Ed25519Signer(bytes(32), name_from_uri("/forwarder/KEY/1"))
    assert read_answer(encode_data(NAME, OK, signer)).code == 200


def damaged() -> Data:
    raw = bytearray(encode_data(NAME, OK, DigestSigner()).raw)
    raw[-1] ^= 1
    return decode_data(bytes(raw))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (damaged(), "wrong_digest"),
        (encode_data(NAME, None, DigestSigner()), "bad_tlv"),
        (encode_data(NAME, b"OK", DigestSigner()), "bad_tlv"),
        (encode_data(NAME, b"\x65\x00", DigestSigner()), "bad_record"),
    ],
)
def test_anything_else_is_no_answer(data: Data, reason: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_answer(data)
    assert caught.value.reason == reason
