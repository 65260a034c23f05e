"""Asks a node over HTTP, by urllib3; it runs on Spark's executors, too.

A node that is away for a while (it restarts, the network hiccups) is asked again, with growing
pauses; when the patience is over, one sentence names the node and says what the last try met.
No try begins after that time, and none waits past it: only an answer that keeps coming is read on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from urllib3 import PoolManager, Retry, Timeout
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.exceptions import TimeoutError as NoAnswerError
from urllib3.util import parse_url

from rumormill.capture.log import SpoolError
from rumormill.core.errors import ConfigError

LARGEST_ANSWER: Final = 256 << 20
"""Bytes; a node sends a few million at once, anything near this is no node."""

ANSWER_SECONDS: Final = 60.0
"""Without a byte for so long, the node counts as away."""

SHORTEST_TRY: Final = 2.0
"""Seconds that a try has, however little is left: a node under load needs some to answer."""

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0

BUSY: Final = (429, 502, 503, 504)
"""Answers that mean: not now. Every other one would be the same again."""

PAUSES: Final = Retry(
    total=None,
    backoff_factor=FIRST_PAUSE,
    backoff_max=LONGEST_PAUSE,
    backoff_jitter=FIRST_PAUSE,  # many tasks must not come back as one
)
"""How long to wait after each try. How often is our own affair: urllib3 counts tries, not time."""


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

    headers: Mapping[str, str]
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
        try:
            parts = parse_url(address)
            usable = parts.scheme in ("http", "https") and parts.host and parts.port != 0
        except LocationParseError:
            usable = False
        if not usable or parts.query or parts.fragment or parts.auth:
            raise ConfigError("node", f"must be an address as http://127.0.0.1:7700, not {address}")
        self.address = address.rstrip("/")
        self._seconds = retry_seconds
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._pool = PoolManager(maxsize=1)

    def get(self, path: str, **query: int | str) -> Answer:
        """Ask for something."""
        return self._request("GET", path, query, None, {})

    def post(self, path: str, body: bytes, content_type: str, **query: int | str) -> Answer:
        """Hand something over. It may arrive twice: the node must be able to tell."""
        return self._request("POST", path, query, body, {"Content-Type": content_type})

    def close(self) -> None:
        """Hang up; the next request dials again."""
        self._pool.clear()

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, int | str],
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Answer:
        url = f"{self.address}{path}" + (f"?{urlencode(query)}" if query else "")
        pauses = PAUSES
        deadline = time.monotonic() + self._seconds
        while True:
            left = min(max(deadline - time.monotonic(), SHORTEST_TRY), ANSWER_SECONDS)
            try:
                status, answer = self._try(method, url, body, headers, left)
            except (HTTPError, OSError) as error:
                problem = _words(error)
            else:
                if status < 300:
                    return answer
                refusal = NodeRefusedError(self.address, status, _details(answer))
                if status not in BUSY:
                    raise refusal
                problem = str(refusal.details.get("error") or f"status {status}")
            if pauses.get_backoff_time() < LONGEST_PAUSE:
                pauses = pauses.increment(method, url)
            pause = pauses.get_backoff_time()
            if time.monotonic() + pause >= deadline:
                raise NodeAwayError(
                    f"{self.address}: the node is away ({problem}); "
                    f"it was tried for {self._seconds:g} s"
                )
            time.sleep(pause)

    def _try(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], seconds: float
    ) -> tuple[int, Answer]:
        """Ask once; the node has so many seconds to begin, and then for each piece."""
        with self._pool.urlopen(
            method, url, body=body, headers={**self._headers, **headers}, retries=False,
            timeout=Timeout(total=seconds), redirect=False, preload_content=False,
        ) as response:  # fmt: skip
            content = response.read(LARGEST_ANSWER + 1)
        if len(content) > LARGEST_ANSWER:
            raise SpoolError(f"{self.address}: sent more than {LARGEST_ANSWER} bytes at once")
        return response.status, Answer(response.headers, content)


def _details(answer: Answer) -> dict[str, Any]:
    try:
        return answer.json()
    except ValueError:
        return {}


def _words(error: BaseException) -> str:
    """What went wrong, in the words of the system where it is its doing."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, NoAnswerError):
        return "no answer"
    return str(error) or type(error).__name__
