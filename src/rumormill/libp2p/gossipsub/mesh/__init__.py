"""The mesh of a topic: who gets every message (:mod:`mesh`), what peers say to it
(:mod:`grafting`), what the heartbeat does to it (:mod:`upkeep`), whom not to ask again yet
(:mod:`backoff`), how large it is (:mod:`degrees`); and what stands for it on topics that we publish
on without listening (:mod:`fanout`).
"""
