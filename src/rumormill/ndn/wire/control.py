"""Commands to a forwarder and what it answers: the management protocol of NFD.

A command is an Interest ``/localhost/nfd/MODULE/VERB/<parameters>``, signed in one of two forms:

    v0.2   four more components: a timestamp, random bytes, SignatureInfo, SignatureValue
    v0.3   a signed Interest as any other; its ApplicationParameters are empty

The answer is a Data of the same name, whose content is a :class:`ControlResponse`.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.name import (
    GENERIC,
    PARAMETERS_DIGEST,
    Name,
    component,
    components,
    type_of,
    value_of,
)
from rumormill.ndn.wire.records import (
    Layout,
    elements,
    name_field,
    number_field,
    strategy_field,
    text_field,
)
from rumormill.ndn.wire.signature import (
    SIGNATURE_INFO,
    SIGNATURE_VALUE,
    Signature,
    Signer,
    plain_info,
    read_info,
)
from rumormill.ndn.wire.tlv import number_tlv, read_head, read_number, tlv

CONTROL_PARAMETERS: Final = 0x68
CONTROL_RESPONSE: Final = 0x65
STATUS_CODE: Final = 0x66
STATUS_TEXT: Final = 0x67

Form = Literal["v0.2", "v0.3"]
Scope = Literal["localhost", "localhop"]

V02: Final = "v0.2"
V03: Final = "v0.3"
V02_COMPONENTS: Final = 4
"""That the older form adds behind the parameters."""


class StatusCode:
    """How a command went; numbers as in HTTP."""

    OK: Final = 200
    BAD_REQUEST: Final = 400
    UNAUTHORIZED: Final = 403
    NOT_FOUND: Final = 404
    CONFLICT: Final = 409
    NOT_SUPPORTED: Final = 501


# ---- parameters


class ControlParameters(NamedTuple):
    """What a command is about; only what matters to it is there."""

    name: Name | None = None
    face_id: int | None = None
    uri: str | None = None
    local_uri: str | None = None
    origin: int | None = None
    cost: int | None = None
    capacity: int | None = None
    count: int | None = None  # type: ignore[assignment]  # as a tuple nobody counts in it
    congestion_interval: int | None = None
    congestion_threshold: int | None = None
    mtu: int | None = None
    flags: int | None = None
    mask: int | None = None
    strategy: Name | None = None
    expiration: int | None = None
    """Milliseconds."""
    persistency: int | None = None


_PARAMETERS: Final = Layout(
    ControlParameters,
    name_field("name"),
    number_field("face_id", 0x69),
    text_field("uri", 0x72),
    text_field("local_uri", 0x81),
    number_field("origin", 0x6F),
    number_field("cost", 0x6A),
    number_field("capacity", 0x83),
    number_field("count", 0x84),
    number_field("congestion_interval", 0x87),
    number_field("congestion_threshold", 0x88),
    number_field("mtu", 0x89),
    number_field("flags", 0x6C),
    number_field("mask", 0x70),
    strategy_field(),
    number_field("expiration", 0x6D),
    number_field("persistency", 0x85),
)


def encode_parameters(parameters: ControlParameters) -> bytes:
    """The element, with its type and length.

    >>> encode_parameters(ControlParameters(name=component(b"a"), cost=10)).hex()
    '680807030801616a010a'
    """
    return tlv(CONTROL_PARAMETERS, _PARAMETERS.write(parameters))


def decode_parameters(raw: bytes) -> ControlParameters:
    """Read one whole element."""
    return _PARAMETERS.read(_inside(raw, CONTROL_PARAMETERS))


def _inside(raw: bytes, expected: int) -> bytes:
    """The value of the one element that there should be."""
    type, start, stop = read_head(raw, 0, len(raw))
    if type != expected or stop != len(raw):
        raise RemoteProtocolError("bad_record", f"the type {type} instead of {expected}")
    return raw[start:]


# ---- answers


class ControlResponse(NamedTuple):
    """How a command went.

    >>> response = ControlResponse(200, "OK", ControlParameters(face_id=7))
    >>> decode_response(encode_response(response)) == response
    True
    """

    code: int
    text: str
    parameters: ControlParameters | None = None


def encode_response(response: ControlResponse) -> bytes:
    """The element, as it is the content of a Data."""
    code, text, parameters = response
    value = number_tlv(STATUS_CODE, code) + tlv(STATUS_TEXT, text.encode())
    if parameters is not None:
        value += encode_parameters(parameters)
    return tlv(CONTROL_RESPONSE, value)


def decode_response(raw: bytes) -> ControlResponse:
    """Read one whole element. What is neither code, text nor parameters is another command's."""
    code: int | None = None
    text = ""
    parameters: ControlParameters | None = None
    for type, value in elements(_inside(raw, CONTROL_RESPONSE)):
        if type == STATUS_CODE:
            code = read_number(value)
        elif type == STATUS_TEXT:
            text = value.decode(errors="replace")
        elif type == CONTROL_PARAMETERS and parameters is None:
            parameters = _PARAMETERS.read(value)
    if code is None:
        raise RemoteProtocolError("bad_record", "a response without a code")
    return ControlResponse(code, text, parameters)


