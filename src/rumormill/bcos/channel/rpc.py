"""The JSON-RPC calls (0x12) that SDKs make until they are up, and one of our own.

There is no chain behind this node: what SDKs ask of one is answered as an empty chain would.

``rumormill_subscribers [topic]`` is ours: which nodes a message of the topic can go to, and how
many subscribers this one has. A publisher can wait for somebody to listen; SDKs of other make never
ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rumormill.bcos.amop.amop import Amop
from rumormill.bcos.amop.verification import SUCCESS
from rumormill.bcos.channel.greeting import NODE_VERSION
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.wire.json_text import read_json, write_json
from rumormill.bcos.wire.verification import is_need_verify
from rumormill.core.errors import RemoteProtocolError

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

MOST_TOPICS_TOLD: Final = 10_000
"""Of all nodes together, in one answer: they may have millions."""


class RpcError(Exception):
    """A call that cannot be answered; the SDK is told why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Answer:
    """What a call is answered with, and whether it was of any use to ask."""

    __slots__ = ("data", "problem")

    def __init__(self, data: bytes, problem: str = "") -> None:
        self.data = data
        self.problem = problem


class Rpc:
    """Answers the calls of SDKs."""

    def __init__(self, node_id: str, amop: Amop, parameters: ChannelParameters) -> None:
        self._node_id = node_id
        self._amop = amop
        self._groups = list(parameters.groups)
        self._version = {
            "Build Time": "",
            "Build Type": "rumormill",
            "Chain Id": parameters.chain_id,
            "FISCO-BCOS Version": NODE_VERSION,
            "Git Branch": "",
            "Git Commit Hash": "",
            "Supported Version": NODE_VERSION,
        }
        self._methods: dict[str, Callable[[list[Any]], object]] = {
            "getClientVersion": lambda params: self._version,
            "getGroupList": lambda params: self._groups,
            "getBlockNumber": self._block_number,
            "getPeers": self._peers,
            "getNodeIDList": self._node_ids,
            "getGroupPeers": self._node_ids,
            "getSealerList": lambda params: [],
            "getObserverList": lambda params: [],
            "getPendingTxSize": lambda params: "0x0",
            "rumormill_subscribers": self._subscribers,
        }

    def answer(self, data: bytes) -> Answer:
        """What the call in a packet is answered with."""
        try:
            call = read_json(data)
        except RemoteProtocolError as error:
            return _refused(None, PARSE_ERROR, f"no JSON that can be read ({error.reason})")
        if not isinstance(call, dict):
            return _refused(None, INVALID_REQUEST, "a call is an object")
        identifier = call.get("id")
        method, params = call.get("method"), call.get("params", [])
        if not isinstance(method, str) or not isinstance(params, list):
            return _refused(
                identifier, INVALID_REQUEST, "a call has a method, and a list of params"
            )
        function = self._methods.get(method)
        if function is None:
            return _refused(identifier, METHOD_NOT_FOUND, "this node has no such method")
        try:
            result = function(params)
        except RpcError as error:
            return _refused(identifier, error.code, error.message)
        return Answer(_written({"id": identifier, "jsonrpc": "2.0", "result": result}))

    def _block_number(self, params: list[Any]) -> str:
        if not params or params[0] not in self._groups:
            raise RpcError(INVALID_PARAMS, "there is no such group")
        return "0x0"

    def _node_ids(self, params: list[Any]) -> list[str]:
        return [self._node_id, *self._amop.nodes.connected()]

    def _subscribers(self, params: list[Any]) -> dict[str, object]:
        if len(params) != 1 or not isinstance(params[0], str):
            raise RpcError(INVALID_PARAMS, "one topic is expected")
        topic = params[0]
        return {"here": len(self._amop.listeners.of(topic)), "nodes": self._amop.holders(topic)}

    def _peers(self, params: list[Any]) -> list[dict[str, object]]:
        room = MOST_TOPICS_TOLD
        told: list[dict[str, object]] = []
        for node in self._amop.nodes.connected():
            address, agency, name = self._amop.nodes.facts(node)
            topics = self._topics_of(node, room)
            room -= len(topics)
            told.append(
                {
                    "Agency": agency,
                    "IPAndPort": address,
                    "Node": name,
                    "NodeID": node,
                    "Topic": topics,
                }
            )
        return told

    def _topics_of(self, node: str, most: int) -> list[str]:
        """Topics of a node that messages can go to."""
        found: list[str] = []
        for topic in self._amop.nodes.topics_of(node):
            if len(found) >= most:
                break
            if not is_need_verify(topic) or self._amop.verification.state(node, topic) == SUCCESS:
                found.append(topic)
        return found


def _refused(identifier: object, code: int, message: str) -> Answer:
    error = {"code": code, "message": message}
    return Answer(_written({"error": error, "id": identifier, "jsonrpc": "2.0"}), message)


def _written(value: object) -> bytes:
    return write_json(value) + b"\n"
