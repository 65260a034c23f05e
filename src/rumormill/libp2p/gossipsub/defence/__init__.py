"""Who is not worth the same as others at the moment: peers that take less than they are sent
(:mod:`slow_peers`), and whose messages are read when there are too many (:mod:`gater`).
"""
