"""What every request goes through first: who asks, how much, and errors in words."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rumormill.node.connections import Caller
from rumormill.node.settings import HttpSettings, is_loopback
from rumormill.node.tally import REFUSED, Tally

log = logging.getLogger("rumormill.node")

JSON: Final = "application/json"
ARROW: Final = "application/vnd.apache.arrow.stream"

CALLER: Final = "rumormill.caller"
"""Where the state of a request's scope has its :class:`~rumormill.node.connections.Caller`."""


class Refusal(Exception):
    """An answer that says no, in one sentence."""

    def __init__(self, status: int, sentence: str, **details: object) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.details: Mapping[str, object] = details

    def response(self) -> Response:
        """As it is sent."""
        return JSONResponse({"error": self.sentence, **self.details}, self.status)


class Guard:
    """Lets a request in if it brings the token.

    Without a token the node is on loopback, where web pages in a browser of this machine can send
    requests, too: only requests for a loopback name are let in, so that no foreign name can be made
    to point here.
    """

    def __init__(self, app: ASGIApp, settings: HttpSettings, tally: Tally) -> None:
        self._app = app
        self._tally = tally
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens on the way."""
        if scope["type"] != "http":
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start" and message["status"] >= 400:
                self._tally.add(REFUSED, str(message["status"]), address_of(scope))
            await send(message)

        try:
            self._check(Request(scope))
            await self._app(scope, receive, sending)
        except Refusal as refusal:
            await refusal.response()(scope, receive, sending)
        except ClientDisconnect:
            return  # nobody is left to tell
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not begun:
                failure = Refusal(500, "the node failed at this; its log says more")
                await failure.response()(scope, receive, sending)

    def _check(self, request: Request) -> None:
        if self._token is None:
            host = request.headers.get("host", "")
            name = host.rpartition(":")[0] if not host.endswith("]") else host
            if not is_loopback((name or host).removeprefix("[").removesuffix("]")):
                raise Refusal(403, f"this node answers on loopback only, not as {host!r}")
            return
        caller = caller_of(request.scope)
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            given.strip().encode("utf-8", "replace"), self._token
        ):
            if caller is not None:
                caller.refused = True
            raise Refusal(401, "this node asks for its token, in 'Authorization: Bearer TOKEN'")
        if caller is not None:
            caller.has_shown_token()


def caller_of(scope: Scope) -> Caller | None:
    """The connection that a request came by; None without a server."""
    caller: Caller | None = scope.get("state", {}).get(CALLER)
    return caller


def address_of(scope: Scope) -> str | None:
    """Where a request came from."""
    caller = caller_of(scope)
    return None if caller is None else caller.address


async def read_body(request: Request, content_type: str, most: int) -> bytearray:
    """The body, if it is of this type, not compressed, and not larger than that.

    The type is asked for because a web page of another site cannot send it without asking first.
    Nothing is decompressed: what it would become can be a thousand times what was sent.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != content_type:
        raise Refusal(415, f"the body must be {content_type}, not {given[:40] or 'untyped'}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise Refusal(415, f"the body must not be compressed, and is by {encoding[:40]!r}")
    too_large = Refusal(413, f"the body has more than {most} bytes; send it in smaller parts")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise too_large
    caller = caller_of(request.scope)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise too_large
        if caller is not None and not caller.hold(len(part)):
            raise Refusal(503, "the node has too many large bodies at once; come again")
    return body


def whole_number(request: Request, key: str, required: bool = True) -> int | None:
    """A query parameter that is a whole number from 0 on."""
    text = request.query_params.get(key)
    if text is None:
        if required:
            raise Refusal(400, f"{key} is missing; it is a whole number")
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise Refusal(400, f"{key} must be a whole number, not {text[:40]!r}")
    return int(text)


async def on_refusal(request: Request, error: Exception) -> Response:
    """A route said no."""
    assert isinstance(error, Refusal)
    return error.response()


async def on_http_error(request: Request, error: Exception) -> Response:
    """No such path, or no such method on it."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:100]
    words = {
        404: f"there is nothing at {path!r}; /v1/node says who this is",
        405: f"{request.method} is not for {path!r}",
    }
    return JSONResponse(
        {"error": words.get(error.status_code, error.detail)}, error.status_code, error.headers
    )
