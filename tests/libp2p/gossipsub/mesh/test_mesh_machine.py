"""Whatever peers do and whatever their scores are, the meshes keep their promises."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rumormill.libp2p.gossipsub import AddDirectPeer, RemoveDirectPeer
from rumormill.libp2p.wire import Control, Graft, Prune, Rpc, Subscription
from tests.helpers.libp2p.fake_standing import judged

PEERS = st.sampled_from([f"peer{index}" for index in range(10)])
TOPICS = st.sampled_from(["t", "u"])
BACKOFFS = st.sampled_from([None, 0, 1, 5, 1 << 63, (1 << 64) - 1])


class MeshUnderPressure(RuleBasedStateMachine):
    """Peers come, go, graft, prune and change their conduct in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.bench, self.standing = judged(
            D=2, D_low=2, D_high=3, D_out=1, prune_backoff=5, unsubscribe_backoff=2,
            opportunistic_graft_ticks=2,
        )  # fmt: skip
        self.links: dict[tuple[str, str], int] = {}
        self.outbound: set[str] = set()

    def _here(self, peer: str) -> bool:
        return peer in self.bench.pubsub.peers

    @rule(peer=PEERS, topic=TOPICS, outbound=st.booleans())
    def join(self, peer: str, topic: str, outbound: bool) -> None:
        if not self._here(peer):
            self.bench.join(peer, topic, outbound=outbound)
            (self.outbound.add if outbound else self.outbound.discard)(peer)

    @rule(peer=PEERS)
    def leave(self, peer: str) -> None:
        self.bench.leave(peer)

    @rule(topic=TOPICS, listen=st.booleans())
    def listen(self, topic: str, listen: bool) -> None:
        (self.bench.subscribe if listen else self.bench.unsubscribe)(topic)

    @rule(peer=PEERS, topic=TOPICS, wanted=st.booleans())
    def say_subscribe(self, peer: str, topic: str, wanted: bool) -> None:
        self.bench.say(peer, Rpc(subscriptions=(Subscription(wanted, topic),)))

    @rule(peer=PEERS, topic=TOPICS)
    def say_graft(self, peer: str, topic: str) -> None:
        self.bench.say(peer, Rpc(control=Control((Graft(topic),))))

    @rule(peer=PEERS, topic=TOPICS, backoff=BACKOFFS)
    def say_prune(self, peer: str, topic: str, backoff: int | None) -> None:
        self.bench.say(peer, Rpc(control=Control((Prune(topic, backoff),))))

    @rule(peer=PEERS, score=st.sampled_from([-100.0, -1.0, 0.0, 1.0, 10.0]))
    def judge(self, peer: str, score: float) -> None:
        self.standing.scores[peer] = score

    @rule(peer=PEERS, direct=st.booleans())
    def befriend(self, peer: str, direct: bool) -> None:
        self.bench.feed(AddDirectPeer(peer) if direct else RemoveDirectPeer(peer))

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0]))
    def pass_time(self, seconds: float) -> None:
        self.bench.run_until(self.bench.now + seconds)

    @rule()
    def heartbeat(self) -> None:
        if self.bench.router.next_wake() is None:
            return
        self.bench.heartbeat()
        for topic in self.bench.pubsub.topics:
            mesh = self.bench.pubsub.mesh(topic)
            assert all(self.standing.of(peer) >= 0 for peer in mesh)

    @invariant()
    def members_are_there_listen_and_are_not_direct(self) -> None:
        direct = self.bench.router.direct_peers  # type: ignore[attr-defined]
        for topic in ("t", "u"):
            for peer in self.bench.pubsub.mesh(topic):
                assert topic in self.bench.pubsub.topics
                assert peer in self.bench.pubsub.subscribers(topic)
                assert peer not in direct

    @invariant()
    def strangers_do_not_overfill_a_mesh(self) -> None:
        for topic in ("t", "u"):
            mesh = self.bench.pubsub.mesh(topic)
            assert len([peer for peer in mesh if peer not in self.outbound]) <= 3

    @invariant()
    def the_standing_knows_who_is_in_which_mesh(self) -> None:
        known: set[tuple[str, str]] = set()
        for what, peer, topic in self.standing.links:
            if what == "grafted":
                assert (peer, topic) not in known
                known.add((peer, topic))
            else:
                known.remove((peer, topic))
        mesh = self.bench.pubsub.mesh
        assert known == {(peer, topic) for topic in ("t", "u") for peer in mesh(topic)}

    @invariant()
    def tables_stay_small(self) -> None:
        sizes = self.bench.pubsub.sizes()
        assert sizes["backoffs"] <= 20
        assert sizes["direct_peers"] <= 10


TestMeshUnderPressure = MeshUnderPressure.TestCase
TestMeshUnderPressure.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
