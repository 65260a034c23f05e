"""A standalone Spark cluster on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark

from rumormill.pipeline.java import java_home
from rumormill.pipeline.session import LOGGING
from tests.helpers.ports import HOST, own_port

PATIENCE = 240.0
DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Cluster:
    """What runs."""

    master: str
    """``spark://...``"""
    folders: list[Path]
    """Where each worker keeps what its executors leave; no two share anything."""
    workers: list[subprocess.Popen[bytes]]

    def kill_worker(self, number: int) -> None:
        """With -9: the worker, its executors, and their Python; none of them can clean up."""
        process = psutil.Process(self.workers[number].pid)
        family = [process, *process.children(recursive=True)]
        for each in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        self.workers[number].wait(PATIENCE)

    def worked(self, number: int) -> bool:
        """Whether an executor of this worker was ever started."""
        return any(self.folders[number].glob("app-*/*/stderr"))


@contextlib.contextmanager
def spark_cluster(folder: Path, workers: int = 2, memory: str = "700m") -> Iterator[Cluster]:
    """Run one, with one core a worker, until the block ends."""
    port, page = own_port(), own_port()
    with contextlib.ExitStack() as stack:
        run(stack, f"{DEPLOY}.master.Master", "--host", HOST, "--port", str(port),
            "--webui-port", str(page))  # fmt: skip
        await_port(port)
        folders = [folder / f"worker-{number}" for number in range(workers)]
        started = []
        for each in folders:
            process = run(
                stack, f"{DEPLOY}.worker.Worker", f"spark://{HOST}:{port}", "--host", HOST,
                "--webui-port", "0", "--cores", "1", "--memory", memory, "--work-dir", str(each),
            )  # fmt: skip
            started.append(process)
        await_workers(page, workers)
        yield Cluster(f"spark://{HOST}:{port}", folders, started)


def run(stack: contextlib.ExitStack, main: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Java program of Spark's; it is killed when the stack is closed."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "LOG4J_CONFIGURATION_FILE": str(LOGGING),
        "PYSPARK_PYTHON": sys.executable,
    }
    process = stack.enter_context(
        subprocess.Popen([str(home / "bin" / "spark-class"), main, *arguments], env=environment)
    )
    stack.callback(process.kill)
    return process


def await_port(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection((HOST, port), timeout=1):
                return
        except OSError:
            assert time.monotonic() < deadline, "the master does not answer"
            time.sleep(0.1)


def await_workers(page: int, workers: int) -> None:
    """Wait until the master knows of all of them, as its page of JSON tells."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=5) as answer,
        ):
            if answer.read().count(b'"ALIVE"') >= workers + 1:  # and the master itself
                return
        assert time.monotonic() < deadline, "the workers do not come"
        time.sleep(0.1)
