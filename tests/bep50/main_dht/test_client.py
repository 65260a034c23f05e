"""The read-only client of the main DHT, in virtual time against a model of the DHT."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.main_dht.client import MainClient
from rumormill.bep50.main_dht.effects import (
    ItemRead,
    ItemSeen,
    ItemWritten,
    MainContact,
    ReadItem,
    WriteItem,
)
from rumormill.bep50.main_dht.parameters import MainParameters
from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import Query, answer_packet, read_packet
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Received, Send, Subscribe
from rumormill.core.trace import TraceEvent
from tests.helpers.bep50.main_dht_model import ModelDht, ModelNode
from tests.helpers.core.machines import AnyEffect

KEY = ItemKey.from_seed(bytes(32))
SALT = b"weather"


def item(seq: int, text: bytes = b"rain at noon", salt: bytes = SALT) -> Item:
    return KEY.item(salt, seq, encode(text))


def client(dht: ModelDht, *, contacts: int = 1, **parameters: Any) -> MainClient:
    made = MainClient(b"\x07" * 20, MainParameters(**parameters), random.Random(1), "us")
    dht.run(made, MainContact(tuple(node.peer for node in dht.nodes[:contacts])))
    return made


def only(kind: type, effects: list[AnyEffect]) -> Any:
    (found,) = [effect for effect in effects if isinstance(effect, kind)]
    return found


def read(dht: ModelDht, made: MainClient, salt: bytes = SALT) -> ItemRead:
    found = only(ItemRead, dht.run(made, ReadItem(1, KEY.public_key, salt)))
    assert isinstance(found, ItemRead)
    return found


def write(dht: ModelDht, made: MainClient, *arguments: Any, **options: Any) -> ItemWritten:
    found = only(ItemWritten, dht.run(made, WriteItem(1, *arguments, **options)))
    assert isinstance(found, ItemWritten)
    return found


# ---- reading


def test_the_newest_value_wins_wherever_it_is() -> None:
    dht = ModelDht(60)
    near = dht.nearest(item(1).target)
    near[0].item, near[3].item, near[7].item = item(4), item(6, b"snow"), item(5)
    assert read(dht, client(dht)).item == item(6, b"snow")


def test_a_first_value_is_told_before_the_search_is_over() -> None:
    dht = ModelDht(60)
    near = dht.nearest(item(1).target)
    near[0].item = item(4)
    near[1].silent = True  # holds the search up
    made = client(dht)
    effects = dht.run(made, ReadItem(1, KEY.public_key, SALT))
    kinds = [type(effect) for effect in effects]
    assert kinds.index(ItemSeen) < kinds.index(ItemRead)
    assert only(ItemSeen, effects).item == item(4)


def test_the_nearest_nodes_are_found_from_one_address() -> None:
    dht = ModelDht(200)
    found = read(dht, client(dht))
    asked = [node for node in dht.nodes if node.asked]
    assert set(dht.nearest(item(1).target)[:8]) <= set(asked)
    assert found == ItemRead(1, None, len(asked))
    assert len(asked) < 30


@pytest.mark.parametrize("own_id", [b"\x00" * 20, b"\xff" * 20], ids=["low", "high"])
def test_every_query_is_read_only_and_of_no_topic(own_id: bytes) -> None:
    dht = ModelDht(30)
    made = MainClient(own_id, MainParameters(), random.Random(1))
    dht.run(made, MainContact((dht.nodes[0].peer,)))
    read(dht, made)
    write(dht, made, item(1))
    queries = [read_packet(packet.packet) for packet in dht.packets]
    assert {query.method for query in queries if isinstance(query, Query)} == {"get", "put"}
    for query in queries:
        assert isinstance(query, Query)
        assert query.read_only
        assert query.topic is None
        # The other half of all ids: no search for the item comes upon us.
        shown = query.arguments[b"id"]
        assert isinstance(shown, bytes)
        assert (shown[0] ^ item(1).target[0]) & 0x80


def test_silent_nodes_cost_their_time_and_no_more() -> None:
    dht = ModelDht(60)
    near = dht.nearest(item(1).target)
    for node in near[:6]:
        node.silent = True
    near[6].item = item(2)
    assert read(dht, client(dht)).item == item(2)
    assert dht.now <= 3 * 2.0


def test_nobody_answers_and_the_search_ends() -> None:
    dht = ModelDht(1)
    dht.nodes[0].silent = True
    assert read(dht, client(dht)) == ItemRead(1, None, 0)


def test_without_any_address_the_answer_is_there_at_once() -> None:
    made = MainClient(bytes(20), MainParameters(), random.Random(1))
    assert made.handle(ReadItem(9, KEY.public_key), 0.0) == [ItemRead(9, None, 0)]


def forged(found: Item) -> Item:
    return found._replace(signature=bytes(64))


def other_key(found: Item) -> Item:
    return ItemKey.from_seed(b"\x01" * 32).item(found.salt, found.seq, found.value)


@pytest.mark.parametrize(
    ("bend", "reason"), [(forged, "bad_signature"), (other_key, "wrong_target")]
)
def test_a_value_that_is_not_its_owners_is_left_out_and_traced(bend: Any, reason: str) -> None:
    dht = ModelDht(30)
    near = dht.nearest(item(1).target)
    near[0].item, near[1].item = item(3), item(2)
    wrong = bend(item(9))

    def lie(values: Any) -> None:
        values |= {b"k": wrong.public_key, b"sig": wrong.signature, b"seq": wrong.seq}

    near[0].bend = lie
    effects = dht.run(client(dht), ReadItem(1, KEY.public_key, SALT))
    assert only(ItemRead, effects).item == item(2)
    (rejected,) = [each for each in effects if isinstance(each, TraceEvent)]
    assert (rejected.event, rejected.peer) == ("rejected", near[0].peer)
    assert rejected.fields["reason"] == reason


def test_a_value_under_another_salt_is_not_ours() -> None:
    dht = ModelDht(20)
    dht.nearest(item(1).target)[0].item = item(5)
    assert read(dht, client(dht), salt=b"other").item is None


def test_what_was_learnt_in_one_search_shortens_the_next() -> None:
    dht = ModelDht(100)
    made = client(dht)
    read(dht, made)
    for node in dht.nodes:
        node.asked.clear()
    dht.nodes[0].silent = True  # where the first search began
    assert read(dht, made).answered >= 8
    assert dht.now == 0.0


def test_we_never_ask_ourselves() -> None:
    dht = ModelDht(20)
    dht.told = 9
    near = dht.nearest(item(1).target)
    made = client(dht)
    dht.run(made, MainContact((), own=(near[2].peer,)))
    assert write(dht, made, item(1)).stored == 8
    assert not near[2].asked


def test_an_answer_from_another_address_or_to_no_query_is_ignored() -> None:
    dht = ModelDht(1)
    made = client(dht)
    (sent,) = made.handle(ReadItem(1, KEY.public_key, SALT), 0.0)
    assert isinstance(sent, Send)
    transaction = read_packet(sent.packet).transaction
    genuine_looking = answer_packet(transaction, {b"id": dht.nodes[0].id})
    for peer, raw in (
        ("10.9.9.9:6881", genuine_looking),
        (dht.nodes[0].peer, answer_packet(b"zz", {b"id": dht.nodes[0].id})),
    ):
        (event,) = made.handle(Received(peer, raw), 0.0)
        assert isinstance(event, TraceEvent)
        assert (event.event, event.fields["reason"]) == ("ignored", "unasked_answer")
    assert made.sizes()["main_searches"] == 1


def test_one_host_cannot_fill_a_search() -> None:
    dht = ModelDht(8)
    # Nearer to the item than any honest node.
    start = item(1).target[:10]
    crowd = [ModelNode(number, start + bytes([number] * 10)) for number in range(40)]
    for number, node in enumerate(crowd):
        node.peer = f"8.8.8.8:{7000 + number}"
        dht.by_peer[node.peer] = node
    dht.nodes += crowd
    made = client(dht)
    read(dht, made)
    assert sum(bool(node.asked) for node in crowd) <= 2


# ---- writing


def test_an_item_is_put_on_the_eight_nearest() -> None:
    dht = ModelDht(100)
    assert write(dht, client(dht), item(1)) == ItemWritten(1, 8, {})
    holding = [node for node in dht.nodes if node.item == item(1)]
    assert set(holding) == set(dht.nearest(item(1).target)[:8])


@pytest.mark.parametrize("value", [{b"ih": b"h" * 20}, [1, b"two"], 7, b"text"])
def test_any_bencoded_value_can_be_put_and_read(value: Any) -> None:
    dht = ModelDht(20)
    made = client(dht)
    wanted = KEY.item(b"", 3, encode(value))
    assert write(dht, made, wanted).stored == 8
    assert read(dht, made, salt=b"").item == wanted


def test_cas_goes_to_those_alone_that_hold_a_value() -> None:
    dht = ModelDht(30)
    near = dht.nearest(item(1).target)
    for node in near[:3]:
        node.item = item(4)
    near[3].item = item(3)
    assert write(dht, client(dht), item(5), cas=4) == ItemWritten(1, 7, {301: 1})
    for node in near[:8]:
        put = node.asked[-1].arguments
        assert put.get(b"cas") == (4 if node in near[:4] else None)


def test_refusals_are_counted_by_code_and_silence_apart() -> None:
    dht = ModelDht(30)
    near = dht.nearest(item(1).target)
    near[0].refuses = near[1].refuses = 205
    near[2].refuses = 203

    def fall_silent(values: Any) -> None:
        near[3].silent = True

    near[3].bend = fall_silent
    assert write(dht, client(dht), item(5)) == ItemWritten(1, 4, {205: 2, 203: 1}, silent=1)


def test_a_newer_value_is_brought_back_and_nothing_is_put() -> None:
    dht = ModelDht(30)
    dht.nearest(item(1).target)[5].item = item(9)
    assert write(dht, client(dht), item(5)) == ItemWritten(1, 0, {}, newer=item(9))
    assert [node.item for node in dht.nodes if node.item] == [item(9)]


def test_a_node_without_a_token_or_with_a_foreign_id_gets_no_put() -> None:
    dht = ModelDht(30)
    dht.told = 16
    near = dht.nearest(item(1).target)
    near[0].token = b""
    near[1].peer = "8.8.4.4:6881"  # BEP 42: an address of the Internet must fit the id
    dht.by_peer[near[1].peer] = near[1]
    assert write(dht, client(dht), item(1)).stored == 8
    assert near[0].item is None
    assert near[1].item is None
    assert near[1].asked


def test_the_hourly_repetition_is_left_out_while_enough_hold_the_value() -> None:
    dht = ModelDht(30)
    dht.told = 16
    near = dht.nearest(item(1).target)
    for node in near[:8]:
        node.item = item(1)
    # Eight are not enough: BEP 44 wants more than that.
    assert write(dht, client(dht), item(1), refresh=True) == ItemWritten(1, 8, {})
    for node in near[:12]:
        node.item = item(1)
    made = client(dht, main_closest=12)
    found = write(dht, made, item(1), refresh=True)
    assert found == ItemWritten(1, 12, {}, skipped=True)
    near[2].item = None
    assert not write(dht, made, item(1), refresh=True).skipped
    assert near[2].item == item(1)


def test_a_first_put_is_never_left_out() -> None:
    dht = ModelDht(30)
    dht.told = 16
    for node in dht.nodes:
        node.item = item(1)
    assert write(dht, client(dht, main_closest=12), item(1)) == ItemWritten(1, 12, {})


# ---- many at once, and bounds


def test_searches_wait_for_their_turn_and_the_last_ones_are_refused() -> None:
    dht = ModelDht(1)
    dht.nodes[0].silent = True
    made = client(dht, main_searches=2, main_most_waiting=3)
    effects = [each for n in range(7) for each in made.handle(ReadItem(n, KEY.public_key), 0.0)]
    assert sum(isinstance(each, Send) for each in effects) == 2
    refused = [each.token for each in effects if isinstance(each, ItemRead)]
    assert refused == [5, 6]
    assert [each.event for each in effects if isinstance(each, TraceEvent)] == ["dropped"] * 2
    ended = [each.token for each in dht.run(made) if isinstance(each, ItemRead)]
    assert sorted(ended) == [0, 1, 2, 3, 4]
    assert not made.sizes()["main_searches"] and not made.sizes()["main_waiting"]


def test_tables_stay_small_whatever_the_nodes_say() -> None:
    dht = ModelDht(3000)
    made = client(dht, main_most_contacts=32, main_most_queries=40)
    for node in dht.nodes:
        node.bend = _many_nodes(dht)
    for salt in range(20):
        assert read(dht, made, salt=b"%d" % salt).answered <= 40
    assert made.sizes() == {
        "main_contacts": 33, "main_queries": 0, "main_searches": 0,
        "main_waiting": 0, "main_candidates": 0,
    }  # fmt: skip


def _many_nodes(dht: ModelDht) -> Any:
    chance = random.Random(3)

    def bend(values: Any) -> None:
        others = chance.sample(dht.nodes, 100)
        values[b"nodes"] = b"".join(
            each.id + bytes([10, n // 250, n % 250, 1, 26, 225])
            for each in others
            for n in [dht.nodes.index(each)]
        )

    return bend


def test_an_unknown_input_is_the_callers_mistake() -> None:
    made = MainClient(bytes(20), MainParameters(), random.Random(1))
    with pytest.raises(LocalProtocolError, match="does not know Subscribe"):
        made.handle(Subscribe("x"), 0.0)  # type: ignore[arg-type]


@given(st.binary(max_size=300), st.booleans())
def test_any_answer_is_survived(noise: bytes, as_nodes: bool) -> None:
    dht = ModelDht(1)
    made = client(dht)
    (sent,) = made.handle(ReadItem(1, KEY.public_key, SALT), 0.0)
    assert isinstance(sent, Send)
    transaction = read_packet(sent.packet).transaction
    values: Any = {b"id": bytes(20), b"nodes": noise} if as_nodes else {b"id": noise, b"v": noise}
    made.handle(Received(dht.nodes[0].peer, noise), 0.0)
    made.handle(Received(dht.nodes[0].peer, answer_packet(transaction, values)), 0.0)
    while (due := made.next_wake()) is not None:
        made.wake(due)
    assert not made.sizes()["main_searches"] and not made.sizes()["main_waiting"]


def test_two_runs_with_one_seed_send_the_same_packets() -> None:
    def run() -> list[Send]:
        dht = ModelDht(80)
        made = client(dht)
        write(dht, made, item(1))
        read(dht, made)
        return dht.packets

    assert run() == run()
