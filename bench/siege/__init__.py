"""A node under siege: what an attack costs those who did nothing.

python -m bench siege                      every attack, every family, ours beside the others
python -m bench.siege --attacks iwant      single ones: ``--help``
python -m bench.siege.attackers.gossipsub iwant --target MULTIADDR     the attacker alone
"""
