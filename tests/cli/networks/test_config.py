from __future__ import annotations

from pathlib import Path

import pytest

from rumormill.cli.networks.config import load_config, read_config
from rumormill.cli.words.sentences import UsageError

FULL = """
[[network]]
name = "gossipsub"
listen = "/ip4/127.0.0.1/tcp/4001"
bootstrap = ["/ip4/127.0.0.1/tcp/4002"]
key_file = "node.key"
topics = ["weather", "news"]
relays = ["sport"]
D = 8
heartbeat_interval = 0.7

[[network]]
name = "floodsub"
"""


def test_a_table_becomes_a_plan_and_other_keys_are_settings(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(FULL)
    first, second = load_config(path).networks
    assert first.name == "gossipsub"
    assert first.listen == ("/ip4/127.0.0.1/tcp/4001",)
    assert first.bootstrap == ("/ip4/127.0.0.1/tcp/4002",)
    assert first.key_file == tmp_path / "node.key"
    assert first.topics == ("weather", "news")
    assert first.relays == ("sport",)
    assert first.settings == {"D": 8, "heartbeat_interval": 0.7}
    assert (second.name, second.listen, second.topics) == (
        "floodsub",
        ("/ip4/127.0.0.1/tcp/0",),
        (),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("network = [", "no TOML"),
        ("network = " + 5000 * "[", "nested too deep"),
        ("", r"no \[\[network\]\] table"),
        ("[network]\nname = 'gossipsub'", "two brackets"),
        ("[[networks]]", "networks: there is no such key"),
        (
            "[[network]]",
            "name: must be one of gossipsub, floodsub, randomsub, bep50, bcos, ndn, not None",
        ),
        ("[[network]]\nname = 'gossip'", "name: must be one of"),
        ("[[network]]\nname = 'floodsub'\nlisten = 4001", "listen: must be a list of texts"),
        ("[[network]]\nname = 'floodsub'\nlisten = 'here'", "listen .*here"),
        ("[[network]]\nname = 'floodsub'\nbootstrap = ['there']", "bootstrap .*there"),
        ("[[network]]\nname = 'floodsub'\ntopics = ['']", "not empty"),
        ("[[network]]\nname = 'floodsub'\nrelays = 7", "relays: must be a list of texts"),
        ("[[network]]\nname = 'floodsub'\nrelays = ['']", "not empty"),
        ("[[network]]\nname = 'floodsub'\nkey_file = 1", "key_file: must be the path"),
    ],
)
def test_a_wrong_file_is_told_in_a_sentence_with_its_name_and_key(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "node.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"node.toml.*{problem}"):
        load_config(path)


def test_an_absolute_key_file_stays_where_it_is() -> None:
    (plan,) = read_config({"network": [{"name": "floodsub", "key_file": "/a.key"}]}, Path("/etc"))
    assert plan.key_file == Path("/a.key")


NETWORK = "[[network]]\nname = 'floodsub'\n"


def test_http_is_a_table_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(NETWORK)
    assert load_config(path).http is None
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text("a-long-random-token\n")
    path.write_text(NETWORK + "[http]\nlisten = '0.0.0.0:7700'\ntoken_file = 'token'\n")
    http = load_config(path).http
    assert http is not None
    assert (http.host, http.port, http.token) == ("0.0.0.0", 7700, "a-long-random-token")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("http = 7700", "http: write \\[http\\]"),
        ("[http]", "http.listen: is missing"),
        ("[http]\nport = 7700", "http.port: there is no such key"),
        ("[http]\nlisten = 7700", "http.listen: must be a text"),
        ("[http]\nlisten = '7700'", "http: must be HOST:PORT"),
        ("[http]\nlisten = '0.0.0.0:7700'", "give a token"),
    ],
)
def test_a_wrong_http_table_is_told_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "node.toml"
    # A key of the top comes before the tables.
    path.write_text(text + "\n" + NETWORK if text.startswith("http =") else NETWORK + text)
    with pytest.raises(UsageError, match=f"node.toml.*{problem}"):
        load_config(path)


def test_certificates_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text("[[network]]\nname = 'bcos'\ncertificates = 'nodes/0'\n")
    (plan,) = load_config(path).networks
    assert plan.settings == {"certificates": tmp_path / "nodes/0"}
    assert plan.listen == ("127.0.0.1:0",)


def test_each_file_of_a_list_is_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text("[[network]]\nname = 'bcos'\npublic_keys = ['a.pem', '/b.pem']\n")
    (plan,) = load_config(path).networks
    assert plan.settings == {"public_keys": [tmp_path / "a.pem", Path("/b.pem")]}


def test_one_who_only_calls_must_have_somebody_to_call(tmp_path: Path) -> None:
    (tmp_path / "sdk.crt").touch()
    path = tmp_path / "node.toml"
    path.write_text("[[network]]\nname = 'bcos'\ncertificates = '.'\n")
    with pytest.raises(UsageError, match=r"nobody can be reached: .* give bootstrap"):
        load_config(path)


def test_one_who_only_calls_listens_nowhere_unless_told(tmp_path: Path) -> None:
    (tmp_path / "sdk.crt").touch()
    path = tmp_path / "node.toml"
    path.write_text(
        "[[network]]\nname = 'bcos'\ncertificates = '.'\nbootstrap = '127.0.0.1:20200'\n"
    )
    assert load_config(path).networks[0].listen == ()
    path.write_text(path.read_text() + "listen = '127.0.0.1:30300'\n")
    assert load_config(path).networks[0].listen == ("127.0.0.1:30300",)
