"""Kafka's parts, fetched once into a cache outside the tree: broker, connector, producer.

Maven fetches the jars that ``pom.xml`` names, pip the producer's library. Where one of them cannot
work, Kafka does not take part, and the results say why.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rumormill.core.errors import ConfigError
from rumormill.pipeline.java import java_home

HERE = Path(__file__).parent
SOURCES = (HERE / "pom.xml", HERE / "requirements.txt")
PATIENCE = 600
"""Seconds for one step: 50 MB come over the network."""


class MissingKafkaError(Exception):
    """Kafka cannot take part; the text says why."""


@dataclass(frozen=True)
class Kafka:
    """Where its parts are."""

    java: Path
    broker: Path
    """A folder of jars."""
    connector: Path
    """A folder of jars."""
    producer: Path
    """A Python that has the producer's library."""

    @property
    def connector_jars(self) -> str:
        """As ``spark.jars`` wants it."""
        return ",".join(str(jar) for jar in sorted(self.connector.glob("*.jar")))

    def versions(self) -> dict[str, str]:
        """What it is made of: the names of the jars say it."""
        wanted = {"broker": "kafka_2.13-", "connector": "spark-sql-kafka-0-10_2.13-"}
        found = {
            name: jar.stem.removeprefix(prefix)
            for name, prefix in wanted.items()
            for jar in getattr(self, name).glob(f"{prefix}*.jar")
        }
        (client,) = self.connector.glob("kafka-clients-*.jar")
        return {**found, "client": client.stem.removeprefix("kafka-clients-")}


def cache() -> Path:
    """The folder outside the tree, for these versions of what is wanted."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()
    return Path(home) / "rumormill" / "kafka" / digest[:16]


def find() -> Kafka:
    """Kafka, fetched now or earlier; raises :class:`MissingKafkaError`."""
    try:
        java = java_home() / "bin" / "java"
    except ConfigError:
        raise MissingKafkaError("no Java") from None
    folder = cache()
    kafka = Kafka(
        java, folder / "broker", folder / "connector", folder / "environment" / "bin" / "python"
    )
    done = folder / "complete"
    if done.exists():
        return kafka
    if shutil.which("mvn") is None:
        raise MissingKafkaError("no mvn")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _fetch(folder)
            done.touch()
    return kafka


def _fetch(folder: Path) -> None:
    for name in ("broker", "connector"):
        _step(
            folder, "mvn", "--batch-mode", "--quiet", "--file", str(HERE / "pom.xml"),
            f"--activate-profiles={name}", "dependency:copy-dependencies",
            "-DincludeScope=runtime", f"-DoutputDirectory={folder / name}",
        )  # fmt: skip
    _step(folder, sys.executable, "-m", "venv", "environment")
    pip = [str(folder / "environment" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    _step(folder, *pip, "--disable-pip-version-check", "--requirement", str(SOURCES[1]))


def _step(folder: Path, *command: str) -> None:
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            ["nice", "-n", "10", *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise MissingKafkaError(f"{name} did not end within {PATIENCE} s") from None
    if done.returncode:
        raise MissingKafkaError(f"{name} failed: {reason(done.stdout + done.stderr)}")


def reason(output: str) -> str:
    """The first line that speaks of an error, without Maven's colours and prefix.

    >>> reason("[INFO] begins\\n[ERROR] Failed to resolve kafka_2.13\\n[ERROR] more")
    'Failed to resolve kafka_2.13'
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    first = next((line for line in lines if "ERROR" in line.upper()), lines[-1] if lines else "")
    return first.split("ERROR] ")[-1][:200] or "it did not say why"
