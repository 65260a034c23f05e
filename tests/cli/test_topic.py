"""``rumormill topic``: files of topics, and what ``sub`` and ``pub`` do with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rumormill.cli import main
from rumormill.cli.networks.config import load_config
from rumormill.cli.words.sentences import UsageError
from tests.cli.networks.test_sub_pub import Start


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command says in JSON."""
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def make_keys(capsys: pytest.CaptureFixture[str], *names: str) -> list[str]:
    return [told(capsys, "keygen", "--out", f"{name}.key")["id"] for name in names]


def test_a_topic_is_made_shown_and_never_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    (ann,) = make_keys(capsys, "ann")
    create = ("topic", "create", "weather", "--auth", "key", "--publisher", "ann.key",
              "--enc", "shared-key", "--keys", "3", "--out", "weather.topic")  # fmt: skip
    made = told(capsys, *create)
    assert (made["event"], made["auth"], made["enc"]) == ("topic", "key", "shared-key")
    assert made["publishers"] == ann and made["keys"] == "1 of 3 in use here"
    shown = told(capsys, "topic", "show", "weather.topic")
    assert shown == made
    code, out, err = run(capsys, *create)
    assert code == 1 and "weather.topic exists" in err and len(err.splitlines()) == 1
    code, out, _ = run(capsys, "topic", "show", "weather.topic")
    assert code == 0 and made["id"] in out and ann in out
    secret = json.loads(Path("weather.keys").read_text())["keys"][0]
    assert secret not in out


def test_keys_are_rotated_until_the_reserve_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "topic", "create", "weather", "--enc", "shared-key", "--out", "weather.topic")
    rotated = told(capsys, "topic", "rotate", "--topic-file", "weather.topic")
    assert (rotated["keys"], rotated["reserve"]) == ("2 of 2 in use here", 0)
    code, _, err = run(capsys, "topic", "rotate", "--topic-file", "weather.topic")
    assert code == 2 and "make a new topic" in err


def test_a_rotation_that_was_cut_short_does_not_pass_for_the_next_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told(capsys, "topic", "create", "weather", "--enc", "shared-key", "--keys", "3",
         "--out", "weather.topic")  # fmt: skip
    before = Path("weather.reserve").read_bytes()
    first = told(capsys, "topic", "rotate", "--topic-file", "weather.topic")
    Path("weather.reserve").write_bytes(before)  # as if killed between the two files
    second = told(capsys, "topic", "rotate", "--topic-file", "weather.topic")
    assert [each["keys"] for each in (first, second)] == [f"{n} of 3 in use here" for n in (2, 3)]
    assert second["reserve"] == 0
    assert len(set(json.loads(Path("weather.keys").read_text())["keys"])) == 3


@pytest.mark.parametrize("kind", [("--enc", "wot"), ("--enc", "none")])
def test_a_topic_without_shared_keys_has_none_to_rotate(
    capsys: pytest.CaptureFixture[str], kind: tuple[str, str]
) -> None:
    (ann,) = make_keys(capsys, "ann")
    told(capsys, "topic", "create", "club", "--auth", "wot", "--publisher", ann, *kind,
         "--out", "c.topic")  # fmt: skip
    code, _, err = run(capsys, "topic", "rotate", "--topic-file", "c.topic")
    assert code == 2 and "'club' has no shared keys" in err and len(err.splitlines()) == 1
    assert not list(Path().glob("c.[!t]*"))


