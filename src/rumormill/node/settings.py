"""Where the HTTP side listens, and who may speak to it."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import secrets
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

from rumormill.core.errors import ConfigError
from rumormill.live.files.private import read_private, write_new
from rumormill.system.packages import require

log = logging.getLogger("rumormill.node")

SHORTEST_TOKEN: Final = 16


@dataclass(frozen=True)
class HttpLimits:
    """What callers may take of the node; keys of ``[http]`` in ``node.toml``.

    >>> HttpLimits(header_timeout=-1)
    Traceback (most recent call last):
    rumormill.core.errors.ConfigError: http.header_timeout: must be more than 0, not -1
    """

    header_timeout: float = 10.0
    """Seconds from the connection, or from the first byte of a further request, until the headers
    must be whole."""
    body_timeout: float = 30.0
    """Seconds that a body may take, and one more for every ``slowest_rate`` bytes of it."""
    answer_timeout: float = 30.0
    """Seconds in which a caller must take some of its answer: ``slowest_rate`` for each of them."""
    idle_timeout: float = 30.0
    """Seconds that a connection may be without a request after its last answer."""
    slowest_rate: int = 1024
    """Bytes a second: slower bodies and answers are given up."""
    max_connections: int = 512
    """Connections in all, and never more than a quarter of the file descriptors that the process
    may have: the others are for peers."""
    max_connections_per_address: int = 64
    """Connections from one address (IPv6: one /64) that have not shown the token, or, where none is
    asked for, that wait for nothing."""
    max_body_bytes: int = 20 << 20
    """Bytes of bodies that are kept at once, all together. The first 64 KiB of each are always
    taken."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            whole = each.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                kind = "a whole number" if whole else "a number"
                raise ConfigError(f"http.{each.name}", f"must be {kind}, not {value!r}")
            if not 0 < value < float("inf"):
                raise ConfigError(f"http.{each.name}", f"must be more than 0, not {value!r}")


LIMIT_KEYS: Final = tuple(each.name for each in fields(HttpLimits))


@dataclass(frozen=True)
class HttpSettings:
    """An address to listen on, and the token that callers must bring.

    On loopback the token may be left out: who can reach it there is on this machine already.
    """

    host: str
    port: int
    token: str | None = None
    limits: HttpLimits = field(default=HttpLimits(), repr=False)

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise ConfigError(
                "http_token_file",
                f"the token has {len(self.token)} characters, at least {SHORTEST_TOKEN} are needed",
            )
        if self.token is not None and not self.token.isprintable():
            raise ConfigError("http_token_file", "the token must be one line of text")
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                "http",
                f"{self.host} can be reached from other machines: give a token, too "
                "(--http-token-file FILE)",
            )


def read_http_settings(
    bind: str, token_file: Path | None = None, limits: HttpLimits | None = None
) -> HttpSettings:
    """``127.0.0.1:7700``, ``[::1]:7700`` or ``localhost:0``, and the file that holds the token.

    >>> read_http_settings("127.0.0.1:7700")
    HttpSettings(host='127.0.0.1', port=7700, token=None)
    """
    host, colon, port = bind.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    usable = colon and host and port.isascii() and port.isdigit() and int(port) < 65536
    if not usable or "/" in host:
        raise ConfigError("http", f"must be HOST:PORT as in 127.0.0.1:7700, not {bind!r}")
    token = None if token_file is None else read_token(token_file)
    return HttpSettings(host, int(port), token, limits or HttpLimits())


def read_token(file: Path) -> str:
    """The first line of a file that its owner alone can read; a new one is made if there is none.

    Raises :class:`ConfigError`, also for a file that others can read or change.
    """
    with contextlib.suppress(FileNotFoundError):
        return _token_in(file)
    with contextlib.suppress(FileExistsError):  # another process was faster
        write_new(file, "http_token_file", secrets.token_urlsafe(32).encode() + b"\n")
        log.warning("%s was made, with a new token in it", file)
    return _token_in(file)


def _token_in(file: Path) -> str:
    try:
        lines = read_private(file, "http_token_file").decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise ConfigError("http_token_file", f"{file} is no text") from None
    token = lines[0].strip() if lines else ""
    if not token:
        problem = f"{file} is empty; remove it, and the node makes one with a token in it"
        raise ConfigError("http_token_file", problem)
    return token


def is_loopback(host: str) -> bool:
    """Whether an address or a name can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_http() -> None:
    """Raise :class:`ConfigError` with the command that helps, if a package is missing."""
    require(("starlette", "uvicorn", "pyarrow"), "rumormill[node]", "the HTTP side", key="http")
