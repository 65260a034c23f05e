"""All attacks, each with the figures that it must not keep the network from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rumormill.core.errors import ConfigError
from rumormill.libp2p.attacks.overflow import (
    BackoffOverflow,
    ControlFlood,
    Malformed,
    SubscriptionFlood,
)
from rumormill.libp2p.attacks.scenario import PassFigures, Scenario
from rumormill.libp2p.attacks.silence import Censor, CovertFlash, Degrader
from rumormill.libp2p.attacks.spam import (
    Burner,
    GraftFlood,
    PromiseBreaker,
    Refusing,
    Replayer,
    Thirsty,
    Unwelcome,
)
from rumormill.libp2p.attacks.sybil import Sybil

LONG = 110.0
"""Seconds. Silence is held against a peer after a minute (P3's activation), and then it must go."""

LONGER = 140.0
"""The same for two waves of them: who found no place at first asks again after a minute."""

AMONG_STRANGERS: Mapping[str, Any] = MappingProxyType(
    {"flood_publish": True, "opportunistic_graft_ticks": 10}
)
"""What docs/attacks.md advises where strangers may be there before oneself."""

FEW = 5
"""Spammers: more of them only cost time, as each is dealt with by itself."""

CALM = Scenario(
    "calm",
    "Nobody attacks.",
    "",
    None,
    PassFigures(p99=0.5, honest_above=0.0),
)

ON_THE_NETWORK = (
    Scenario(
        "eclipse of one",
        "Sybils are there before the victim, take every place in its mesh that they get, and pass "
        "nothing on.",
        "Places for peers that we dialed (D_out), gossip, P3.",
        Sybil,
        PassFigures(mesh_share=0.5),
        target="one",
        counted="to_victim",
        joins=-1.0,
        seconds=LONGER,
        alerts=("sybils",),
    ),
    Scenario(
        "eclipse of all",
        "The same against everybody at once.",
        "Places for peers that we dialed (D_out), gossip, P3.",
        Sybil,
        PassFigures(mesh_share=0.5),
        many=True,
        seconds=LONG,
        alerts=("sybils",),
    ),
    Scenario(
        "eclipse of publishers",
        "A fifth of the nodes publish, and all Sybils press into the meshes of these.",
        "The places that honest nodes hold already, D_out, gossip, P3.",
        Sybil,
        PassFigures(mesh_share=0.5),
        many=True,
        target="publishers",
        publishers=0.2,
        seconds=LONG,
        alerts=("sybils",),
    ),
    Scenario(
        "censorship",
        "Sybils in all meshes pass everything on but what one node publishes.",
        "Places for peers that we dialed, gossip.",
        Censor,
        PassFigures(),
        many=True,
        counted="of_victim",
        seconds=LONG,
        alerts=("sybils",),
    ),
    Scenario(
        "degradation",
        "Sybils in all meshes drop half of everything.",
        "Places for peers that we dialed, gossip.",
        Degrader,
        PassFigures(),
        many=True,
        seconds=LONG,
        alerts=("sybils",),
    ),
    Scenario(
        "cold boot",
        "The network begins with Sybils everywhere: they are there first, and most addresses that "
        "honest nodes dial are theirs.",
        "flood_publish, opportunistic grafting every ten heartbeats, gossip; then P3.",
        Sybil,
        PassFigures(delivered=0.999, mesh_share=0.5),
        many=True,
        dialed=12,
        joins=-1.0,
        begins=0.0,
        seconds=LONG,
        gossipsub=AMONG_STRANGERS,
        alerts=("sybils",),
    ),
    Scenario(
        "dawn",
        "Sybils have all meshes to themselves for ten seconds before honest nodes find each other.",
        "Places for peers that we dialed (D_out), gossip, P3.",
        Sybil,
        PassFigures(mesh_share=0.5),
        many=True,
        joins=-1.0,
        meets=10.0,
        begins=0.0,
        seconds=LONG,
        alerts=("sybils",),
    ),
    Scenario(
        "covert flash",
        "Sybils are the best of peers for half a minute, then all fall silent at once.",
        "Places for peers that we dialed, gossip, P3.",
        CovertFlash,
        PassFigures(mesh_share=0.5),
        many=True,
        begins=35.0,
        seconds=LONG,
        alerts=("sybils",),
    ),
    Scenario(
        "shared addresses",
        "All Sybils come from two addresses, and pass nothing on.",
        "P6: the second power of how many there are too many.",
        Sybil,
        PassFigures(attackers_below=-80.0, mesh_share=0.0),
        many=True,
        addresses=2,
        alerts=("sybils",),
    ),
)

SPAM = (
    Scenario(
        "iwant spam",
        "Asks for every message, ten times a second.",
        "max_iwant_sends, then the price of answers (work_share).",
        Thirsty,
        PassFigures(p99=0.5, defence="iwant_too_often"),
        few=FEW,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "ihave spam",
        "Tells of messages that there are not, twenty lists a second.",
        "max_ihave_messages and max_ihave_ids; broken promises are P7.",
        PromiseBreaker,
        PassFigures(p99=0.5, attackers_below=-10.0, mesh_share=0.0, defence="too_many_ihave"),
        few=FEW,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "graft flood",
        "Leaves the mesh and asks to be taken back at once, ten times a second.",
        "GRAFT in backoff is P7, and below -80 nothing is read.",
        GraftFlood,
        PassFigures(p99=0.5, attackers_below=-80.0, mesh_share=0.0, defence="graft_in_backoff"),
        few=FEW,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "invalid messages",
        "Sends ten messages a second that every validator refuses.",
        "P4, and below -80 nothing is read.",
        Unwelcome,
        PassFigures(p99=0.5, attackers_below=-80.0, mesh_share=0.0),
        few=FEW,
        dials=10,
        alerts=("spam", "misbehaviour"),
    ),
    Scenario(
        "idontwant spam",
        "Refuses eight thousand messages a second that there are not.",
        "max_dont_want_ids, dont_want_heartbeats, the price of ids (work_share).",
        Refusing,
        PassFigures(p99=0.5, defence="too_many_dont_want"),
        few=FEW,
        seconds=15.0,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "id burning",
        "Forges the ids that the next messages of one node will have.",
        "A forged message is not marked as seen; P4.",
        Burner,
        PassFigures(p99=0.5, attackers_below=-80.0, mesh_share=0.1),
        few=FEW,
        dials=10,
        alerts=("spam", "misbehaviour"),
    ),
    Scenario(
        "replay",
        "Plays messages back whose ids are forgotten.",
        "refuse_replays.",
        Replayer,
        PassFigures(p99=0.5, defence="replay"),
        few=FEW,
        pubsub={"seen_ttl": 10.0, "refuse_replays": True},
        alerts=("misbehaviour",),
    ),
    Scenario(
        "subscription flood",
        "Subscribes to four thousand new topics a second (CVE-2026-46679).",
        "max_topics_per_peer: then the peer is dropped.",
        SubscriptionFlood,
        PassFigures(p99=0.5, mesh_share=0.0, defence="too_many_topics"),
        few=FEW,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "backoff overflow",
        "PRUNE with a backoff of 2^64-1 and near it (CVE-2026-33040, CVE-2026-34219).",
        "A backoff is an hour at most; GRAFT within it is P7.",
        BackoffOverflow,
        PassFigures(p99=0.5, attackers_below=-80.0, mesh_share=0.0, defence="graft_in_backoff"),
        few=FEW,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "control flood",
        "A hundred thousand empty entries of control in 200 kB, twice a second.",
        "Limits that are counted while reading: the peer is dropped.",
        ControlFlood,
        PassFigures(p99=0.5, mesh_share=0.0, defence="too_many_control_messages"),
        few=FEW,
        alerts=("misbehaviour",),
    ),
    Scenario(
        "malformed signatures",
        "Messages whose key and signature are rubbish, in another's name.",
        "They count as forged: P4.",
        Malformed,
        PassFigures(p99=0.5, attackers_below=-80.0, mesh_share=0.0),
        few=FEW,
        dials=10,
        alerts=("spam", "misbehaviour"),
    ),
)

ATTACKS: dict[str, Scenario] = {each.name: each for each in (CALM, *ON_THE_NETWORK, *SPAM)}
"""Every scenario by its name, the calm run first."""


def find_attack(name: str) -> Scenario:
    """The scenario of a name; spaces may be written as hyphens."""
    found = ATTACKS.get(name.lower().replace("-", " ").replace("_", " "))
    if found is None:
        raise ConfigError("attack", f"must be one of {', '.join(ATTACKS)}, not {name!r}")
    return found
