"""Noise: who is at the other end, and a line that nobody else reads."""

from rumormill.libp2p.stack.noise.handshake import NOISE, NoiseHandshake, NoiseTransport
from rumormill.libp2p.stack.noise.pattern import XXHandshake

__all__ = ["NOISE", "NoiseHandshake", "NoiseTransport", "XXHandshake"]
