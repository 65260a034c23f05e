"""Attacks on gossipsub in virtual time: the machines of the live node against peers that mean harm.

A scenario (:mod:`scenario`, all of them in :mod:`catalogue`) is an honest network, attackers, and
figures that the network has to reach all the same. :mod:`arena` lets it happen, :mod:`honest` makes
the honest nodes with the score that a user would give them, and :mod:`outcome` says what came of
it. Attackers speak the wire and nothing else: :mod:`sybil` has what they share,
:mod:`silence` those that keep messages back, :mod:`spam` those that send too much or what is bad,
:mod:`overflow` those that send what broke other implementations.

>>> from rumormill.libp2p.attacks import run_attack
>>> outcome = run_attack("graft flood", nodes=8, sybils=1, seed=3)
>>> outcome.passed, outcome.delivered
(True, 1.0)

Equal seeds give equal traces.
"""

from rumormill.libp2p.attacks.arena import Arena, Size, run_attack
from rumormill.libp2p.attacks.catalogue import ATTACKS, find_attack
from rumormill.libp2p.attacks.outcome import Outcome
from rumormill.libp2p.attacks.scenario import PassFigures, Scenario
from rumormill.libp2p.attacks.sybil import Sybil

__all__ = [
    "ATTACKS", "Arena", "Outcome", "PassFigures", "Scenario", "Size", "Sybil", "find_attack",
    "run_attack",
]  # fmt: skip
