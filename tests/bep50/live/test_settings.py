from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.bep50.live.settings import PARTS
from rumormill.core.errors import ConfigError
from rumormill.live.configuration.settings import known_keys, read_settings


def read(**given: Any) -> Any:
    return read_settings("bep50", given)


def test_each_key_reaches_its_part() -> None:
    settings = read(state_interval=5, bucket_size=2, main_width=4, main_dht=True)
    assert settings.live.state_interval == 5
    assert settings.overlay.bucket_size == 2
    assert settings.main.main_width == 4
    assert settings.session.main_dht is True


def test_text_is_turned_into_what_the_key_wants() -> None:
    settings = read(
        listen="[::1]:6881, 127.0.0.1:6881",
        bootstrap='["router.example:6881"]',
        key_file="key.json",
        state_file="none",
        query_timeout="0.5",
        read_only="true",
        most_per_ip="none",
        main_dht_nodes="127.0.0.1:1,127.0.0.2:1",
    )
    assert settings.live.listen == ("[::1]:6881", "127.0.0.1:6881")
    assert settings.live.bootstrap == ("router.example:6881",)
    assert settings.live.key_file == Path("key.json")
    assert settings.live.state_file is None
    assert settings.overlay.query_timeout == 0.5
    assert settings.overlay.read_only is True
    assert settings.overlay.most_per_ip is None
    assert settings.session.main_dht_nodes == ("127.0.0.1:1", "127.0.0.2:1")
    assert read(listen="[::1]:0").live.listen == ("[::1]:0",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("listen", "/ip4/127.0.0.1/tcp/0"),
        ("listen", "127.0.0.1"),
        ("bootstrap", ["127.0.0.1:70000"]),
        ("forward", "push"),
        ("bucket_size", 0),
        ("state_interval", "inf"),
        ("close_timeout", 0),
        ("main_dht_nodes", "here"),
        ("main_closest", "many"),
    ],
)
def test_a_wrong_value_names_its_key(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**{key: value})
    assert caught.value.key.partition(".")[0] == key
    assert "\n" not in str(caught.value)


def test_every_default_is_a_value_that_can_be_given() -> None:
    defaults = {name: key.default for name, key in known_keys("bep50").items()}
    assert read(**defaults) == read()


def test_no_key_means_two_different_things() -> None:
    names = [name for part in PARTS for name in part.model_fields]
    assert len(names) == len(set(names))


def test_families_know_nothing_of_each_others_keys() -> None:
    with pytest.raises(ConfigError, match="D: there is no such key"):
        read(D=6)
    with pytest.raises(ConfigError, match="bucket_size: there is no such key"):
        read_settings("gossipsub", {"bucket_size": 1})


def test_a_missing_package_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumormill.system.packages.find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        rumormill.open("bep50")
    assert str(caught.value) == (
        "network: bep50 needs bencode2, which is not installed; "
        "pip install 'rumormill[bep50]' brings it"
    )
    assert rumormill.open("gossipsub") is not None
