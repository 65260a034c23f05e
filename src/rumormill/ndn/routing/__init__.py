"""Which prefixes are reachable by which face: a distance vector between neighbours, and routes by
hand.
"""
