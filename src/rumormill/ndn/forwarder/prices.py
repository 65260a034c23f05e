"""What packets cost that are of no use to anybody: microseconds of one core, more or less.

Nobody is to blame for most of it: routes vanish, answers come late, and several subscribers answer
under multicast. Who sends much of it has to wait for a while, and no more.
"""

from __future__ import annotations

from typing import Final

WASTE: Final = 8.0
"""For an Interest that goes nowhere, or a Data or Nack that nobody waits for."""
FORBIDDEN: Final = 50.0
"""For what is sent beyond its scope, which no program does."""
COMMAND: Final = 50.0
"""For a command that is refused for being one of too many."""
