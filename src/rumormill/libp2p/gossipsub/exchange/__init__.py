"""Peer exchange: whom to ask instead of us (:mod:`peer_exchange`), and who is dialed of those that
others name (:mod:`leads`).
"""
