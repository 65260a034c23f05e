"""Names that stay near: /localhost on this machine, /localhop within one hop."""

from __future__ import annotations

from typing import Final

from rumormill.ndn.wire.name import Name, component

LOCALHOST: Final[Name] = component(b"localhost")
"""Only by faces to programs on this machine, in both directions."""

LOCALHOP: Final[Name] = component(b"localhop")
"""To neighbours, and no further: what came from one goes to programs on this machine only."""

SCOPED: Final = (LOCALHOST, LOCALHOP)


def stays_here(name: Name, from_local: bool) -> bool:
    """Whether an Interest may go to programs on this machine only.

    >>> stays_here(LOCALHOST, True), stays_here(LOCALHOP, True), stays_here(LOCALHOP, False)
    (True, False, True)
    >>> stays_here(component(b"a"), False)
    False
    """
    return name.startswith(LOCALHOST) or (not from_local and name.startswith(LOCALHOP))
