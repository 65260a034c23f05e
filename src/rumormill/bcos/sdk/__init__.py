"""An SDK, without I/O: connections to nodes, and what an application says and hears by them.

Several nodes may be connected at once. All of them are told what we listen to; what we say goes by
the first of them that is there.
"""
