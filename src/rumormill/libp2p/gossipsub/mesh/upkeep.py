"""Upkeep: what the heartbeat does to every mesh, so that it has enough peers, and good ones."""

from __future__ import annotations

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.mesh.degrees import Degrees
from rumormill.libp2p.gossipsub.mesh.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices


class Upkeep(HeartbeatPart):
    """Keeps each mesh between ``D_low`` and ``D_high``, with ``D_out`` peers that we dialed.

    The order is that of the specification: first those go that misbehave, then there are too few or
    too many, then too few that we dialed, and once in a while the whole mesh is too bad.
    """

    def __init__(
        self,
        *,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        standing: Standing,
        mesh: Mesh,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._degrees = parameters.degrees
        self._candidates = candidates
        self._standing = standing
        self._mesh = mesh
        self._ticks = 0

    def heartbeat(self, now: float) -> None:
        """Look after every mesh."""
        self._ticks += 1
        improve = self._ticks % self._parameters.opportunistic_graft_ticks == 0
        mesh = self._mesh
        mesh.backoffs.expire(now)
        for topic in mesh.topics():
            self._remove_negative(topic, now)
            degrees = self._degrees.of(topic)
            size = len(mesh.peers(topic))
            if size < degrees.D_low:
                mesh.fill(topic, degrees.D, "too_few", now)
            elif size >= degrees.D_high and size > degrees.D:
                self._reduce(topic, degrees, now)
            if degrees.D_out:
                self._fill_outbound(topic, degrees, now)
            if improve:
                self._improve(topic, now)

    def _remove_negative(self, topic: str, now: float) -> None:
        """Who misbehaves goes, and is not told where else there is a mesh."""
        of = self._standing.of
        negative = [peer for peer in self._mesh.peers(topic) if of(peer) < 0]
        for peer in negative:
            self._mesh.prune(topic, peer, "negative_score", now, exchange=False)

    # ---- too many

    def _reduce(self, topic: str, degrees: Degrees, now: float) -> None:
        """Down to ``D``: the ``D_score`` best stay, and of the others chance decides."""
        peers = list(self._mesh.peers(topic))
        self._pubsub.random.shuffle(peers)  # of equal scores, chance decides too
        peers.sort(key=self._standing.of, reverse=True)
        others = peers[degrees.D_score :]
        self._pubsub.random.shuffle(others)
        for peer in self._surplus(peers[: degrees.D_score] + others, degrees):
            self._mesh.prune(topic, peer, "too_many", now)

    def _surplus(self, ranked: list[Peer], degrees: Degrees) -> list[Peer]:
        """All beyond the first ``D``; but peers that we dialed change places with the last of
        those, if else there were not ``D_out`` of them.
        """
        outbound = self._candidates.outbound
        kept, surplus = ranked[: degrees.D], ranked[degrees.D :]
        missing = max(0, degrees.D_out - sum(peer in outbound for peer in kept))
        saved = [peer for peer in surplus if peer in outbound][:missing]
        given_up = [peer for peer in reversed(kept) if peer not in outbound][: len(saved)]
        return [peer for peer in surplus if peer not in saved] + given_up

    # ---- too few that we dialed

    def _fill_outbound(self, topic: str, degrees: Degrees, now: float) -> None:
        """Only strangers in the mesh: they may all be of one mind, so ours come in besides."""
        mesh, outbound = self._mesh, self._candidates.outbound
        members = mesh.peers(topic)
        if len(members) < degrees.D_low:
            return  # there was nobody else
        missing = degrees.D_out - sum(peer in outbound for peer in members)
        if missing <= 0 or not outbound:
            return
        subscribers = self._pubsub.subscribers(topic)
        peers = [peer for peer in outbound if peer in subscribers]
        for peer in self._candidates.draw_of(
            peers, missing, lambda peer: mesh.may_graft(topic, peer, now)
        ):
            mesh.graft(topic, peer, "outbound_quota", now)

    # ---- too bad

    def _improve(self, topic: str, now: float) -> None:
        """Opportunistic grafting: a mesh of peers that do no harm and little good gets better ones.

        Attackers that came in while nobody was looking stay above 0 by doing just enough.
        """
        mesh, of = self._mesh, self._standing.of
        scores = sorted(map(of, mesh.peers(topic)))
        if len(scores) < 2:
            return
        median = scores[len(scores) // 2]
        if median >= self._standing.thresholds.opportunistic_graft:
            return
        for peer in self._candidates.draw(
            topic,
            self._parameters.opportunistic_graft_peers,
            lambda peer: of(peer) > median and mesh.may_graft(topic, peer, now),
        ):
            mesh.graft(topic, peer, "opportunistic", now)
