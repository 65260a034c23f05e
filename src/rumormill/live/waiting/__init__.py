"""Tasks that wait: for a change, for a dial, for an answer of the machine."""
