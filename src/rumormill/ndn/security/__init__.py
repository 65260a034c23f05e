"""Who signed a packet, and whether that counts: signers, keys and the trust that a user gives."""
