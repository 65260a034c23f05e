from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from rumormill.cli import main

NOWHERE = "/ip4/127.0.0.1/tcp/1"
TEXT = ("--data", "x")

WRONG = [
    (["shout"], "No such command"),
    (["sub"], "Give TOPIC or --topic-file FILE"),
    (["sub", ""], "not empty"),
    (["sub", "x" * 2000], "at most 1024"),
    (["sub", "weather", "--loud"], "No such option: --loud"),
    (
        ["sub", "weather", "--network", "usenet"],
        "must be one of .*, not 'usenet'",
    ),
    (["sub", "weather", "--listen", "here"], "--listen .*'here'"),
    (["sub", "weather", "--peer", "/ip4/1.2.3.4/udp/1"], "--peer .*udp"),
    (["sub", "weather", "--count", "0"], "--count"),
    (["sub", "weather", "--count", "many"], "--count"),
    (["sub", "weather", "--set", "D"], "key=value"),
    (["sub", "weather", "--set", "D=many"], "D: .*many"),
    (["sub", "weather", "--set", "DD=8"], "DD: there is no such key"),
    (["sub", "weather", "--set", "D=3", "--set", "D_low=5"], "D_low: must not be above D"),
    (["pub", "weather"], "whom to publish to"),
    (["pub", "weather", "--peer", NOWHERE, "--data", "x", "--file", "y"], "not both"),
    (["pub", "weather", "--peer", NOWHERE, "--ready", "-1", *TEXT], "--ready"),
    (["node", "--config", "node.toml", "--topic", "weather"], "--config says it all"),
    (["node", "--config", "node.toml", "--relay", "weather"], "--config says it all"),
    (["keygen"], "Missing option '--out'"),
    (["keygen", "--out", "k", "--nodes", "2"], "--nodes is not for gossipsub: its key is one"),
    (["keygen", "--out", "k", "--network", "bcos", "--nodes", "-1"], "--nodes"),
    (["keygen", "--out", "k", "--network", "bcos", "--force"], "--force is not for bcos: what is"),
    (["sub", "weather", "--certificates", "here"], "--certificates is not for gossipsub"),
    (["pub", "weather", "--peer", NOWHERE, "--certificates", "here"], "is not for gossipsub"),
    (["node", "--network", "floodsub", "--certificates", "here"], "is not for floodsub"),
    (["node", "--config", "node.toml", "--certificates", "here"], "--config says it all"),
    (
        ["node", "--network", "bcos", "--certificates", "a", "--set", "certificates=b"],
        "--certificates or --set",
    ),
    (["id"], "Missing argument"),
    (["id", "/ip4/nowhere"], "'/ip4/nowhere'"),
    (["demo", "--nodes", "1"], "--nodes"),
    (["demo", "--messages", "20", "--seconds", "2"], "not both"),
]


@pytest.mark.parametrize(("arguments", "problem"), WRONG, ids=lambda value: str(value)[:50])
def test_a_wrong_command_is_one_sentence_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    code = main(arguments)
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    (sentence,) = captured.err.splitlines()
    assert sentence.startswith("rumormill: ")
    assert re.search(problem, sentence)


@pytest.mark.parametrize(
    "arguments",
    [
        ["sub", "weather", "--trace", "/no/such/folder/trace"],
        ["node", "--config", "/no/such/file.toml"],
        ["pub", "weather", "--peer", NOWHERE, "--file", "/no/such/file"],
    ],
)
def test_a_file_that_is_not_there_is_one_sentence_and_exit_1(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code = main(arguments)
    captured = capsys.readouterr()
    assert (code, captured.out) == (1, "")
    (sentence,) = captured.err.splitlines()
    assert "/no/such/" in sentence
    assert sentence.endswith("no such file or directory.")


def test_an_error_that_nobody_foresaw_is_a_sentence_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("rumormill.cli.keys.run_id", fail)
    assert main(["id", "node.key"]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "this should not have happened: ZeroDivisionError('oh')" in sentence
    monkeypatch.setenv("RUMORMILL_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["id", "node.key"])


def test_the_version_is_the_one_that_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rumormill {version('rumormill')}\n"


def test_without_a_command_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    text = capsys.readouterr().out
    for command in ("sub", "pub", "node", "keygen", "id", "attack", "demo"):
        assert f"\n  {command} " in text


@pytest.mark.parametrize("command", ["sub", "pub", "node", "keygen", "id", "attack", "demo"])
def test_every_command_has_help_with_an_example(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([command, "--help"]) == 0
    assert f"Example: rumormill {command}" in capsys.readouterr().out
