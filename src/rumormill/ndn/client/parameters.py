"""What can be set of a program on somebody's forwarder."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rumormill.core.parameters import Parameters


class ClientParameters(Parameters):
    """Routes at the forwarder, and what happens when it does not answer.

    >>> ClientParameters(command_form="v0.4")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: command_form: input should be 'auto', 'v0.3' or 'v0.2' \
(got 'v0.4')
    """

    command_form: Literal["auto", "v0.3", "v0.2"] = "auto"
    """How commands to the forwarder are signed: as signed Interests of today, or in the older form
    of 2014. ``auto`` tries the former, and the latter if that is not answered or refused."""
    command_scope: Literal["auto", "localhost", "localhop"] = "auto"
    """Below which name commands are sent. ``auto``: /localhost to a forwarder on this machine,
    /localhop to others; over UDP on this machine both, as forwarders do not agree on it."""
    sign_commands: bool = False
    """Whether commands are signed with our key, where a forwarder takes no others; forwarders on
    the same machine take a digest."""
    command_lifetime: float = Field(default=1.0, ge=0.01, le=60)
    """Seconds that a command waits for its answer."""
    command_attempts: int = Field(default=3, ge=1, le=100)
    """How often a command is sent, in the form that the forwarder is known to answer, before it is
    taken for unanswered."""
    command_retry: float = Field(default=1.0, gt=0, le=3600)
    """Seconds before a route is asked for again that was refused, or not answered; doubles with
    every failure."""
    longest_command_retry: float = Field(default=60.0, gt=0, le=3600)
    """Seconds between two such attempts at most."""
    max_commands: int = Field(default=32, ge=1)
    """Commands that may wait for their answers at once; others wait for them."""
    max_routes: int = Field(default=16_384, ge=1)
    """Routes that may be asked for."""
    refresh_interval: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds after which routes at a forwarder that is reached over UDP are asked for again:
    nobody hears there of a restart, and forwarders forget who is silent for long."""
    forwarder_patience: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    """Seconds without any forwarder after which it is told that routes cannot be had; before that,
    one may be restarting."""
