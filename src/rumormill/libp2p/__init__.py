"""The libp2p family: floodsub, randomsub and gossipsub, and the stack below them."""
