"""Further versions of gossipsub as routers of their own: features by version, heartbeat parts."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.gossipsub import (
    FEATURES,
    GOSSIP,
    MESH,
    MESHSUB_1_0,
    FeatureTable,
    GossipsubParameters,
    GossipsubRouter,
    HeartbeatPart,
)
from rumormill.libp2p.pubsub import FLOODSUB, Part, PubsubServices
from rumormill.libp2p.wire import ControlKinds, length_prefixed
from tests.helpers import places
from tests.helpers.libp2p.workbench import Workbench, gossipsub, origin_id, signed

MESHSUB_1_2 = "/meshsub/1.2.0"
PX, IDONTWANT = "px", "idontwant"


class Diary(HeartbeatPart):
    """Writes down, at every heartbeat, who is in the mesh and when."""

    def __init__(self, router: GossipsubRouter) -> None:
        self._router = router
        self.entries: list[tuple[float, tuple[Peer, ...]]] = []

    def heartbeat(self, now: float) -> None:
        self.entries.append((now, self._router.mesh("t")))

    def sizes(self) -> dict[str, int]:
        return {"diary": len(self.entries)}


class LaterRouter(GossipsubRouter):
    """A later version: one more protocol with its features, one more part."""

    protocols: ClassVar[tuple[str, ...]] = (MESHSUB_1_2, *GossipsubRouter.protocols)
    features: ClassVar[FeatureTable] = {
        **FEATURES,
        MESHSUB_1_2: frozenset((MESH, GOSSIP, PX, IDONTWANT)),
    }

    def attach(self, pubsub: PubsubServices) -> None:
        super().attach(pubsub)
        self.diary = Diary(self)

    def parts(self) -> tuple[Part, ...]:
        return (*super().parts(), self.diary)

    def able(self, topic: str, feature: str) -> list[Peer]:
        return self._candidates.of(topic, feature)


def with_three_versions() -> tuple[Workbench, LaterRouter]:
    router = LaterRouter(GossipsubParameters(heartbeat_interval=1.0))
    bench = Workbench(router)
    bench.subscribe("t")
    for peer, protocol in (("new", MESHSUB_1_2), ("old", MESHSUB_1_0), ("oldest", FLOODSUB)):
        bench.join(peer, "t", protocol=protocol)
    return bench, router


# ---- features by version


def test_what_a_peer_can_do_depends_on_the_version_that_it_speaks() -> None:
    _, router = with_three_versions()
    assert router.able("t", MESH) == ["new", "old"]
    assert router.able("t", GOSSIP) == ["new", "old"]
    assert router.able("t", IDONTWANT) == router.able("t", PX) == ["new"]
    assert router.able("t", "telepathy") == []


def test_who_cannot_be_in_a_mesh_gets_every_message() -> None:
    bench, _ = with_three_versions()
    assert set(bench.pubsub.mesh("t")) == {"new", "old"}
    assert set(bench.publish("t").peers) == {"new", "old", "oldest"}


def test_a_peer_that_left_can_do_nothing_any_more() -> None:
    bench, router = with_three_versions()
    bench.leave("new")
    bench.leave("oldest")
    assert router.able("t", PX) == []
    assert set(bench.publish("t").peers) == {"old"}


def test_a_protocol_without_a_row_in_the_table_is_found_out_at_once() -> None:
    class Forgetful(GossipsubRouter):
        protocols: ClassVar[tuple[str, ...]] = ("/house/gossip/1.0.0",)

    with pytest.raises(LocalProtocolError, match="house/gossip"):
        Workbench(Forgetful())


# ---- heartbeat parts


def test_a_part_from_outside_runs_at_every_heartbeat_after_the_mesh_is_mended() -> None:
    bench, router = with_three_versions()
    bench.run_until(0.5)
    bench.prune("new", "t", backoff=1)
    bench.run_until(10.0)
    entries = router.diary.entries
    assert len(entries) == 10
    assert all(b[0] - a[0] == pytest.approx(1.0) for a, b in itertools.pairwise(entries))
    assert entries[1][1] == ("old",)
    assert set(entries[-1][1]) == {"old", "new"}
    assert bench.pubsub.sizes()["diary"] == 10


# ---- questions that change nothing


def test_questions_choose_no_fanout_and_draw_no_chance() -> None:
    bench = gossipsub(D=3, D_low=2)
    bench.join_many(10, "t")
    before = bench.pubsub.random.getstate()
    for _ in range(3):
        assert bench.pubsub.has_targets(("t",))
        assert not bench.pubsub.room.full(("t",), 1000)
    assert bench.pubsub.random.getstate() == before
    assert bench.pubsub.sizes()["fanout"] == 0


def test_questions_do_not_keep_a_fanout_alive() -> None:
    bench = gossipsub(fanout_ttl=5.0)
    bench.join_many(3, "t")
    bench.publish("t")
    for second in range(1, 10):
        bench.run_until(float(second))
        bench.pubsub.has_targets(("t",))
    assert bench.pubsub.sizes()["fanout"] == 0


def test_who_asks_first_publishes_to_the_same_peers_as_who_does_not() -> None:
    receipts = []
    for asks in (True, False):
        bench = gossipsub(seed=7, D=3, D_low=2)
        bench.join_many(10, "t")
        if asks:
            bench.pubsub.room.full(("t",), 10)
        receipts.append(bench.publish("t").peers)
    assert receipts[0] == receipts[1]


def test_what_would_be_reached_is_what_is_reached_once_the_fanout_stands() -> None:
    bench = gossipsub(D=3, D_low=2)
    bench.join_many(10, "t")
    assert len(list(bench.router.would_reach(("t",)))) == 3, "no more than there will be"
    reached = bench.publish("t").peers
    assert tuple(bench.router.would_reach(("t",))) == reached


# ---- the guide


def test_the_guides_router_spares_peers_what_they_do_not_want() -> None:
    guide = (places.ROOT / "docs" / "embedding.md").read_text()
    (program,) = [each for each in guide.split("```python\n") if "SparingRouter" in each]
    names: dict[str, Any] = {}
    exec(compile(program.split("```")[0], "docs/embedding.md", "exec"), names)
    bench = Workbench(names["SparingRouter"](), kinds=ControlKinds(names["IDONTWANT"]))
    bench.subscribe("t")
    for peer in ("ann", "bob", "cyd"):
        bench.join(peer, "t")
    message = signed("author", "t", bytes(600), 1)
    refused = ControlKinds(names["IDONTWANT"]).of(names["IDontWant"](()))
    entry = bytes_field(3, refused.piece(names["IDontWant"]((origin_id(message),))))
    bench.say_bytes("bob", length_prefixed(entry))
    bench.forget()
    bench.send_message("ann", message)
    got = [peer for peer, rpcs in bench.sent.items() if any(rpc.messages for rpc in rpcs)]
    assert got == ["cyd"]
    told = [rpc.control.of(names["IDontWant"]) for rpc in bench.took("bob") if rpc.control]
    assert told[0][0].message_ids == (origin_id(message),)
