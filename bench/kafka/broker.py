"""A broker of its own on loopback, in a process that ends with the benchmark."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bench
from bench.kafka.install import Kafka, MissingKafkaError

HEAP = ("-Xmx1g", "-Xms1g")
"""As Kafka's own script has it."""
PATIENCE = 60.0
"""Seconds until the port is open; four on a machine at rest."""


def settings(port: int, controller_port: int, folder: Path) -> dict[str, str]:
    """What the broker is told: one node, all by itself, on loopback."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(folder),
        # There is nobody to keep a second copy.
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }


class Broker:
    """A running broker."""

    def __init__(self, kafka: Kafka, servers: str, pid: int) -> None:
        self.servers = servers
        """As ``kafka.bootstrap.servers`` wants it."""
        self.pid = pid
        self._producer = kafka.producer

    def producer(self, *arguments: object) -> subprocess.Popen[str]:
        """Start :mod:`bench.kafka.producer`."""
        words = [str(each) for each in (self.servers, *arguments)]
        command = [str(self._producer), "-m", "bench.kafka.producer", *words]
        return subprocess.Popen(command, cwd=bench.ROOT, stdout=subprocess.PIPE, text=True)

    def produce(self, *arguments: object) -> dict[str, Any]:
        """Run :mod:`bench.kafka.producer`; returns what it says."""
        return answer(self.producer(*arguments))


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a program that says one thing, and return it."""
    with process:
        assert process.stdout is not None
        said = process.stdout.read()
    if process.returncode:
        raise MissingKafkaError(f"the producer ended with {process.returncode}")
    found: dict[str, Any] = json.loads(said)
    return found


@contextmanager
def running_broker(kafka: Kafka, folder: Path) -> Iterator[Broker]:
    """A broker that keeps its data in ``folder``, until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    port, controller_port = _free_ports(2)
    file = folder / "server.properties"
    lines = settings(port, controller_port, folder / "data").items()
    file.write_text("".join(f"{key}={value}\n" for key, value in lines))
    java = [str(kafka.java), *HEAP, "-cp", f"{kafka.broker}/*"]
    with (folder / "log").open("wb") as log:
        cluster = (
            base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")
        )
        formatting = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file)]
        if subprocess.run([*java, *formatting], stdout=log, stderr=log).returncode:
            raise MissingKafkaError(f"its storage could not be formatted: {_tail(folder / 'log')}")
        process = subprocess.Popen([*java, "kafka.Kafka", str(file)], stdout=log, stderr=log)
        try:
            _await_port(process, port, folder / "log")
            yield Broker(kafka, f"127.0.0.1:{port}", process.pid)
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _cluster() -> str:
    """An id as Kafka likes it; a dash at its beginning would pass for an option."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")


def _await_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise MissingKafkaError(f"the broker ended at once: {_tail(log)}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise MissingKafkaError(f"the broker opened no port within {PATIENCE:.0f} s: {_tail(log)}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1][:200] if lines else "it did not say why"
