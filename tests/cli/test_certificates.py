"""Certificates on the command line: ``--certificates``, and folders of keys from ``keygen``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.cli import main
from rumormill.cli.keys import show, wanted_keys
from rumormill.cli.networks.plan import NetworkPlan
from rumormill.cli.words.sentences import UsageError
from rumormill.live.family import Family, KeyOption
from tests.helpers.bcos.chains import node_folder, openssl, verify

PEER = ("--peer", "127.0.0.1:20200")


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(each) for each in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain of one node and one SDK."""
    folder = tmp_path_factory.mktemp("made") / "chain"
    assert main(["keygen", "--network", "bcos", "--out", str(folder), "--topic-keys", "1"]) == 0
    return folder


# ---- keygen


def test_keygen_makes_a_chain_and_says_which_folder_is_whose(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "chain"
    chain = ("keygen", "--network", "bcos", "--out", folder)
    code, out, _ = run(capsys, *chain, "--nodes", "2", "--sdks", "2", "--json")
    keys = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(key["kind"], key["folder"]) for key in keys] == [
        ("node", str(folder / "nodes/0")),
        ("node", str(folder / "nodes/1")),
        ("sdk", str(folder / "sdks/0")),
        ("sdk", str(folder / "sdks/1")),
    ]
    assert all(key["event"] == "key" and key["new"] and len(key["id"]) == 128 for key in keys)
    leaf = folder / "nodes/1/node.crt"
    assert f"{leaf}: OK" in verify(leaf, folder / "ca.crt")
    point = openssl("x509", "-in", leaf, "-noout", "-text").replace(":", "").replace(" ", "")
    assert keys[1]["id"] in "".join(point.split())

    code, out, _ = run(capsys, *chain, "--nodes", "3")
    assert code == 0
    title, *rows = out.splitlines()
    assert title.split() == ["key", "folder", "id"]
    words = [row.split() for row in rows]
    assert [word[3] for word in words[:2]] == [key["id"] for key in keys[:2]]
    assert [word[2] for word in words] == ["kept", "kept", "new", "kept", "kept"]


def test_the_key_of_other_networks_is_one_file_as_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "keygen", "--out", tmp_path / "node.key", "--json")
    assert code == 0
    assert json.loads(out)["file"] == str(tmp_path / "node.key")


class Pigeons(Family):
    name = "pigeons"
    networks = ("pigeon",)
    key_options = (KeyOption("homing_pigeons", "pigeons that come back", 3),)

    def make(self, network: str, settings: Any) -> rumormill.Network:
        raise NotImplementedError


def test_options_of_another_family_are_told_with_those_that_there_are() -> None:
    assert wanted_keys(Pigeons(), "pigeon", {"homing_pigeons": None, "nodes": None}) == {
        "homing_pigeons": 3
    }
    assert wanted_keys(Pigeons(), "pigeon", {"homing_pigeons": 0}) == {"homing_pigeons": 0}
    with pytest.raises(UsageError, match="--nodes is not for pigeon: it has only --homing-pigeons"):
        wanted_keys(Pigeons(), "pigeon", {"nodes": 2})


# ---- id


def test_id_tells_who_a_certificate_a_folder_and_a_key_are(
    capsys: pytest.CaptureFixture[str], made: Path
) -> None:
    node = made / "nodes/0"
    _, out, _ = run(capsys, "keygen", "--network", "bcos", "--out", made, "--json")
    ids = {key["kind"]: key["id"] for key in map(json.loads, out.splitlines())}
    for what in (node / "node.crt", node, node / "node.key"):
        code, out, _ = run(capsys, "id", what, "--json")
        assert (code, json.loads(out)["id"]) == (0, ids["node"])
    for name in ("private.pem", "public.pem"):
        code, out, _ = run(capsys, "id", made / "topic_keys/0" / name)
        assert code == 0
        assert ids["topic_key"] in out
    _, out, _ = run(capsys, "id", node)
    assert dict(line.split(maxsplit=1) for line in out.splitlines())["name"] == "node0"


def test_id_of_a_folder_tells_what_is_wrong_with_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = node_folder(tmp_path / "node", lambda made: (made / "ca.crt").unlink())
    code, out, err = run(capsys, "id", folder)
    assert (code, out) == (2, "")
    assert err.endswith("ca.crt is missing.\n")


def test_a_long_name_does_not_touch_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    show("key", {"id": "x", "a_very_long_name": "y"}, as_json=False)
    assert "a very long name y\n" in capsys.readouterr().out


# ---- sub, pub, node


def planned(monkeypatch: pytest.MonkeyPatch, command: str, *arguments: str | Path) -> NetworkPlan:
    """What a command would open."""
    plans: list[Any] = []

    def note(plan: Any, *rest: object) -> int:
        plans.append(plan)
        return 0

    monkeypatch.setattr(f"rumormill.cli.networks.{command}.run_{command}", note)
    words = [command, *([] if command == "node" else ["weather"]), "--network", "bcos"]
    assert main([*words, *map(str, arguments)]) == 0
    (plan,) = plans
    found = plan.networks[0] if command == "node" else plan
    assert isinstance(found, NetworkPlan)
    return found


@pytest.mark.parametrize("command", ["sub", "pub", "node"])
def test_certificates_are_handed_to_the_network(
    monkeypatch: pytest.MonkeyPatch, made: Path, command: str
) -> None:
    folder = made / "nodes/0"
    plan = planned(monkeypatch, command, "--certificates", folder, *PEER)
    assert plan.settings["certificates"] == folder
    assert plan.listen == (() if command == "pub" else ("127.0.0.1:0",))


@pytest.mark.parametrize("command", ["sub", "pub", "node"])
@pytest.mark.parametrize("option", ["--certificates={}", "--set=certificates={}"])
def test_who_only_calls_does_not_listen(
    monkeypatch: pytest.MonkeyPatch, made: Path, command: str, option: str
) -> None:
    plan = planned(monkeypatch, command, option.format(made / "sdks/0"), *PEER)
    assert plan.listen == ()