# ---- commands


class Command(NamedTuple):
    """What an Interest wants the forwarder to do."""

    module: str
    verb: str
    parameters: ControlParameters
    form: Form
    scope: Scope
    signature: Signature
    """With a nonce and a time in either form."""


def encode_command(
    verb: Name,
    parameters: ControlParameters,
    *,
    form: Form,
    nonce: bytes,
    timestamp_ms: int,
    random_bytes: bytes,
    signer: Signer,
    lifetime: int = 1000,
) -> Interest:
    """A command in one of the two forms; ``verb`` is such as ``/localhost/nfd/rib/register``."""
    name = verb + component(encode_parameters(parameters))
    if form == V03:
        return encode_interest(
            name,
            nonce=nonce,
            lifetime=lifetime,
            parameters=b"",
            signer=signer,
            signature_nonce=random_bytes,
            signature_time=timestamp_ms,
        )
    name += component(timestamp_ms.to_bytes(8, "big")) + component(random_bytes)
    name += component(plain_info(SIGNATURE_INFO, signer.type, signer.key_name))
    name += component(tlv(SIGNATURE_VALUE, signer.sign(name)))
    return encode_interest(name, nonce=nonce, lifetime=lifetime)


_PREFIX_COMPONENTS: Final = 4
"""Scope, "nfd", module and verb."""
_NFD: Final = component(b"nfd")
_SCOPES: Final[dict[bytes, Scope]] = {
    component(b"localhost"): "localhost",
    component(b"localhop"): "localhop",
}


def read_command(interest: Interest) -> Command:
    """Read a command of either form; its signature is not checked."""
    parts = components(interest.name)
    try:
        if parts and type_of(parts[-1]) == PARAMETERS_DIGEST:
            parts.pop()
            _check_form(parts, _PREFIX_COMPONENTS + 1)
            form: Form = "v0.3"
            signature = interest.signature
        else:
            _check_form(parts, _PREFIX_COMPONENTS + 1 + V02_COMPONENTS)
            form = "v0.2"
            signature = _signature_in_name(interest.name, parts)
        if signature is None:
            raise RemoteProtocolError("bad_command", "it is not signed")
        module, verb = _word(parts[2]), _word(parts[3])
        parameters = decode_parameters(value_of(parts[4]))
    except RemoteProtocolError as error:
        raise RemoteProtocolError("bad_command", error.detail or error.reason) from None
    return Command(module, verb, parameters, form, _SCOPES[parts[0]], signature)


def _check_form(parts: list[bytes], expected: int) -> None:
    if len(parts) != expected or parts[0] not in _SCOPES or parts[1] != _NFD:
        raise RemoteProtocolError("bad_command", "the name has another form")


def _word(part: bytes) -> str:
    """A module or a verb."""
    word = value_of(part)
    if type_of(part) != GENERIC or not word.isascii():
        raise RemoteProtocolError("bad_command", "neither a module nor a verb")
    return word.decode("ascii")


def _signature_in_name(name: Name, parts: list[bytes]) -> Signature:
    """The signature of the older form: it covers all components but the last."""
    time, nonce, info_part, value_part = map(value_of, parts[-V02_COMPONENTS:])
    info = _inside(info_part, SIGNATURE_INFO)
    type, key_name, key_digest, *_ = read_info(info, 0, len(info))
    value = _inside(value_part, SIGNATURE_VALUE)
    covered = name[: len(name) - len(parts[-1])]
    return Signature(type, key_name, key_digest, value, covered, nonce, read_number(time))
