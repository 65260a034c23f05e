from __future__ import annotations

import contextlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.certificates.identity import identity_of, node_identity_of
from rumormill.bcos.live.chain_maker import new_key
from rumormill.bcos.live.pem_files import public_der
from rumormill.core.errors import RemoteProtocolError
from tests.helpers.bcos.chains import CA, LEAF, P256, certificate, good_authorities, rsa_key


def credentials(key: Any, constraints: Any = LEAF) -> bytes:
    return public_der(certificate("node0", key, good_authorities()[1], constraints))


def test_a_node_is_known_by_the_point_of_its_key_in_lower_case() -> None:
    key = ec.derive_private_key(1, ec.SECP256K1())  # its point is the curve's generator
    who = node_identity_of(credentials(key))
    assert who.node_id.startswith(
        "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    )
    assert len(who.node_id) == 128
    assert (who.name, who.agency, who.issuer) == ("node0", "agency", "CN=agency")


def test_an_sdk_of_the_rsa_profile_has_no_node_id() -> None:
    assert identity_of(credentials(rsa_key(), None)).node_id == ""


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: credentials(new_key("ec"), None), "no_basic_constraints"),
        (lambda: credentials(new_key("ec"), CA), "certificate_of_a_ca"),
        (lambda: credentials(rsa_key()), "no_node_key"),
        (lambda: credentials(ec.generate_private_key(P256)), "no_node_key"),
        (lambda: b"", "no_certificate"),
        (lambda: b"\x30\x00", "bad_certificate"),
    ],
)
def test_what_cannot_be_a_node_is_refused_with_a_reason(made: Any, reason: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        node_identity_of(made())
    assert caught.value.reason == reason


@given(st.integers(0, 5000), st.integers(1, 255))
def test_a_certificate_with_a_changed_byte_is_read_or_refused(at: int, change: int) -> None:
    raw = bytearray(GENUINE)
    raw[at % len(raw)] ^= change
    with contextlib.suppress(RemoteProtocolError):
        node_identity_of(bytes(raw))


GENUINE = credentials(new_key("ec"))
