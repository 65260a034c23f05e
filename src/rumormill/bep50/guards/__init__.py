"""What keeps strangers from using a node: tokens, proofs of address, prices of what they send."""

from rumormill.bep50.guards.acquaintances import Known
from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.guards.tokens import Tokens

__all__ = ["Known", "ProvenAddresses", "Tokens"]
