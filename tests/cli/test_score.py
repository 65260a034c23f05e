"""``rumormill score explain``: parameters for a topic, with reasons."""

from __future__ import annotations

import json
import tomllib

import pytest

from rumormill import ScoreParameters, TopicScoreParameters
from rumormill.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_what_is_printed_can_be_pasted_into_node_toml(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "score", "explain", "--rate", "5", "--topic", "weather")
    assert code == 0
    assert "# rate: 5 messages a second" in out
    read = ScoreParameters(**tomllib.loads(out)["network"]["score"])
    assert read.topics == {"weather": TopicScoreParameters.for_rate(5).parameters}


def test_programs_get_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "score", "explain", "--rate", "50", "--steady", "--json")
    (line,) = out.splitlines()
    told = json.loads(line)
    assert code == 0
    assert told["event"] == "advice"
    expected = TopicScoreParameters.for_rate(50, steady=True)
    assert TopicScoreParameters(**told["parameters"]) == expected.parameters
    assert told["explanation"] == list(expected.explanation)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rate", "0"), "messages_per_second"),
        (("--rate", "nan"), "messages_per_second"),
        (("--rate", "1", "--mesh-size", "0"), "mesh_size"),
        (("--rate", "1", "--network", "floodsub"), "floodsub keeps no scores"),
    ],
)
def test_what_cannot_be_is_told_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = run(capsys, "score", "explain", *arguments)
    assert code != 0
    assert out == ""
    assert words in err
    assert len(err.strip().splitlines()) == 1
