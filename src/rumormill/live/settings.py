"""All keys of a network in one flat list, wherever they belong inside.

The same keys in ``rumormill.open(...)``, in ``--set key=value`` and in ``node.toml``. Each goes to
the parts that have it: the router, pubsub, the host, its connections, or this room. Text is turned
into what the key wants, since that is all a command line has.

>>> settings = read_settings("gossipsub", {"D": "8", "max_connections": 16})
>>> settings.router.D, settings.host.max_connections
(8, 16)
>>> read_settings("gossipsub", {"D_lo": 4})
Traceback (most recent call last):
...
rumormill.core.errors.ConfigError: D_lo: there is no such key (did you mean D_low?)
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError, field_validator

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.parameters import Parameters, unknown_key
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.host_parameters import HostParameters
from rumormill.libp2p.parameters import PubsubParameters
from rumormill.libp2p.router import Router
from rumormill.libp2p.stack.limits import ConnectionLimits
from rumormill.libp2p.stack.multiaddr import Multiaddr


class LiveParameters(Parameters):
    """What this room itself needs to know."""

    listen: tuple[str, ...] = ()
    """Addresses to listen on; none means that others cannot dial us."""
    bootstrap: tuple[str, ...] = ()
    """Addresses that are dialed at the start, and again whenever they are lost."""
    key_file: Path | None = None
    """Where our key is kept; without it, a new key for every run."""
    spool: Path | None = None
    """A folder in which delivered messages and trace events are kept; see docs/spool.md."""
    router: Router | None = None
    """A router of the user's own, in place of the network's."""
    close_timeout: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds that closing may take before connections are cut."""
    validator_concurrency: int = Field(default=8192, ge=1)
    """Messages that ``async`` validators may look at at once, all topics together."""

    @field_validator("listen", "bootstrap", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        if value is None:
            return ()
        return (value,) if isinstance(value, str) else value

    @field_validator("listen", "bootstrap")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            try:
                Multiaddr.parse(address)
            except LocalProtocolError as error:
                raise ValueError(str(error)) from None
        return value


class Settings(NamedTuple):
    """The settings of one libp2p network, each with the part that it belongs to."""

    live: LiveParameters
    host: HostParameters
    pubsub: PubsubParameters
    router: GossipsubParameters
    """Without meaning for floodsub, which has no parameters."""


class Key(NamedTuple):
    """One key that can be set."""

    name: str
    type: Any
    default: Any


PartType = TypeVar("PartType", bound=Parameters)

NETWORKS = ("floodsub", "gossipsub")


def read_settings(network: str, given: Mapping[str, Any]) -> Settings:
    """Sort out what the user gave; :class:`ConfigError` names the first key that is wrong."""
    known = known_keys(network)
    for key in given:
        if key not in known:
            raise ConfigError(key, unknown_key(key, known))
    values = {key: _converted(known[key], value) for key, value in given.items()}
    connection = _connection_limits(values)
    if connection is not None:
        values["connection"] = connection
    return Settings(
        live=_part(LiveParameters, values),
        host=_part(HostParameters, values),
        pubsub=_part(PubsubParameters, values),
        router=_part(GossipsubParameters, values),
    )


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name.

    >>> known_keys("floodsub")["max_connections"].default
    256
    """
    if network not in NETWORKS:
        raise ConfigError("network", f"must be one of {', '.join(NETWORKS)}, not {network!r}")
    parts: list[type[Parameters]] = [LiveParameters, HostParameters, PubsubParameters]
    if network == "gossipsub":
        parts.append(GossipsubParameters)
    keys = {key.name: key for part in parts for key in _keys_of(part)}
    del keys["connection"]
    hints = get_type_hints(ConnectionLimits)
    for field in dataclasses.fields(ConnectionLimits):
        keys[field.name] = Key(field.name, hints[field.name], field.default)
    return keys


def _keys_of(part: type[Parameters]) -> list[Key]:
    return [
        Key(name, field.annotation, field.get_default(call_default_factory=True))
        for name, field in part.model_fields.items()
    ]


def _part(part: type[PartType], values: Mapping[str, Any]) -> PartType:
    return part(**{key: value for key, value in values.items() if key in part.model_fields})


def _connection_limits(values: Mapping[str, Any]) -> ConnectionLimits | None:
    """Limits of connections are a plain dataclass: types are looked at here."""
    hints = get_type_hints(ConnectionLimits)
    own = {key: value for key, value in values.items() if key in hints}
    for key, value in own.items():
        try:
            own[key] = TypeAdapter(hints[key]).validate_python(value)
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            problem = f"{message[0].lower()}{message[1:]} (got {value!r})"
            raise ConfigError(key, problem) from None
    return ConnectionLimits(**own) if own else None


def _converted(key: Key, value: Any) -> Any:
    """``value`` as the key wants it; numbers and truth values are left to the parameters."""
    if not isinstance(value, str):
        return value
    kinds = _kinds(key.type)
    if types.NoneType in kinds and value.lower() in ("none", "null", ""):
        return None
    if kinds & {tuple, list, set, frozenset} and not value.startswith("["):
        return [each.strip() for each in value.split(",") if each.strip()]
    if kinds & {tuple, list, set, frozenset, dict, Mapping}:
        try:
            return json.loads(value)
        except ValueError:
            raise ConfigError(key.name, f"must be JSON, not {value!r}") from None
    return value


def _kinds(annotation: Any) -> set[Any]:
    """What an annotation allows, without what stands in brackets."""
    if get_origin(annotation) in (Union, types.UnionType):
        return {kind for each in get_args(annotation) for kind in _kinds(each)}
    return {get_origin(annotation) or annotation}
