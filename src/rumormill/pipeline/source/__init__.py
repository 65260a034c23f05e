"""``format("rumormill")``: reading what was captured, and publishing, with Spark.

:class:`RumormillSource` is what Spark is told of; :class:`SpoolReader` reads batch by batch for a
program that keeps the place itself.
"""

from rumormill.pipeline.source.data_source import RumormillSource
from rumormill.pipeline.source.places import SpoolPlace, StreamPlace, read_place
from rumormill.pipeline.source.spool_reader import SpoolReader

__all__ = ["RumormillSource", "SpoolPlace", "SpoolReader", "StreamPlace", "read_place"]
