"""What each kind of work costs that a peer makes pubsub do: microseconds of one core, roughly.

Measured with what a peer would send to cost us most (``python -m bench siege`` shows what comes of
it). What is of use is not in this table: a message that is delivered or passed on costs its sender
nothing.
"""

from __future__ import annotations

from rumormill.libp2p.pubsub.topics.transforms import MOST_INFLATED
from rumormill.libp2p.stack.keys import KeyType
from rumormill.libp2p.wire.message import WireMessage

MESSAGE = 40.0
"""A message that is of use: read, checked, delivered. Its sender does not owe this, but it is time
that others cannot have."""

MESSAGE_SENT = 15.0
"""The same message on its way to one more peer."""

READ_MESSAGE = 5.0
"""The first part of it: read, and handed to whoever checks it."""

RPC = 2.0
"""An RPC that is more than one message."""

ENTRY = 4.0
"""An entry of control: an IHAVE, IWANT, GRAFT, PRUNE, with what we say to it."""

MESSAGE_ID = 1.0
"""An id in an entry, looked up."""

SUBSCRIPTION = 4.0
"""A word on a topic that the peer listens to or not, unless it begins to."""

LEFT_TOPIC = 6.0
"""A topic that the peer no longer listens to: tables change, and perhaps a mesh, and again when it
comes back."""

UNKNOWN_BYTE = 0.6
"""A byte of fields that nobody knows: the shortest field has two."""

SKIPPED_FIELD = 1.0
"""A field of an RPC of which only the subscriptions are read."""

DUPLICATE = 3.0
"""Another copy of a message: the normal course of a mesh, and cheap."""

UNWANTED_MESSAGE = 5.0
"""A message that we do not want, or that found no room."""

INFLATED_BYTE = 0.003
"""A byte that a transform made of a message's data, and that its id was made of."""

ANSWERED_BYTE = 0.02
"""A byte that we send again because the peer asked for it: much more than it costs to make, as the
line may be dearer than the core. A peer gets a few megabytes a second that way."""

QUEUED_MESSAGE = 0.1
"""A message that waits for the peer, looked at because the peer said IDONTWANT."""

DEAR_SIGNATURE = 400.0
"""What a signature must cost to check for messages that bear such to be limited, found right or
not: nobody signs with such keys but who means harm, or does not know. Who passes them on is not to
blame, and not held back."""

ED25519 = 25.0
SECP256K1 = 350.0
ECDSA = 100.0
"""With the curve P-256, which nearly all have."""
ECDSA_LARGER = 800.0
"""With P-384 or P-521, half a millisecond and more, and to read the key."""
RSA_BYTE = 0.3
"""With RSA, a byte of the key: 2048 bits take 25 us, 8192 bits 270, with a long exponent 650."""

LONGEST_P256 = 100
"""Bytes of an ECDSA key on P-256 as it is sent, at most: P-384 needs 124."""

TYPE_TAG = 0x08
"""How the one valid encoding of a key begins: the number of its type comes next."""

ED25519_ID = 38
"""Bytes of a peer id that contains an Ed25519 key."""


def inflated(message: WireMessage) -> float:
    """What it cost to make the application's data of a message; 0 if it is what was sent."""
    return (message.weight - len(message.raw)) * INFLATED_BYTE


def vain_inflation(size: int, max_size: int) -> float:
    """What it costs at most to inflate data of a size that turns out to be bad.

    >>> vain_inflation(100, max_size=10_000), vain_inflation(1_000_000, max_size=10_000)
    (6.6000000000000005, 30.0)
    """
    return min(size * MOST_INFLATED, max_size) * INFLATED_BYTE


def signature(message: WireMessage) -> float:
    """What it costs to check who wrote a message; 0 if nobody signed it."""
    sender, key = message.sender_id, message.key
    if message.signature is None or sender is None:
        return 0.0
    if key is None:
        # The key is in the id: Ed25519 as nearly always, or secp256k1, which is a byte longer.
        return ED25519 if len(sender) == ED25519_ID else SECP256K1
    return signature_by(key)


def signature_by(key: bytes) -> float:
    """What it costs to check a signature by a key, given as a protobuf."""
    kind = key[1] if len(key) > 2 and key[0] == TYPE_TAG else None
    if kind == KeyType.ED25519:
        return ED25519
    if kind == KeyType.RSA:
        return RSA_BYTE * len(key)
    if kind == KeyType.SECP256K1:
        return SECP256K1
    return ECDSA if len(key) <= LONGEST_P256 else ECDSA_LARGER