def test_trust_is_given_and_taken_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    ann, bob, _ = make_keys(capsys, "ann", "bob", "cid")
    told(capsys, "topic", "create", "club", "--auth", "wot", "--publisher", ann, "--out", "c.topic")
    where = ("--topic-file", "c.topic", "--key-file")
    said = told(capsys, "topic", "trust", "add", bob, *where, "ann.key", "--until", "30d")
    assert (said["issuer"], said["peer"], said["file"]) == (ann, bob, "c.trust")
    assert told(capsys, "topic", "show", "c.topic")["trusted"] == f"{ann}, {bob}"
    told(capsys, "topic", "trust", "add", "cid.key", *where, "bob.key")
    told(capsys, "topic", "trust", "REVOKE", bob, *where, "ann.key")
    shown = told(capsys, "topic", "show", "c.topic")
    assert (shown["trusted"], shown["banned"]) == (ann, bob)
    code, out, _ = run(capsys, "topic", "trust", "add", bob, *where, "ann.key")
    assert code == 0 and "UTC" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("create w --out w.topic --auth key", "publishers"),
        ("create w --out w.topic --auth all", "auth: must be one of none, key, wot"),
        ("create w --out w.topic --enc rot13", "enc: must be one of none, shared-key, wot"),
        ("create w --out w.topic --enc wot", "enc"),
        ("create w --out w.topic --auth key --publisher nobody", "nor is it a key file"),
        ("create w --out w.topic --enc shared-key --keys 99", "keys: must be 1 to 64"),
        ("create w --out w.topic --network ndn", "topics of ndn have no files"),
        ("show none.topic", "there is no file none.topic"),
        ("trust add x --topic-file none.topic --key-file k --until soon", "--until takes"),
        ("trust add x --topic-file none.topic --key-file k", "there is no file none.topic"),
    ],
)
def test_what_cannot_be_is_told_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    code, out, err = run(capsys, "topic", *arguments.split())
    assert code != 0 and out == "" and words in err and len(err.splitlines()) == 1


def test_who_is_not_trusted_cannot_trust_and_a_topic_may_have_no_web(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ann, bob = make_keys(capsys, "ann", "bob")
    told(capsys, "topic", "create", "club", "--auth", "wot", "--publisher", ann, "--out", "c.topic")
    told(capsys, "topic", "create", "list", "--auth", "key", "--publisher", ann, "--out", "l.topic")
    for file, key, words in (
        ("c.topic", "bob.key", "counts for nothing"),
        ("l.topic", "ann.key", "no web of trust"),
    ):
        peer = ann if key == "bob.key" else bob
        given = ("--topic-file", file, "--key-file", key)
        code, _, err = run(capsys, "topic", "trust", "add", peer, *given)
        assert code == 2 and words in err


@pytest.mark.parametrize("command", ["sub", "pub"])
def test_a_command_takes_a_topic_or_its_file(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for words in ((command,), (command, "weather", "--topic-file", "weather.topic")):
        code, _, err = run(capsys, *words)
        assert code == 2 and "one of the two" in err


def test_pub_and_sub_share_a_private_topic_that_a_node_in_the_middle_relays(
    capsys: pytest.CaptureFixture[str], start: Start
) -> None:
    make_keys(capsys, "ann", "mallory")
    told(capsys, "topic", "create", "weather", "--auth", "key", "--publisher", "ann.key",
         "--enc", "shared-key", "--out", "weather.topic")  # fmt: skip
    Path("relay").mkdir()
    Path("relay/weather.topic").write_text(Path("weather.topic").read_text())  # without its keys
    relay = start("node", "--relay-file", "relay/weather.topic", "--json")
    address = relay.event("ready")["addresses"][0]
    file = ("--topic-file", "weather.topic")
    sub = start("sub", *file, "--peer", address, "--json", "--count", "1")
    sub.event("ready")
    bad = start("pub", *file, "--key-file", "mallory.key", "--peer", address, "--data", "snow")
    assert bad.end() == 1 and "may not publish on 'weather'" in bad.sentence
    pub = start(
        "pub", *file, "--key-file", "ann.key", "--peer", address, "--data", "rain", "--json"
    )
    sender = pub.event("ready")["id"]
    message = sub.event("message")
    assert (message["data"], message["sender"]) == ("rain", sender)
    assert (pub.end(), sub.end()) == (0, 0)


def test_a_configuration_file_names_files_of_topics(capsys: pytest.CaptureFixture[str]) -> None:
    make_keys(capsys, "ann")
    ids = {}
    for name in ("club", "open"):
        made = told(capsys, "topic", "create", name, "--auth", "key", "--publisher", "ann.key",
                    "--out", f"{name}.topic")  # fmt: skip
        ids[name] = made["id"]
    text = '[[network]]\nname = "gossipsub"\n%s = ["%s"]\nrelay_files = ["open.topic"]\n'
    Path("node.toml").write_text(text % ("topic_files", "club.topic"))
    (plan,) = load_config(Path("node.toml")).networks
    assert (plan.topics, plan.relays) == ((ids["club"],), (ids["open"],))
    assert plan.handle(ids["club"]).descriptor.name == "club" and plan.handle("text") == "text"
    Path("node.toml").write_text(text % ("topic_files", "none.topic"))
    with pytest.raises(UsageError, match=r"node.toml: topic_file: there is no file"):
        load_config(Path("node.toml"))
