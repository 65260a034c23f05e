"""Faces: connections and datagrams turned into Interests, Data and Nacks, without I/O."""
