"""Asks a node over HTTP, with the standard library alone: it runs on Spark's executors, too.

A node that is away for a while (it restarts, the network hiccups) is asked again, with growing
pauses; when the patience is over, one sentence names the node and says what the last try met.
"""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

from rumormill.capture.log import SpoolError
from rumormill.core.errors import ConfigError

LARGEST_ANSWER: Final = 256 << 20
"""Bytes; a node sends a few million at once, anything near this is no node."""

ANSWER_SECONDS: Final = 60.0
"""Without a byte for so long, the node counts as away."""

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0

BUSY: Final = (429, 502, 503, 504)
"""Answers that mean: not now. Every other one would be the same again."""


class NodeAwayError(SpoolError):
    """A node could not be reached for as long as we were willing to wait."""


class NodeRefusedError(SpoolError):
    """The node answered, and said no: ``status`` is the HTTP status, ``details`` its JSON."""

    def __init__(self, address: str, status: int, details: Mapping[str, Any]) -> None:
        super().__init__(address, status, details)
        self.address = address
        self.status = status
        self.details = details

    def __str__(self) -> str:
        problem = self.details.get("error") or f"answered with status {self.status}"
        return f"{self.address}: {problem}"


class Answer(NamedTuple):
    """What a node answered."""

    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as a JSON object."""
        try:
            found = json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deep") from None
        if not isinstance(found, dict):
            raise ValueError("not an object")
        return found


class NodeClient:
    """One node. Not for several threads at once.

    >>> NodeClient("http://127.0.0.1:7700/").address
    'http://127.0.0.1:7700'
    """

    def __init__(
        self, address: str, *, token: str | None = None, retry_seconds: float = 30.0
    ) -> None:
        parts = urlsplit(address)
        try:
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.query or parts.fragment or parts.username:
            raise ConfigError("node", f"must be an address as http://127.0.0.1:7700, not {address}")
        self.address = address.rstrip("/")
        self._host = parts.hostname or ""
        self._port = parts.port
        self._secure = parts.scheme == "https"
        self._prefix = parts.path.rstrip("/")
        self._token = token
        self._retry_seconds = retry_seconds
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str, **query: int | str) -> Answer:
        """Ask for something."""
        return self._request("GET", _with_query(path, query), None, {})

    def post(self, path: str, body: bytes, content_type: str, **query: int | str) -> Answer:
        """Hand something over. It may arrive twice: the node must be able to tell."""
        return self._request("POST", _with_query(path, query), body, {"Content-Type": content_type})

    def close(self) -> None:
        """Hang up; the next request dials again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> Answer:
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        deadline = time.monotonic() + self._retry_seconds
        pause = FIRST_PAUSE
        while True:
            try:
                status, answer = self._try(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem = _words(error)
            else:
                if status < 300:
                    return answer
                refusal = NodeRefusedError(self.address, status, _details(answer))
                if status not in BUSY:
                    raise refusal
                problem = str(refusal.details.get("error") or f"status {status}")
            if time.monotonic() + pause > deadline:
                raise NodeAwayError(
                    f"{self.address}: the node is away ({problem}); "
                    f"it was tried for {self._retry_seconds:g} s"
                )
            time.sleep(pause * random.uniform(0.5, 1.0))  # many tasks must not come back as one
            pause = min(2 * pause, LONGEST_PAUSE)

    def _try(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Answer]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=ANSWER_SECONDS)
        self._connection.request(method, self._prefix + path, body, dict(headers))
        with self._connection.getresponse() as response:
            content = response.read(LARGEST_ANSWER)
            if response.read(1):
                raise SpoolError(f"{self.address}: sent more than {LARGEST_ANSWER} bytes at once")
            return response.status, Answer(response.headers, content)


def _with_query(path: str, query: Mapping[str, int | str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _details(answer: Answer) -> dict[str, Any]:
    try:
        return answer.json()
    except ValueError:
        return {}


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
