"""JSON-RPC: what SDKs ask until they are up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rumormill.bcos.wire.channel_packet import ChannelType
from rumormill.bcos.wire.verification import encode_topic_status
from rumormill.core import trace
from tests.helpers.bcos.sdk_side import OUR_ID, Sdk, SdkSide, node_id, seq


def call(sdk: Sdk, method: str, *params: object) -> Any:
    request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 7}
    [answer] = sdk.send(ChannelType.RPC, seq(1), json.dumps(request).encode())
    assert (answer.type, answer.seq, answer.result) == (ChannelType.RPC, seq(1), 0)
    told = json.loads(answer.data)
    assert told["id"] == 7
    assert told["jsonrpc"] == "2.0"
    return told["error"]["code"] if "error" in told else told["result"]


def test_the_version_says_that_a_handshake_is_understood() -> None:
    version = call(SdkSide(chain_id="9").sdk(), "getClientVersion")
    assert version["Supported Version"] == "2.9.1"
    assert version["Chain Id"] == "9"
    assert set(version) == {
        "FISCO-BCOS Version", "Supported Version", "Chain Id", "Build Time", "Build Type",
        "Git Branch", "Git Commit Hash",
    }  # fmt: skip


def test_a_call_without_params_is_answered() -> None:
    sdk = SdkSide().sdk()
    request = b'{"jsonrpc":"2.0","id":1,"method":"getClientVersion"}'
    [answer] = sdk.send(ChannelType.RPC, seq(1), request)
    assert json.loads(answer.data)["result"]["Supported Version"] == "2.9.1"


def test_groups_are_those_of_the_settings_and_have_an_empty_chain() -> None:
    sdk = SdkSide(groups=(1, 3)).sdk()
    assert call(sdk, "getGroupList") == [1, 3]
    assert call(sdk, "getBlockNumber", 3) == "0x0"
    assert call(sdk, "getBlockNumber", 2) == -32602
    assert call(sdk, "getBlockNumber") == -32602
    assert call(SdkSide().sdk(), "getGroupList") == []


def test_peers_have_their_topics_and_private_ones_only_when_verified() -> None:
    side, node, private = SdkSide(), node_id("c"), "#!$TopicNeedVerify_p"
    publisher = side.sdk(f"#!$PushChannel_{private}")
    side.node_has(node, "news", private)
    peer = {"NodeID": node, "IPAndPort": "127.0.0.1:30300", "Agency": "agency", "Node": "node"}
    assert call(publisher, "getPeers", 1) == [peer | {"Topic": ["news"]}]
    publisher.send(ChannelType.TOPIC_STATUS, seq(2), encode_topic_status(True, node, private))
    assert call(publisher, "getPeers", 1) == [peer | {"Topic": [private, "news"]}]
    assert call(publisher, "getNodeIDList", 1) == [OUR_ID, node]


def test_topics_told_in_one_answer_are_bounded() -> None:
    side = SdkSide()
    for letter in "cd":
        side.node_has(node_id(letter), *(f"t{n}" for n in range(7_000)))
    told = call(side.sdk(), "getPeers", 1)
    assert [len(peer["Topic"]) for peer in told] == [7_000, 3_000]


def test_an_sdk_of_ours_can_ask_whether_anybody_listens() -> None:
    side = SdkSide()
    sdk = side.sdk()
    assert call(sdk, "rumormill_subscribers", "news") == {"nodes": [], "here": 0}
    side.sdk("news")
    side.node_has(node_id("c"), "news")
    side.node_has(node_id("d"), "other")
    assert call(sdk, "rumormill_subscribers", "news") == {"nodes": [node_id("c")], "here": 1}
    assert call(sdk, "rumormill_subscribers") == -32602


@pytest.mark.parametrize(
    ("data", "code", "identifier"),
    [
        (b"hello", -32700, None),
        (b"\xff", -32700, None),
        (b"[" * 5000, -32700, None),
        (b"[]", -32600, None),
        (b'{"id":3}', -32600, 3),
        (b'{"id":3,"method":"getPeers","params":{}}', -32600, 3),
        (b'{"id":"x","method":"call","params":[]}', -32601, "x"),
        (b'{"id":4,"method":[],"params":[]}', -32600, 4),
    ],
)
def test_a_call_that_cannot_be_answered_is_told_why(
    data: bytes, code: int, identifier: object
) -> None:
    side = SdkSide()
    [answer] = side.sdk().send(ChannelType.RPC, seq(1), data)
    told = json.loads(answer.data)
    assert (told["error"]["code"], told["id"]) == (code, identifier)
    assert side.reasons(trace.PROTOCOL_ERROR) == ["bad_rpc"]


@pytest.mark.parametrize("kind", [ChannelType.EVENT_REGISTER, ChannelType.EVENT_UNREGISTER])
def test_events_of_a_chain_are_refused(kind: int) -> None:
    [answer] = SdkSide().sdk().send(kind, seq(1), b'\x01{"filterID":"1"}')
    assert (answer.type, answer.seq) == (kind, seq(1))
    assert answer.data == b'\x01{"result":-41002}'
