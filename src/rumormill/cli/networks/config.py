"""``node.toml``: one ``[[network]]`` table for each network of a node, and what all share.

    [[network]]
    name = NETWORK
    listen = [ADDRESS]
    bootstrap = [ADDRESS]
    key_file = "node.key"             # relative to this file; made if there is none
    topics = ["weather"]
    relays = ["news"]                 # passed on for others, listened to by nobody here
    topic_files = ["club.topic"]      # the same for topics out of files, where there are such
    relay_files = ["open.topic"]
    certificates = "nodes/0"          # relative, too, where the network has certificates
    max_connections = 16

    [http]
    listen = "127.0.0.1:7700"
    token_file = "token"              # made if there is none; needed where others can reach it
    header_timeout = 10               # and the other limits of docs/http.md

    [spool]
    folder = "spool"                  # see rumormill.cli.networks.spool

Every key of a network but the first eight is a setting of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rumormill.cli.networks.plan import NetworkPlan, load_topics
from rumormill.cli.networks.spool import SpoolPlan, read_spool
from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import ConfigError
from rumormill.live.configuration.setting_keys import names_files
from rumormill.live.configuration.settings import known_keys
from rumormill.live.family.families import find_family, network_names
from rumormill.node.settings import LIMIT_KEYS, HttpLimits, HttpSettings, read_http_settings

OWN_KEYS = (
    "name", "listen", "bootstrap", "topics", "relays", "key_file", "topic_files", "relay_files",
)  # fmt: skip
TABLES = ("network", "http", "spool")
"""What may stand at the top of the file."""


@dataclass(frozen=True)
class NodePlan:
    """All that a node is to do."""

    networks: tuple[NetworkPlan, ...]
    http: HttpSettings | None = None
    spool: SpoolPlan | None = None


def load_config(path: Path) -> NodePlan:
    """The node that a configuration file asks for."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from error
    except RecursionError:
        raise UsageError(f"{path} is no TOML that can be read: it is nested too deep") from None
    try:
        networks = read_config(tables, path.parent)
        http = read_http(tables, path.parent)
        return NodePlan(tuple(networks), http, read_spool(tables.get("spool"), path.parent))
    except (UsageError, ConfigError) as error:
        raise UsageError(f"{path}: {error}") from error


def read_config(tables: Mapping[str, Any], folder: Path) -> list[NetworkPlan]:
    """The networks of what is already parsed; paths are relative to ``folder``."""
    for key in tables:
        if key not in TABLES:
            raise UsageError(f"{key}: there is no such key; networks are [[network]] tables")
    networks = tables.get("network", [])
    if not isinstance(networks, list) or not all(isinstance(table, dict) for table in networks):
        raise UsageError("network: write [[network]], with two brackets, above each network")
    if not networks:
        raise UsageError("there is no [[network]] table in it")
    return [_plan(table, folder) for table in networks]


def read_http(tables: Mapping[str, Any], folder: Path) -> HttpSettings | None:
    """Where the node answers over HTTP, if it is to do so."""
    table = tables.get("http")
    if table is None:
        return None
    if not isinstance(table, dict):
        raise UsageError("http: write [http], and its keys below")
    for key, value in table.items():
        if key in LIMIT_KEYS:
            continue
        if key not in ("listen", "token_file"):
            known = ", ".join(("listen", "token_file", *LIMIT_KEYS))
            raise UsageError(f"http.{key}: there is no such key, only {known}")
        if not isinstance(value, str):
            raise UsageError(f"http.{key}: must be a text, not {value!r}")
    if "listen" not in table:
        raise UsageError("http.listen: is missing, as in 127.0.0.1:7700")
    token_file = table.get("token_file")
    limits = HttpLimits(**{key: table[key] for key in LIMIT_KEYS if key in table})
    return read_http_settings(table["listen"], folder / token_file if token_file else None, limits)


def _plan(table: Mapping[str, Any], folder: Path) -> NetworkPlan:
    if "spool" in table:
        raise UsageError("spool: all networks share one, so write it into a table [spool]")
    key_file = table.get("key_file")
    if key_file is not None and not isinstance(key_file, str):
        raise UsageError(f"key_file: must be the path of a file, not {key_file!r}")
    name = _network_name(table.get("name"))
    settings = _settings(name, table, folder)
    topic_files, relay_files = (
        [folder / each for each in _texts(table, key)] for key in ("topic_files", "relay_files")
    )
    described = load_topics(name, (*topic_files, *relay_files))
    return NetworkPlan(
        name=name,
        listen=_texts(table, "listen", find_family(name).default_listen(settings)),
        bootstrap=_texts(table, "bootstrap"),
        key_file=None if key_file is None else folder / key_file,
        topics=(*_texts(table, "topics"), *[described[each].topic_id for each in topic_files]),
        relays=(*_texts(table, "relays"), *[described[each].topic_id for each in relay_files]),
        settings=settings,
        described={topic.topic_id: topic for topic in described.values()},
    ).checked("listen", "bootstrap")


def _settings(network: str, table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What is left for the network; files are relative to ``folder``."""
    known = known_keys(network)
    settings = {key: value for key, value in table.items() if key not in OWN_KEYS}
    for key, value in settings.items():
        if key in known and names_files(known[key].type):
            settings[key] = _within(folder, value)
    return settings


def _within(folder: Path, value: Any) -> Any:
    """Texts as paths in a folder; what else it is, the network says what is wrong with it."""
    if isinstance(value, list):
        return [_within(folder, each) for each in value]
    return folder / value if isinstance(value, str) else value


def _network_name(name: Any) -> str:
    known = network_names()
    if name not in known:
        raise UsageError(f"name: must be one of {', '.join(known)}, not {name!r}")
    return str(name)


def _texts(table: Mapping[str, Any], key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    value = table.get(key, default)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(item, str) for item in values):
        raise UsageError(f"{key}: must be a list of texts, not {value!r}")
    return tuple(values)
