"""The descriptor of a topic: one encoding, one id, and nothing that contradicts itself."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError, RemoteProtocolError
from rumormill.libp2p.descriptor import (
    AuthMode,
    AuthOptions,
    EncryptionMode,
    EncryptionOptions,
    TopicDescriptor,
)
from rumormill.libp2p.descriptor.descriptor import LARGEST_DESCRIPTOR
from tests.helpers.core.protobuf_classes import message_classes
from tests.helpers.libp2p.private_network import descriptor, id_of, peer_of, shared

ORACLE = message_classes(
    "descriptor",
    {
        "TopicDescriptor": [
            ("name", 1, "string", False),
            ("auth", 2, "Options", False),
            ("enc", 3, "Options", False),
        ],
        "Options": [("mode", 1, "uint64", False), ("keys", 2, "bytes", True)],
    },
)  # fmt: skip
"""By Google's library; ``AuthOpts`` and ``EncOpts`` are alike on the wire."""

RUST_IDS = {
    "weather": "+ELLHh2xzBH2WK+dVpRMgfoBI5hDLK5VMoiQJE0do3Q=",
    "test": "cHYuok3EnkiKtZRX+5mafgCc+OmXDRUo4WM4eZMHdLk=",
}
"""As rust's ``Sha256Topic`` makes them: base64 of SHA-256 of a descriptor that has a name only."""

NAMES = ("ann", "bob", "cid", "dan")
KEYS, HASHES = shared(3)

descriptors = st.builds(
    lambda name, auth, who, enc, count: descriptor(
        auth,
        who if auth != "none" else (),
        enc if enc != "wot" or auth != "none" else "none",
        HASHES[:count] if enc == "shared-key" else (),
        name,
    ),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=30),
    st.sampled_from(("none", "key", "wot")),
    st.sets(st.sampled_from(NAMES), min_size=1).map(sorted),
    st.sampled_from(("none", "shared-key", "wot")),
    st.integers(1, 3),
)


@pytest.mark.parametrize("name", RUST_IDS)
def test_a_descriptor_with_a_name_only_has_the_id_that_rust_gives_it(name: str) -> None:
    raw = bytes((0x0A, len(name))) + name.encode()
    assert TopicDescriptor(name).encode() == raw
    assert base64.b64encode(hashlib.sha256(raw).digest()).decode() == RUST_IDS[name]
    assert TopicDescriptor(name).topic_id == RUST_IDS[name]
    assert not TopicDescriptor(name).guarded


@given(descriptors)
def test_what_is_encoded_decodes_to_the_same(made: TopicDescriptor) -> None:
    assert TopicDescriptor.decode(made.encode()) == made
    assert TopicDescriptor.decode_for(made.topic_id, made.encode()) == made


@given(descriptors)
def test_the_encoding_is_the_one_of_googles_library(made: TopicDescriptor) -> None:
    written = ORACLE["TopicDescriptor"](name=made.name)
    for options, mode, keys in (
        (written.auth, made.auth.mode, made.auth.keys),
        (written.enc, made.encryption.mode, made.encryption.key_hashes),
    ):
        if mode:
            options.mode = mode
            options.keys.extend(keys)
    assert written.SerializeToString() == made.encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_descriptor_or_refused(raw: bytes) -> None:
    try:
        found = TopicDescriptor.decode(raw)
    except RemoteProtocolError as error:
        assert error.reason == "bad_descriptor"
    else:
        assert found.encode() == raw


@given(descriptors, st.data())
def test_another_encoding_is_refused(made: TopicDescriptor, data: st.DataObject) -> None:
    raw = made.encode()
    spoilt = data.draw(
        st.sampled_from(
            (
                raw + raw[: 2 + raw[1]],
                raw + b"\x12\x02\x08\x00",
                raw + b"\x22\x00",
                b"\x12\x00" + raw,
            )
        )
    )
    with pytest.raises(RemoteProtocolError):
        TopicDescriptor.decode(spoilt)


def test_the_order_in_which_publishers_are_given_does_not_matter() -> None:
    assert descriptor("key", ["ann", "bob"]) == descriptor("key", ["bob", "ann", "ann"])


def test_everything_in_it_is_in_the_id() -> None:
    ids = {
        descriptor("key", ["ann"]).topic_id,
        descriptor("wot", ["ann"]).topic_id,
        descriptor("key", ["bob"]).topic_id,
        descriptor("key", ["ann"], "shared-key", HASHES[:1]).topic_id,
        descriptor("key", ["ann"], "shared-key", HASHES[1:2]).topic_id,
        descriptor("key", ["ann"], name="wind").topic_id,
    }
    assert len(ids) == 6


def test_a_descriptor_that_is_not_the_topics_is_refused() -> None:
    one, other = descriptor("key", ["ann"]), descriptor("key", ["bob"])
    with pytest.raises(RemoteProtocolError, match="it is the one of"):
        TopicDescriptor.decode_for(one.topic_id, other.encode())


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": ""}, "name"),
        ({"name": "a" * 1025}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"auth": AuthOptions(AuthMode.KEY)}, "publishers"),
        ({"auth": AuthOptions(AuthMode.NONE, (id_of("ann"),))}, "auth"),
        ({"auth": AuthOptions(AuthMode.KEY, (b"not a peer",))}, "publishers"),
        ({"auth": AuthOptions(AuthMode.KEY, (id_of("ann"),) * 2)}, "publishers"),
        ({"encryption": EncryptionOptions(EncryptionMode.SHAREDKEY)}, "keys"),
        ({"encryption": EncryptionOptions(EncryptionMode.SHAREDKEY, (b"short",))}, "keys"),
        ({"encryption": EncryptionOptions(EncryptionMode.SHAREDKEY, HASHES[:1] * 2)}, "keys"),
        ({"encryption": EncryptionOptions(EncryptionMode.NONE, HASHES)}, "enc"),
        ({"encryption": EncryptionOptions(EncryptionMode.WOT)}, "enc"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_name(
    change: dict[str, object], key: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        TopicDescriptor(**{"name": "weather", **change})  # type: ignore[arg-type]
    assert raised.value.key == key


@pytest.mark.parametrize("word", ["", "KEYS", "web of trust"])
def test_an_unknown_mode_is_refused_with_those_that_there_are(word: str) -> None:
    with pytest.raises(ConfigError, match="none, key, wot"):
        TopicDescriptor.make("weather", auth=word)
    with pytest.raises(ConfigError, match="none, shared-key, wot"):
        TopicDescriptor.make("weather", encryption=word)


def test_a_mode_of_the_future_is_refused() -> None:
    raw = b"\x0a\x01w\x12\x02\x08\x07"
    with pytest.raises(RemoteProtocolError, match="mode 7"):
        TopicDescriptor.decode(raw)


def test_a_descriptor_has_a_largest_size() -> None:
    with pytest.raises(RemoteProtocolError, match="allowed"):
        TopicDescriptor.decode(bytes(LARGEST_DESCRIPTOR + 1))


def test_publishers_are_shown_as_text() -> None:
    assert descriptor("key", ["ann"]).publishers == (peer_of("ann"),)
