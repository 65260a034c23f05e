"""The parameters of the gater, which drops messages of the peers that waste our checks."""

from __future__ import annotations

from pydantic import Field

from rumormill.core.parameters import Parameters


class GaterParameters(Parameters):
    """When messages are dropped unread, and whose."""

    gater: bool = False
    """While more messages come than can be checked, read fewer of those peers that send much that
    is of no use: the more of it, the fewer. Control is always read."""
    gater_threshold: float = Field(default=0.33, gt=0, allow_inf_nan=False)
    """How many messages found no check, for each that did, before the gater begins."""
    gater_quiet: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds without such a message after which it ends."""
    gater_decay: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    """Seconds after which of these counts a hundredth is left."""
    gater_source_decay: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    """The same for what is known of an address: all peers that come from one share it."""
    gater_retain: float = Field(default=6 * 3600.0, ge=0, allow_inf_nan=False)
    """Seconds that it is kept after the last of them left."""
    gater_duplicate_weight: float = Field(default=0.125, ge=0, allow_inf_nan=False)
    """What a duplicate counts against its sender; a message that was of use counts 1 for it."""
    gater_ignore_weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """The same of a message that was ignored."""
    gater_reject_weight: float = Field(default=16.0, ge=0, allow_inf_nan=False)
    """The same of a message that was rejected."""
