"""The libp2p family: floodsub and gossipsub, and the stack below them."""
