"""Topics as text, and the magnet links of BEP 46."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.bep50.wire.topics import TopicName, parse_topic
from rumormill.core.errors import LocalProtocolError

# BEP 46, tests 1 and 2.
KEY = "8543d3e6115f0f98c944077a4493dcd543e49c739fd998550a1f614ab36ed63e"
LINK = f"magnet:?xs=urn:btpk:{KEY}"
TARGET = "cc3f9d90b572172053626f9980ce261a850d050b"
SALTED_TARGET = "59ee7c2cb9b4f7eb1986ee2d18fd2fdb8a56554f"

KEYS = st.binary(min_size=32, max_size=32)
SALTS = st.binary(max_size=64) | st.text(max_size=16).map(lambda text: text.encode()[:64])


@pytest.mark.parametrize(
    ("text", "target"),
    [(LINK, TARGET), (LINK + "&s=6e", SALTED_TARGET), (KEY, TARGET), (KEY + ":n", SALTED_TARGET)],
)
def test_the_vectors_of_bep_46(text: str, target: str) -> None:
    assert parse_topic(text).target.hex() == target


@given(KEYS, SALTS)
@example(bytes(32), b"")
@example(bytes(32), b"100% \xc3\xa9:\xff\x00\x7f\xe2\x80\xa8")
def test_every_topic_has_one_text_that_reads_back(key: bytes, salt: bytes) -> None:
    name = TopicName(key, salt)
    text = name.text
    assert parse_topic(text) == name
    assert parse_topic(text).text == text
    assert text.isprintable()


@given(SALTS, SALTS)
def test_two_salts_never_have_the_same_text(one: bytes, other: bytes) -> None:
    texts = {TopicName(bytes(32), salt).text for salt in (one, other)}
    assert len(texts) == len({one, other})


@pytest.mark.parametrize(
    ("salt", "text"),
    [
        (b"weather", "weather"),
        ("Wetter für alle".encode(), "Wetter für alle"),
        (b"a:b", "a:b"),
        (b"50%", "50%25"),
        (b"\x00\xff", "%00%ff"),
        (b"line\n", "line%0a"),
        (b"\xc3", "%c3"),
        ("\u2028".encode(), "%e2%80%a8"),
    ],
)
def test_what_can_be_read_is_left_as_it_is(salt: bytes, text: str) -> None:
    assert TopicName(bytes.fromhex(KEY), salt).text == f"{KEY}:{text}"


def test_without_a_salt_the_text_is_the_key() -> None:
    assert TopicName(bytes.fromhex(KEY)).text == KEY


@pytest.mark.parametrize(
    "text",
    [
        KEY.upper() + ":n",
        KEY + ":%6e",
        KEY + ":%6E",
        LINK + "&s=6E",
        LINK.upper().replace("MAGNET:?XS=URN:BTPK:", "magnet:?xs=urn:btpk:") + "&s=6e",
        f"magnet:?dn=a+name&s=6e&xs=urn:btpk:{KEY}&xt=urn:btih:{'0' * 40}",
        f"magnet:?xs=http%3A%2F%2Fexample.org&xs=urn%3Abtpk%3A{KEY}&s=6e",
    ],
)
def test_other_spellings_are_the_same_topic(text: str) -> None:
    assert parse_topic(text) == TopicName(bytes.fromhex(KEY), b"n")
    assert parse_topic(text).text == KEY + ":n"


def test_an_empty_salt_is_none() -> None:
    assert parse_topic(KEY + ":") == parse_topic(LINK + "&s=") == parse_topic(KEY)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it must begin with a public key, 64 hexadecimal digits"),
        ("weather", "it must begin with a public key"),
        (KEY[1:], "it must begin with a public key"),
        (KEY + "0", "it must begin with a public key"),
        ("g" + KEY[1:], "it must begin with a public key"),
        (KEY + " :n", "it must begin with a public key"),
        ("\uff18" + KEY[1:], "it must begin with a public key"),
        (KEY + ":%", "two hexadecimal digits must follow each %"),
        (KEY + ":50%!", "two hexadecimal digits must follow each %"),
        (KEY + ":" + "s" * 65, "the salt has 65 bytes, 64 are allowed"),
        (KEY + ":" + "é" * 33, "the salt has 66 bytes, 64 are allowed"),
        (KEY + ":\ud800", "surrogates not allowed"),
        (LINK + "&s=6", "the salt '6' in the link is not hexadecimal"),
        (LINK + "&s=zz", "the salt 'zz' in the link is not hexadecimal"),
        (LINK + "&s=" + "00" * 65, "the salt has 65 bytes, 64 are allowed"),
        (LINK[:-1], "it must begin with a public key"),
        ("magnet:?xt=urn:btih:" + "0" * 40, "the link has no xs=urn:btpk:PUBLICKEY"),
        ("x" * 2000, "it has 2000 characters, 1024 are allowed"),
    ],
)
def test_a_wrong_topic_is_refused_in_a_sentence_that_shows_it(text: str, problem: str) -> None:
    with pytest.raises(LocalProtocolError) as refusal:
        parse_topic(text)
    sentence = str(refusal.value)
    assert sentence.startswith("cannot use the topic '") and problem in sentence
    assert len(sentence) < 500


@given(st.text(max_size=100) | st.text(max_size=80).map(lambda text: f"{KEY}:{text}"))
def test_any_text_is_a_topic_or_is_refused(text: str) -> None:
    try:
        name = parse_topic(text)
    except LocalProtocolError:
        return
    assert parse_topic(name.text) == name
