"""``format("rumormill")``: captured messages and trace events as DataFrames, batch or stream.

    spark.dataSource.register(RumormillSource)
    stream = (
        spark.readStream.format("rumormill")
        .option("node", "http://127.0.0.1:7700")
        .option("subscribe", "weather")
        .load()
    )

The options are in :mod:`rumormill.pipeline.source.options`, the columns in
:mod:`rumormill.pipeline.source.columns`. Writing to it publishes:
:mod:`rumormill.pipeline.source.sink`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from rumormill.pipeline.source.columns import arrow_schema, check_schema, spark_schema
from rumormill.pipeline.source.filters import batch_reader
from rumormill.pipeline.source.options import SourceOptions, read_source_options
from rumormill.pipeline.source.reading import ReadPlan
from rumormill.pipeline.source.stream import StreamReader

if TYPE_CHECKING:
    from rumormill.pipeline.source.sink import BatchSink, StreamSink


class RumormillSource(DataSource):
    """Register it once a session: ``spark.dataSource.register(RumormillSource)``.

    Sessions of :func:`rumormill.pipeline.spark_session` know it already.
    """

    @classmethod
    def name(cls) -> str:
        """As in ``format("rumormill")``."""
        return "rumormill"

    def schema(self) -> StructType:
        """The columns of the kind that is read."""
        # Spark does not say here whether it will be a stream; that is checked later.
        options = read_source_options(self.options, streaming=None)
        return spark_schema(options.kind, options.headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Everything between two places, once."""
        options = read_source_options(self.options, streaming=False)
        return batch_reader(options, _plan(options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Everything from a place on, for ever."""
        options = read_source_options(self.options, streaming=True)
        return StreamReader(options, _plan(options, schema))

    # The sink brings an HTTP client, which every Python worker of a reader would wait for.

    def writer(self, schema: StructType, overwrite: bool) -> BatchSink:
        """Publishes the rows of a DataFrame."""
        from rumormill.pipeline.source.sink import BatchSink, read_sink_options

        return BatchSink(read_sink_options(self.options, schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamSink:
        """Publishes the rows of a stream."""
        from rumormill.pipeline.source.sink import StreamSink, read_sink_options

        return StreamSink(read_sink_options(self.options, schema, overwrite))


def _plan(options: SourceOptions, schema: StructType) -> ReadPlan:
    check_schema(options.kind, schema)
    return ReadPlan(
        kind=options.kind,
        schema=arrow_schema(options.kind, schema.names),
        topics=options.topics,
        pattern=options.pattern,
        token=options.token,
        fail_on_data_loss=options.fail_on_data_loss,
        retry_seconds=options.retry_seconds,
    )
