from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.live.configuration.settings import known_keys, read_settings


def read(**given: Any) -> Any:
    return read_settings("gossipsub", given)


def test_each_key_reaches_its_part() -> None:
    settings = read(
        D=8, signing="StrictNoSign", max_connections=16, handshake_timeout=3, close_timeout=1
    )
    assert settings.router.D == 8
    assert settings.pubsub.signing == "StrictNoSign"
    assert settings.host.max_connections == 16
    assert settings.host.connection.handshake_timeout == 3
    assert settings.live.close_timeout == 1


def test_text_is_turned_into_what_the_key_wants() -> None:
    settings = read(
        D="8",
        heartbeat_interval="0.7",
        multi_topic="true",
        allowed_topics="weather, sport",
        allowed_topic_pattern="none",
        topic_rules='{"sport": {"signing": "StrictNoSign"}}',
        handshake_timeout="2.5",
        key_file="node.key",
        listen="/ip4/127.0.0.1/tcp/0",
        bootstrap='["/ip4/127.0.0.1/tcp/1", "/ip6/::1/tcp/2"]',
    )
    assert settings.router.D == 8
    assert settings.router.heartbeat_interval == 0.7
    assert settings.pubsub.multi_topic is True
    assert settings.pubsub.allowed_topics == ("weather", "sport")
    assert settings.pubsub.allowed_topic_pattern is None
    assert settings.pubsub.topic_rules["sport"].signing == "StrictNoSign"
    assert settings.host.connection.handshake_timeout == 2.5
    assert settings.live.key_file == Path("node.key")
    assert settings.live.listen == ("/ip4/127.0.0.1/tcp/0",)
    assert settings.live.bootstrap == ("/ip4/127.0.0.1/tcp/1", "/ip6/::1/tcp/2")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("D", "many"),
        ("D", 2),  # below D_low
        ("max_connections", -1),
        ("handshake_timeout", "soon"),
        ("handshake_timeout", 0),
        ("listen", "127.0.0.1:4001"),
        ("bootstrap", ["/ip4/127.0.0.1"]),
        ("topic_rules", "{sport}"),
        ("signing", "Perhaps"),
        ("close_timeout", 0),
        ("close_timeout", "inf"),
    ],
)
def test_a_wrong_value_names_its_key(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**{key: value})
    assert caught.value.key in (key, "D_low")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("D_hi", "D_high"), ("heartbeat", "heartbeat_delay"), ("max_conections", "max_connections")],
)
def test_an_unknown_key_names_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**{wrong: 1})
    assert str(caught.value) == f"{wrong}: there is no such key (did you mean {right}?)"


def test_floodsub_has_no_mesh_to_set() -> None:
    with pytest.raises(ConfigError, match="D: there is no such key"):
        read_settings("floodsub", {"D": 6})


def test_an_unknown_network_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings("gossip", {})
    assert (
        str(caught.value)
        == "network: must be one of gossipsub, floodsub, randomsub, bep50, bcos, ndn, not 'gossip'"
    )


def test_every_default_is_a_value_that_can_be_given() -> None:
    keys = known_keys("gossipsub")
    defaults = {name: key.default for name, key in keys.items()}
    assert read(**defaults) == read()
    assert "connection" not in keys


def test_no_key_means_two_different_things() -> None:
    from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
    from rumormill.libp2p.host.parameters import HostParameters
    from rumormill.libp2p.pubsub.parameters import PubsubParameters
    from rumormill.libp2p.stack.limits import ConnectionLimits
    from rumormill.live.configuration.parameters import LiveParameters

    names = [
        *LiveParameters.model_fields,
        *HostParameters.model_fields,
        *PubsubParameters.model_fields,
        *GossipsubParameters.model_fields,
        *ConnectionLimits.__dataclass_fields__,
    ]
    assert len(names) == len(set(names))
