"""The extensions of gossipsub 1.3 (:mod:`extensions`), with the smallest one
(:mod:`probe_extension`). The largest has a room of its own:
:mod:`rumormill.libp2p.gossipsub.partial`.
"""
