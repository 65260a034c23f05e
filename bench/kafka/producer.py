"""Writes rows to Kafka; runs in the producer's environment, beside the broker.

    python -m bench.kafka.producer SERVERS topic TOPIC PARTITIONS
    python -m bench.kafka.producer SERVERS fill TOPIC PARTITIONS ROWS SIZE
    python -m bench.kafka.producer SERVERS rate TOPIC RATE ROWS SIZE

Prints what it did as JSON. ``fill`` deals the rows out over the partitions, as fast as it can;
``rate`` sends each row when it is due, stamped, with the library's own settings.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from confluent_kafka import Producer  # type: ignore[import-not-found]
from confluent_kafka.admin import (  # type: ignore[import-not-found]
    AdminClient,
    NewTopic,
)

from bench.spark.rows import Rows, steadily

QUICKLY = {"linger.ms": 50, "queue.buffering.max.messages": 500_000}
"""Large batches, to be done soon."""


def create(servers: str, topic: str, partitions: int) -> None:
    """Make a topic."""
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result()


def fill(servers: str, topic: str, partitions: int, count: int, size: int) -> dict[str, Any]:
    """Write all rows."""
    producer = Producer({"bootstrap.servers": servers, **QUICKLY})
    rows = Rows(size)
    for number in range(count):
        value = rows.value(number)
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.1)
    return {"rows": count, "left": producer.flush(120)}


def rate(servers: str, topic: str, per_second: float, count: int, size: int) -> dict[str, Any]:
    """Write rows at a steady rate."""
    failed = 0

    def told(error: object, _: object) -> None:
        nonlocal failed
        failed += error is not None

    producer = Producer({"bootstrap.servers": servers})
    rows = Rows(size)
    for number in steadily(per_second, count):
        value = rows.value(number, time.time_ns() // 1000)
        producer.produce(topic, value, on_delivery=told)
        producer.poll(0)
    return {"rows": count, "left": producer.flush(60), "failed": failed}


def main() -> None:
    """Do what the command line says."""
    servers, what, topic, *numbers = sys.argv[1:]
    first, *rest = (int(number) for number in numbers)
    if what == "topic":
        create(servers, topic, first)
        said: dict[str, Any] = {"topic": topic}
    elif what == "fill":
        create(servers, topic, first)
        said = fill(servers, topic, first, *rest)
    else:
        said = rate(servers, topic, first, *rest)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
