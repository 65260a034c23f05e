"""What keeps strangers from using a node: tokens, proofs of address, rate limits."""

from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.guards.rate_limits import RateLimits
from rumormill.bep50.guards.tokens import Tokens

__all__ = ["ProvenAddresses", "RateLimits", "Tokens"]
