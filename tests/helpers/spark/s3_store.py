"""An S3 store on loopback: moto's server, in a thread of this process."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from moto.server import ThreadedMotoServer

from tests.helpers.ports import HOST


@dataclass(frozen=True)
class S3Store:
    """Where it answers; any key opens it."""

    address: str

    @property
    def environment(self) -> dict[str, str]:
        """By which Amazon's tools find it, in Java and in Python; executors inherit it."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": "anybody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def settings(self, catalog: str = "lake") -> dict[str, str]:
        """By which Spark finds it, wherever its executors run."""
        start = f"spark.sql.catalog.{catalog}"
        return {
            f"{start}.s3.endpoint": self.address,
            f"{start}.s3.path-style-access": "true",
            f"{start}.s3.access-key-id": "anybody",
            f"{start}.s3.secret-access-key": "nothing",
            f"{start}.client.region": "us-east-1",
        }


@contextmanager
def s3_store(*buckets: str) -> Iterator[S3Store]:
    """Run one with these buckets until the block ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        store = S3Store(f"http://{HOST}:{port}")
        for bucket in buckets:
            make = urllib.request.Request(f"{store.address}/{bucket}", method="PUT")
            urllib.request.urlopen(make, timeout=30).close()
        yield store
    finally:
        server.stop()
