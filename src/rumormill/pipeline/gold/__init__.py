"""What one wants to know of a network: tables for people, made from silver.

Each is one function, declared with :func:`gold_table`; see :mod:`rumormill.pipeline.gold.registry`.
Importing this room declares the tables of this house, in an order in which they can be made.
"""

from rumormill.pipeline.gold.alerts import AlertParameters, alerts, alerts_with
from rumormill.pipeline.gold.causes import causes
from rumormill.pipeline.gold.clocks import clocks
from rumormill.pipeline.gold.events import events
from rumormill.pipeline.gold.latencies import latencies
from rumormill.pipeline.gold.lifetimes import lifetimes
from rumormill.pipeline.gold.links import links
from rumormill.pipeline.gold.mesh_minutes import mesh_minutes
from rumormill.pipeline.gold.nodes import nodes
from rumormill.pipeline.gold.peers import peers
from rumormill.pipeline.gold.problems import problems
from rumormill.pipeline.gold.publishers import publishers
from rumormill.pipeline.gold.registry import HOUSE, GoldTable, Registry, Tables, gold_table
from rumormill.pipeline.gold.scores import scores
from rumormill.pipeline.gold.slowest import slowest
from rumormill.pipeline.gold.topics import topics
from rumormill.pipeline.gold.values import values

__all__ = [
    "HOUSE",
    "AlertParameters",
    "GoldTable",
    "Registry",
    "Tables",
    "alerts",
    "alerts_with",
    "causes",
    "clocks",
    "events",
    "gold_table",
    "latencies",
    "lifetimes",
    "links",
    "mesh_minutes",
    "nodes",
    "peers",
    "problems",
    "publishers",
    "scores",
    "slowest",
    "topics",
    "values",
]
