"""Those who attack: programs that flood a node, and say at their end what became of them."""
