"""How a subscriber of a private topic proves that it has a key: three dialects, one file each.

A publisher sends a challenge to the subscriber's VerifyChannel, and the answer is the proof. Nodes
pass both on and read neither, and SDKs of different dialects cannot verify each other.
"""
