"""The key ``score``, as it is written in Python, on a command line and in ``node.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rumormill.cli.networks.config import load_config
from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import ConfigError
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE, ScoreParameters, TopicScoreParameters
from rumormill.libp2p.live.network import Libp2pNetwork
from rumormill.live.configuration.settings import known_keys, read_settings


def of(network: str, values: Mapping[str, Any]) -> Any:
    """All settings, of whatever type the family has."""
    return read_settings(network, values)


def read(**given: Any) -> Any:
    return of("gossipsub", given).score


def test_peers_are_scored_unless_the_user_says_no() -> None:
    assert read() is DEFAULT_SCORE
    for yes in (True, "on", "true", "yes"):
        assert read(score=yes) is DEFAULT_SCORE
    for no in (False, None, "off", "False", "no"):
        assert read(score=no) is None


def test_parameters_are_given_as_they_are_as_a_table_or_as_json() -> None:
    chosen = ScoreParameters(topic_score_cap=5, topics={"weather": TopicScoreParameters(weight=3)})
    assert read(score=chosen) is chosen
    table = {"topic_score_cap": 5, "topics": {"weather": {"weight": 3}}}
    assert read(score=table) == chosen
    assert read(score='{"topic_score_cap": 5, "topics": {"weather": {"weight": 3}}}') == chosen


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (7, "score"), ([], "score"), ("perhaps", "score"), ("{topics}", "score"), ("[1]", "score"),
        ({"topcis": {}}, "score.topcis"),
        ({"topics": {"w": {"weight": -1}}}, "score.topics.w.weight"),
        ({"thresholds": {"gossip": 3}}, "score.thresholds.gossip"),
    ],
)  # fmt: skip
def test_a_wrong_one_is_told_in_one_sentence_with_the_whole_key(value: Any, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(score=value)
    assert caught.value.key == key
    assert "\n" not in str(caught.value)


def test_floodsub_keeps_no_score() -> None:
    assert "score" in known_keys("gossipsub")
    assert "score" not in known_keys("floodsub")


NODE = """
[[network]]
name = "gossipsub"
listen = "/ip4/127.0.0.1/tcp/0"

[network.score]
topic_score_cap = 50

[network.score.thresholds]
graylist = -200

[network.score.topics.weather]
weight = 2
first_deliveries = false

[network.score.topics.weather.invalid_messages]
weight = -5
decay = 0.9
"""


def test_a_node_reads_its_score_from_tables(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text(NODE)
    (plan,) = load_config(file).networks
    score = of(plan.name, plan.settings).score
    assert score.topic_score_cap == 50
    assert score.thresholds.graylist == -200
    assert score.topics["weather"].invalid_messages.weight == -5
    assert score.topics["weather"].first_deliveries is None


def test_what_the_advice_writes_a_node_reads(tmp_path: Path) -> None:
    advice = TopicScoreParameters.for_rate(50, steady=True)
    file = tmp_path / "node.toml"
    head = NODE.split("[network.score]")[0]
    file.write_text(head + advice.to_toml('the "weather" of today'))
    (plan,) = load_config(file).networks
    score = of(plan.name, plan.settings).score
    assert score.topics == {'the "weather" of today': advice.parameters}


def test_the_score_of_a_network_is_asked_for_and_told_what_the_application_thinks() -> None:
    network = Libp2pNetwork("gossipsub", of("gossipsub", {}))
    assert network.scores() == {}
    network.set_topic_score("weather", TopicScoreParameters(weight=2))
    with pytest.raises(Exception, match="not connected"):
        network.feedback("stranger", 1)
    off: dict[str, Any] = {"score": False}
    for name, settings in (("floodsub", {}), ("gossipsub", off)):
        silent = Libp2pNetwork(name, of(name, settings))
        with pytest.raises(Exception, match="keeps no scores"):
            silent.scores()


def test_a_file_that_is_wrong_names_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text(NODE.replace("[[network]]", "[network]"))
    with pytest.raises(UsageError, match="two brackets"):
        load_config(file)
