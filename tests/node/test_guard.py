from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from rumormill.node.settings import HttpSettings

Ask = Callable[..., httpx.AsyncClient]
TOKEN = "a-long-random-token"
GUARDED = HttpSettings("0.0.0.0", 7700, TOKEN)


@pytest.mark.parametrize(
    "given", [None, "", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ", "Bearer ü"]
)
async def test_without_the_token_nothing_is_told(ask: Ask, given: str | None) -> None:
    client = ask(settings=GUARDED)
    headers = {} if given is None else {b"Authorization": given.encode()}
    for path in ("/v1/node", "/v1/spool/messages/offsets", "/nowhere"):
        answer = await client.get(path, headers=headers)
        assert answer.status_code == 401
        assert "token" in answer.json()["error"]


async def test_with_the_token_any_name_is_answered(ask: Ask) -> None:
    client = ask(settings=GUARDED)
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "node.example:7700"}
    assert (await client.get("/v1/node", headers=headers)).status_code == 200
    headers["Authorization"] = f"bearer  {TOKEN}"
    assert (await client.get("/v1/node", headers=headers)).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7700", "192.0.2.1", ""])
async def test_a_foreign_name_that_points_to_loopback_is_refused(ask: Ask, host: str) -> None:
    answer = await ask().get("/v1/node", headers={"Host": host})
    assert answer.status_code == 403
    assert "loopback only" in answer.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:7700", "[::1]:7700", "[::1]"])
async def test_loopback_names_are_answered(ask: Ask, host: str) -> None:
    assert (await ask().get("/v1/node", headers={"Host": host})).status_code == 200


async def test_wrong_paths_and_methods_are_told_in_words(ask: Ask) -> None:
    client = ask()
    missing = await client.get("/v2/node")
    assert (missing.status_code, "nothing at '/v2/node'" in missing.json()["error"]) == (404, True)
    wrong = await client.delete("/v1/node")
    assert (wrong.status_code, wrong.json()["error"]) == (405, "DELETE is not for '/v1/node'")


async def test_a_body_of_another_type_is_refused(ask: Ask) -> None:
    # A web page may send text/plain to any site without asking; JSON it may not.
    answer = await ask().post("/v1/publish", content=b"{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]


async def test_a_body_that_is_too_large_is_refused_before_it_is_whole(ask: Ask) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65536

    for content in (endless(), b"x" * (9 << 20)):
        answer = await ask().post(
            "/v1/publish", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 413
        assert "smaller parts" in answer.json()["error"]


async def test_a_mistake_of_ours_is_one_sentence_and_the_node_goes_on(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> httpx.Response:
        raise ZeroDivisionError

    client = ask()
    monkeypatch.setattr("rumormill.node.app.JSONResponse", broken)
    answer = await client.get("/v1/topics")
    assert (answer.status_code, "failed at this" in answer.json()["error"]) == (500, True)
    assert "ZeroDivisionError" in caplog.text
    monkeypatch.undo()
    assert (await client.get("/v1/topics")).status_code == 200
