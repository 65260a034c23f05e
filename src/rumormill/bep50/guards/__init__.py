"""What keeps strangers from using a node: tokens, proofs of address, rate limits."""
