from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.node.settings import HttpLimits, HttpSettings, is_loopback, read_http_settings

TOKEN = "a-long-random-token"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:7700", "127.0.0.1", 7700),
        ("[::1]:0", "::1", 0),
        ("localhost:80", "localhost", 80),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    settings = read_http_settings(text)
    assert (settings.host, settings.port) == (host, port)


@pytest.mark.parametrize(
    "text", ["", "7700", "127.0.0.1", ":7700", "127.0.0.1:http", "127.0.0.1:70000", "http://x:1"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"http: must be HOST:PORT as in 127.0.0.1:7700"):
        read_http_settings(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "node.example"])
def test_beyond_loopback_a_token_is_needed(host: str, tmp_path: Path) -> None:
    bind = f"[{host}]:7700" if ":" in host else f"{host}:7700"
    with pytest.raises(ConfigError, match="reached from other machines: give a token"):
        read_http_settings(bind)
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text(f"{TOKEN}\nand a second line\n")
    assert read_http_settings(bind, file).token == TOKEN


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"short", "at least 16"),
        (b"\xff\xfe", "is no text"),
    ],
)
def test_a_poor_token_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=f"http_token_file: .*{problem}"):
        read_http_settings("127.0.0.1:0", file)


def test_what_is_loopback() -> None:
    assert is_loopback("127.8.9.1") and is_loopback("localhost") and is_loopback("::1")
    assert not is_loopback("localhost.example") and not is_loopback("10.0.0.1")


def test_a_token_must_be_one_line() -> None:
    with pytest.raises(ConfigError, match="one line of text"):
        HttpSettings("127.0.0.1", 0, f"{TOKEN}\nmore")


@pytest.mark.parametrize(
    ("key", "value"), [("header_timeout", 0), ("max_connections", 1.5), ("idle_timeout", "soon")]
)
def test_a_wrong_limit_is_told_with_its_key(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"http.{key}: must be .*, not {value!r}"):
        HttpLimits(**{key: value})
