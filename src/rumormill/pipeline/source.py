"""``format("rumormill")``: captured messages and trace events as DataFrames, batch or stream.

    spark.dataSource.register(RumormillSource)
    stream = (
        spark.readStream.format("rumormill")
        .option("node", "http://127.0.0.1:7700")
        .option("subscribe", "weather")
        .load()
    )

The options are in :mod:`rumormill.pipeline.options`, the columns in
:mod:`rumormill.pipeline.columns`. Writing to it publishes: :mod:`rumormill.pipeline.sink`.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rumormill.pipeline.columns import check_schema, spark_schema
from rumormill.pipeline.options import SourceOptions, read_source_options
from rumormill.pipeline.reading import ReadPlan
from rumormill.pipeline.sink import BatchSink, StreamSink, read_sink_options
from rumormill.pipeline.source_batch import BatchReader
from rumormill.pipeline.source_stream import StreamReader


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
        streaming = "endingOffsets" not in self.options and "endingTimestamp" not in self.options
        options = read_source_options(self.options, streaming=streaming)
        return spark_schema(options.kind, options.headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Everything between two places, once."""
        options = read_source_options(self.options, streaming=False)
        return BatchReader(options, _plan(options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Everything from a place on, for ever."""
        options = read_source_options(self.options, streaming=True)
        return StreamReader(options, _plan(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> BatchSink:
        """Publishes the rows of a DataFrame."""
        return BatchSink(read_sink_options(self.options, schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamSink:
        """Publishes the rows of a stream."""
        return StreamSink(read_sink_options(self.options, schema, overwrite))


def _plan(options: SourceOptions, schema: StructType) -> ReadPlan:
    check_schema(options.kind, schema)
    return ReadPlan(
        kind=options.kind,
        schema=to_arrow_schema(schema, timezone="UTC"),
        topics=options.topics,
        pattern=options.pattern,
        token=options.token,
        fail_on_data_loss=options.fail_on_data_loss,
        retry_seconds=options.retry_seconds,
    )
