from __future__ import annotations

import asyncio

import pytest

from rumormill.core.errors import ClosedError, ConfigError
from rumormill.core.message import Message
from rumormill.live.topics import subscription as module
from rumormill.live.topics.subscription import Subscription, SubscriptionHooks, WhenFull


class Owner:
    """Stands for the network: keeps what the subscription says to it."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.holds: list[bool] = []
        self.dropped: list[bytes] = []

    def subscribe(
        self, buffer: int = 4, when_full: WhenFull = "wait", buffer_bytes: int = 1000
    ) -> Subscription:
        hooks = SubscriptionHooks(
            closed=lambda subscription: self.closed.append(subscription.topic),
            full=lambda _, full: self.holds.append(full),
            dropped=lambda _, message: self.dropped.append(message.data),
        )
        return Subscription(
            "weather", hooks, buffer=buffer, buffer_bytes=buffer_bytes, when_full=when_full
        )


@pytest.fixture
def owner() -> Owner:
    return Owner()


def message(data: bytes) -> Message:
    return Message("weather", data)


def push(subscription: Subscription, *texts: bytes) -> None:
    for text in texts:
        subscription.push(message(text))


async def collect(subscription: Subscription) -> list[bytes]:
    return [each.data async for each in subscription]


async def test_messages_come_in_order(owner: Owner) -> None:
    subscription = owner.subscribe()
    push(subscription, b"1", b"2")
    assert (await subscription.get()).data == b"1"
    assert (await anext(aiter(subscription))).data == b"2"


async def test_a_reader_waits_for_the_next_message(owner: Owner) -> None:
    subscription = owner.subscribe()
    reader = asyncio.ensure_future(subscription.get())
    await asyncio.sleep(0)
    push(subscription, b"1")
    assert (await reader).data == b"1"


async def test_get_gives_up_after_its_time_and_loses_nothing(owner: Owner) -> None:
    subscription = owner.subscribe()
    with pytest.raises(TimeoutError):
        await subscription.get(timeout=0.01)
    push(subscription, b"1")
    assert (await subscription.get(timeout=0.01)).data == b"1"


async def test_a_cancelled_reader_loses_no_message(owner: Owner) -> None:
    subscription = owner.subscribe()
    reader = asyncio.ensure_future(subscription.get())
    await asyncio.sleep(0)
    push(subscription, b"1")
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert (await subscription.get()).data == b"1"


async def test_several_readers_share_the_messages(owner: Owner) -> None:
    subscription = owner.subscribe(buffer=100)
    readers = [asyncio.ensure_future(collect(subscription)) for _ in range(3)]
    await asyncio.sleep(0)
    readers[0].cancel()  # the one whose future the others watch
    for number in range(10):
        push(subscription, b"%d" % number)
        await asyncio.sleep(0)
    subscription.close()
    got = await asyncio.gather(*readers[1:])
    assert sorted(data for each in got for data in each) == [b"%d" % number for number in range(10)]


async def test_wait_holds_peers_back_when_full_and_lets_them_go_on_at_half(owner: Owner) -> None:
    subscription = owner.subscribe(buffer=4)
    push(subscription, b"1", b"2", b"3")
    assert owner.holds == []
    push(subscription, b"4", b"5", b"6")
    assert owner.holds == [True]
    for _ in range(3):
        await subscription.get()
    assert owner.holds == [True]
    await subscription.get()
    assert owner.holds == [True, False]
    assert (subscription.pending, subscription.dropped) == (2, 0)


async def test_wait_counts_bytes_too(owner: Owner) -> None:
    subscription = owner.subscribe(buffer=100, buffer_bytes=10)
    push(subscription, b"12345", b"12345")
    assert owner.holds == [True]
    await subscription.get()
    assert owner.holds == [True, False]


async def test_wait_drops_what_no_flow_control_could_hold_back(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OVERHANG_MESSAGES", 2)
    subscription = owner.subscribe(buffer=2)
    push(subscription, b"1", b"2", b"3", b"4", b"5")
    assert (subscription.pending, subscription.dropped) == (4, 1)
    assert owner.dropped == [b"5"]


async def test_drop_oldest_keeps_the_newest(owner: Owner) -> None:
    subscription = owner.subscribe(buffer=2, when_full="drop_oldest")
    push(subscription, b"1", b"2", b"3", b"4")
    subscription.close()
    assert await collect(subscription) == [b"3", b"4"]
    assert (subscription.dropped, owner.dropped) == (2, [b"1", b"2"])
    assert owner.holds == []


async def test_drop_newest_keeps_the_oldest(owner: Owner) -> None:
    subscription = owner.subscribe(buffer=2, when_full="drop_newest")
    push(subscription, b"1", b"2", b"3", b"4")
    subscription.close()
    assert await collect(subscription) == [b"1", b"2"]
    assert (subscription.dropped, owner.dropped) == (2, [b"3", b"4"])


@pytest.mark.parametrize("when_full", ["drop_oldest", "drop_newest"])
async def test_dropping_keeps_to_the_bytes(owner: Owner, when_full: WhenFull) -> None:
    subscription = owner.subscribe(buffer=100, buffer_bytes=10, when_full=when_full)
    push(subscription, b"1234", b"1234", b"1234")
    assert (subscription.pending, subscription.pending_bytes) == (2, 8)
    push(subscription, b"x" * 11)  # larger than the whole buffer
    assert subscription.pending_bytes <= 10


async def test_closing_ends_an_iteration_after_what_had_arrived(owner: Owner) -> None:
    subscription = owner.subscribe()
    reader = asyncio.ensure_future(collect(subscription))
    await asyncio.sleep(0)
    push(subscription, b"1", b"2")
    subscription.close()
    assert await reader == [b"1", b"2"]
    assert owner.closed == ["weather"]


async def test_closing_wakes_a_waiting_reader(owner: Owner) -> None:
    subscription = owner.subscribe()
    iteration = asyncio.ensure_future(collect(subscription))
    single = asyncio.ensure_future(subscription.get())
    await asyncio.sleep(0)
    subscription.close()
    assert await iteration == []
    with pytest.raises(ClosedError, match="the subscription of 'weather' is closed"):
        await single


async def test_reading_a_closed_subscription_is_an_error(owner: Owner) -> None:
    subscription = owner.subscribe()
    subscription.close()
    with pytest.raises(ClosedError):
        await collect(subscription)
    with pytest.raises(ClosedError):
        await subscription.get()


async def test_closing_twice_tells_the_network_once_and_releases_the_hold(owner: Owner) -> None:
    subscription = owner.subscribe(buffer=1)
    push(subscription, b"1")
    async with subscription:
        pass
    subscription.close()
    assert owner.closed == ["weather"]
    assert owner.holds == [True, False]


@pytest.mark.parametrize(
    ("key", "arguments"),
    [
        ("when_full", {"when_full": "explode"}),
        ("buffer", {"buffer": 0}),
        ("buffer_bytes", {"buffer_bytes": 0}),
    ],
)
def test_a_wrong_argument_is_named(owner: Owner, key: str, arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        owner.subscribe(**arguments)  # type: ignore[arg-type]
    assert caught.value.key == key
