"""Sockets: TCP connections and UDP datagrams for machines."""
