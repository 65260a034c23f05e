"""Interests: the questions of NDN, as packet format 0.3 writes them.

    05 { 07 Name, [21 CanBePrefix], [12 MustBeFresh], [1E ForwardingHint], [0A Nonce],
         [0C InterestLifetime], [22 HopLimit],
         [24 ApplicationParameters, [2C InterestSignatureInfo, 2E InterestSignatureValue]] }

With parameters, the name has a component with the SHA-256 of all from there to the end, so that
two Interests with the same name ask for the same.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.ndn.wire.name import MOST_COMPONENTS, NAME, Name, name_tlv, scan_name
from rumormill.ndn.wire.signature import (
    INTEREST_SIGNATURE_INFO,
    INTEREST_SIGNATURE_VALUE,
    Signature,
    SignatureInfo,
    Signer,
    info_tlv,
    plain_info,
    read_info,
)
from rumormill.ndn.wire.tlv import (
    BYTE,
    NUMBER_SIZES,
    number_tlv,
    read_head,
    skip,
    tlv,
    too_short,
    variable,
)

INTEREST: Final = 0x05
CAN_BE_PREFIX: Final = 0x21
MUST_BE_FRESH: Final = 0x12
FORWARDING_HINT: Final = 0x1E
NONCE: Final = 0x0A
LIFETIME: Final = 0x0C
HOP_LIMIT: Final = 0x22
PARAMETERS: Final = 0x24

NONCE_SIZE: Final = 4
DEFAULT_LIFETIME: Final = 4000
"""Milliseconds that an Interest waits which does not say how long."""

MOST_HINTS: Final = 16
"""Names in a forwarding hint."""

_DIGEST_HEAD: Final = b"\x02\x20"
_DIGEST_TLV_SIZE: Final = 34
_SECOND: Final = b"\x0c\x02\x0f\xa0"
"""The usual lifetime as it travels."""


class Interest(NamedTuple):
    """One Interest.

    >>> interest = encode_interest(b"\\x08\\x01a", nonce=b"1234")
    >>> decode_interest(interest.raw) == interest
    True
    """

    name: Name
    nonce: bytes | None
    lifetime: int
    """Milliseconds."""
    can_be_prefix: bool
    must_be_fresh: bool
    forwarding_hint: tuple[Name, ...]
    """Where the network finds the way, if it has none for the name itself."""
    hop_limit: int | None
    parameters: bytes | None
    """The value of ApplicationParameters."""
    signature: Signature | None
    raw: bytes
    """The whole packet."""
    hop_limit_at: int
    """Where the byte of the hop limit is in ``raw``; 0 if there is none."""
    nonce_at: int
    """Where the four bytes of the nonce are in ``raw``; 0 if there are none."""


# ---- reading


def decode_interest(raw: bytes, most_components: int = MOST_COMPONENTS) -> Interest:
    """Read one whole Interest; the digest of its parameters is checked too.

    In one piece, with short lengths read in place: every Interest that comes in passes here.
    """
    try:
        if raw[0] != INTEREST:
            raise RemoteProtocolError("bad_packet", f"the type {raw[0]}, an Interest is expected")
        size = raw[1]
        if size < 253:
            at, end = 2, 2 + size
        else:
            _, at, end = read_head(raw, 0, len(raw))
        if end != len(raw):
            raise RemoteProtocolError("bad_tlv", f"{len(raw)} bytes, the Interest ends at {end}")
        if raw[at] != NAME:
            raise RemoteProtocolError("bad_packet", "an Interest without a name")
        size = raw[at + 1]
        if size < 253:
            name_at, at = at + 2, at + 2 + size
        else:
            _, name_at, at = read_head(raw, at, end)
        if at > end or at == name_at:
            raise RemoteProtocolError("bad_packet", "an Interest with an empty or cut name")
        digest_at = scan_name(raw, name_at, at, most_components)
        name = raw[name_at:at]

        nonce, nonce_at, lifetime = None, 0, DEFAULT_LIFETIME
        can_be_prefix = must_be_fresh = False
        hint: tuple[Name, ...] = ()
        hop_limit, hop_limit_at = None, 0
        last = 0
        while at < end:
            kind, size = raw[at], raw[at + 1]
            if kind < 253 > size:
                start = at + 2
                stop = start + size
                if stop > end:
                    raise too_short()
            else:
                kind, start, stop = read_head(raw, at, end)
            if kind == NONCE:
                if last >= 4 or stop - start != NONCE_SIZE:
                    raise _misplaced("Nonce", stop - start)
                last = 4
                nonce, nonce_at = raw[start:stop], start
            elif kind == LIFETIME:
                if last >= 5 or stop - start not in NUMBER_SIZES:
                    raise _misplaced("InterestLifetime", stop - start)
                last = 5
                lifetime = int.from_bytes(raw[start:stop], "big")
            elif kind == CAN_BE_PREFIX:
                if last or stop != start:
                    raise _misplaced("CanBePrefix", stop - start)
                last = 1
                can_be_prefix = True
            elif kind == MUST_BE_FRESH:
                if last >= 2 or stop != start:
                    raise _misplaced("MustBeFresh", stop - start)
                last = 2
                must_be_fresh = True
            elif kind == PARAMETERS:
                return _with_parameters(
                    name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit,
                    raw, hop_limit_at, nonce_at, (name_at, digest_at), (at, start, stop, end),
                )  # fmt: skip
            elif kind == HOP_LIMIT and last < 6:
                if stop - start != 1:
                    raise _misplaced("HopLimit", stop - start)
                last = 6
                hop_limit, hop_limit_at = raw[start], start
            elif kind == FORWARDING_HINT:
                if last >= 3:
                    raise _misplaced("ForwardingHint", stop - start)
                last = 3
                hint = _read_hint(raw, start, stop, most_components)
            elif kind in (INTEREST_SIGNATURE_INFO, INTEREST_SIGNATURE_VALUE):
                raise RemoteProtocolError("bad_signature", "of an Interest without parameters")
            elif kind == 0:
                raise RemoteProtocolError("bad_tlv", "the type 0")
            else:
                skip(kind, "an Interest")
            at = stop
    except IndexError:
        raise too_short() from None
    if digest_at >= 0:
        raise RemoteProtocolError("wrong_parameters_digest", "there are no parameters")
    return tuple.__new__(
        Interest,
        (name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit, None, None,
         raw, hop_limit_at, nonce_at),
    )  # fmt: skip


def _misplaced(field: str, size: int) -> RemoteProtocolError:
    return RemoteProtocolError("bad_packet", f"{field} of {size} bytes, or not in its place")


def _with_parameters(
    name: Name, nonce: bytes | None, lifetime: int, can_be_prefix: bool, must_be_fresh: bool,
    hint: tuple[Name, ...], hop_limit: int | None, raw: bytes, hop_limit_at: int, nonce_at: int,
    of_name: tuple[int, int], of_parameters: tuple[int, int, int, int],
) -> Interest:  # fmt: skip
    """The rest of an Interest that has parameters.

    ``of_name``: where it begins, and where the component with the digest begins in it;
    ``of_parameters``: where the element begins, its value, the end of that and of the Interest.
    """
    name_at, digest_at = of_name
    parameters_at, start, at, end = of_parameters
    if digest_at < 0:
        raise RemoteProtocolError("wrong_parameters_digest", "there is none")
    digest_end = digest_at + _DIGEST_TLV_SIZE
    if sha256(raw[parameters_at:end]).digest() != raw[digest_at + 2 : digest_end]:
        raise RemoteProtocolError("wrong_parameters_digest")
    parameters = raw[start:at]
    info: SignatureInfo | None = None
    signature: Signature | None = None
    info_end = 0
    while at < end:
        kind, start, stop = read_head(raw, at, end)
        if kind == INTEREST_SIGNATURE_INFO and info is None:
            info, info_end = read_info(raw, start, stop), stop
        elif kind == INTEREST_SIGNATURE_VALUE and signature is None:
            if info is None:
                raise RemoteProtocolError("bad_signature", "its value comes before its info")
            name_end = name_at + len(name)
            spans = (name_at, digest_at, digest_end, name_end, parameters_at, info_end)
            signature = _signature(info, raw[start:stop], raw, spans)
        else:
            skip(kind, "an Interest")
        at = stop
    if info is not None and signature is None:
        raise RemoteProtocolError("bad_signature", "it has no value")
    return tuple.__new__(
        Interest,
        (name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit, parameters,
         signature, raw, hop_limit_at, nonce_at),
    )  # fmt: skip


def _signature(
    info: SignatureInfo, value: bytes, packet: bytes, spans: tuple[int, ...]
) -> Signature:
    type, key_name, key_digest, nonce, time, seq = info
    return tuple.__new__(
        Signature, (type, key_name, key_digest, value, packet, spans, nonce, time, seq)
    )


def _read_hint(raw: bytes, at: int, end: int, most_components: int) -> tuple[Name, ...]:
    names: list[Name] = []
    while at < end:
        kind, start, at = read_head(raw, at, end)
        if kind == NAME:
            if len(names) == MOST_HINTS:
                raise RemoteProtocolError("bad_packet", f"more than {MOST_HINTS} forwarding hints")
            scan_name(raw, start, at, most_components)
            names.append(raw[start:at])
        else:
            skip(kind, "ForwardingHint")
    return tuple(names)


# ---- writing


def encode_interest(
    name: Name,
    *,
    nonce: bytes,
    lifetime: int = DEFAULT_LIFETIME,
    can_be_prefix: bool = False,
    must_be_fresh: bool = False,
    forwarding_hint: tuple[Name, ...] = (),
    hop_limit: int | None = None,
    parameters: bytes | None = None,
    signer: Signer | None = None,
    signature_nonce: bytes | None = None,
    signature_time: int | None = None,
) -> Interest:
    """Make an Interest.

    With ``parameters`` the component with their digest is added to the name, and ``signer`` signs
    the packet. The lifetime is always said, also the usual one.
    """
    if len(nonce) != NONCE_SIZE or not name:
        raise LocalProtocolError("an Interest has a name, and a nonce of four bytes")
    tail, signature = b"", None
    if parameters is not None:
        name, tail, signature = _signed(name, parameters, signer, signature_nonce, signature_time)
    elif signer is not None:
        raise LocalProtocolError("only an Interest with parameters is signed")

    before = name_tlv(name)
    if can_be_prefix:
        before += b"\x21\x00"
    if must_be_fresh:
        before += b"\x12\x00"
    if forwarding_hint:
        before += tlv(FORWARDING_HINT, b"".join(map(name_tlv, forwarding_hint)))
    after = _SECOND if lifetime == DEFAULT_LIFETIME else number_tlv(LIFETIME, lifetime)
    if hop_limit is not None:
        if not 0 <= hop_limit <= 255:
            raise LocalProtocolError(f"a hop limit of {hop_limit}, 0 to 255 are possible")
        after += b"\x22\x01" + BYTE[hop_limit]
    size = len(before) + 6 + len(after) + len(tail)
    head = b"\x05" + (BYTE[size] if size < 253 else variable(size)) + before + b"\x0a\x04"
    nonce_at = len(head)
    raw = head + nonce + after + tail
    hop_limit_at = 0 if hop_limit is None else nonce_at + 3 + len(after)
    return tuple.__new__(
        Interest,
        (name, nonce, lifetime, can_be_prefix, must_be_fresh, forwarding_hint, hop_limit,
         parameters, signature, raw, hop_limit_at, nonce_at),
    )  # fmt: skip


def _signed(
    name: Name,
    parameters: bytes,
    signer: Signer | None,
    nonce: bytes | None,
    time: int | None,
) -> tuple[Name, bytes, Signature | None]:
    """The name with the digest, everything from the parameters on, and the signature."""
    # The two bytes may be in a value as well: only then it is worth a closer look.
    if _DIGEST_HEAD in name and scan_name(name, 0, len(name), len(name)) >= 0:
        raise LocalProtocolError("the name has a digest of parameters already")
    tail, signature = tlv(PARAMETERS, parameters), None
    if signer is not None:
        info = SignatureInfo(signer.type, signer.key_name, None, nonce, time)
        if nonce is None and time is None:
            tail += plain_info(INTEREST_SIGNATURE_INFO, info.type, info.key_name)
        else:
            tail += info_tlv(INTEREST_SIGNATURE_INFO, info)
        covered = name + tail
        value = signer.sign(covered)
        tail += tlv(INTEREST_SIGNATURE_VALUE, value)
        signature = _signature(info, value, covered, (0, len(covered)))
    return name + _DIGEST_HEAD + sha256(tail).digest(), tail, signature


# ---- changing what a forwarder may change


def with_nonce(interest: Interest, nonce: bytes) -> Interest:
    """The same Interest with another nonce, or with one if it has none."""
    at = interest.nonce_at
    if not at:
        return _inserted(interest, b"\x0a\x04" + nonce, (LIFETIME, HOP_LIMIT, PARAMETERS))
    (name, _, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit, parameters, signature,
     raw, hop_limit_at, _) = interest  # fmt: skip
    raw = raw[:at] + nonce + raw[at + NONCE_SIZE :]
    return tuple.__new__(
        Interest,
        (name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit, parameters,
         signature, raw, hop_limit_at, at),
    )  # fmt: skip


def with_hop_limit(interest: Interest, hop_limit: int) -> Interest:
    """The same Interest with another hop limit, or with one if it has none."""
    at = interest.hop_limit_at
    if not at:
        return _inserted(interest, b"\x22\x01" + BYTE[hop_limit], (PARAMETERS,))
    (name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, _, parameters, signature,
     raw, _, nonce_at) = interest  # fmt: skip
    raw = raw[:at] + BYTE[hop_limit] + raw[at + 1 :]
    return tuple.__new__(
        Interest,
        (name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit, parameters,
         signature, raw, at, nonce_at),
    )  # fmt: skip


def _inserted(interest: Interest, element: bytes, before: tuple[int, ...]) -> Interest:
    """The Interest with an element put in before the first of others, or at its end."""
    raw = interest.raw
    _, at, end = read_head(raw, 0, len(raw))
    value_at = at
    while at < end:
        kind, _, stop = read_head(raw, at, end)
        if kind in before:
            break
        at = stop
    changed = tlv(INTEREST, raw[value_at:at] + element + raw[at:])
    return decode_interest(changed, len(changed))
