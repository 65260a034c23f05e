"""The Java side of Iceberg: found on this machine, or fetched once by Spark itself.

A Maven coordinate is ``group:artifact:version``. A jar that an earlier Spark, Maven or ``make
setup`` has left is given to Spark as a path, so that no session waits for a resolution.

    python -m rumormill.pipeline.lake.jars        # fetch what tables in a folder and on s3:// need
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyspark

from rumormill.core.errors import ConfigError
from rumormill.pipeline.java import java_home
from rumormill.system.tables_location import OPTION, Kind, Location, parse_tables

ICEBERG: Final = "1.12.0"
RUNTIME: Final = "iceberg-spark-runtime"
RUNTIMES: Final = {"4.1": f"org.apache.iceberg:{RUNTIME}-4.1_2.13:{ICEBERG}"}
"""By the version of pyspark. Each fails with any other."""
AWS: Final = f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG}"
SQLITE: Final = "org.xerial:sqlite-jdbc:3.50.3.0"

IVY_FOLDERS: Final = (".ivy2.5.2", ".ivy2")
"""In the home folder: Spark's caches, the newer one first."""

TIMEOUTS: Final = (
    "-Dsun.net.client.defaultConnectTimeout=10000 -Dsun.net.client.defaultReadTimeout=60000"
)

PATIENCE: Final = 600.0
"""Seconds for all of them to come; they are 130 MB together."""

ADVICE: Final = (
    "Spark fetches them from Maven Central once, and keeps them: try again where it is in reach, "
    "or name a mirror with --conf spark.jars.repositories=URL, or jars with --conf spark.jars=PATHS"
)


def needed(location: Location, given: str = "") -> list[str]:
    """The coordinates of what Spark must have for tables there.

    ``given``: paths or coordinates that the user has named; what is among them, of whatever
    version, is the user's affair.
    """
    if location.kind is Kind.CATALOG:
        return []  # whoever has a catalog has what it takes
    found = [] if RUNTIME in given else [runtime()]
    if location.kind is Kind.S3:
        found += [each for each in (AWS, SQLITE) if each.split(":")[1] not in given]
    return found


def runtime(version: str = pyspark.__version__) -> str:
    """The table format for a version of pyspark.

    >>> runtime("4.1.4")
    'org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0'
    """
    short = ".".join(version.split(".")[:2])
    if short not in RUNTIMES:
        raise ConfigError(
            OPTION,
            f"there is no Iceberg for pyspark {version} yet: pip install 'pyspark>=4.1,<4.2' brings"
            " one that has it (source and sink work with this one too)",
        )
    return RUNTIMES[short]


def local_jars(coordinates: Iterable[str], repositories: str = "") -> list[Path]:
    """Paths of these jars; what this machine does not have is fetched, or :class:`ConfigError`."""
    wanted = list(coordinates)
    missing = [each for each in wanted if find(each) is None]
    if missing:
        fetch(missing, repositories)
    found = [find(each) for each in wanted]
    return [path for path in found if path is not None]


def find(coordinate: str) -> Path | None:
    """The jar, if Spark or Maven have it already."""
    group, artifact, version = coordinate.split(":")
    home = Path.home()
    inside_maven = Path(*group.split("."), artifact, version, f"{artifact}-{version}.jar")
    places = [
        Path(pyspark.__file__).parent / "jars" / f"{artifact}-{version}.jar",
        *(home / ivy / "jars" / f"{group}_{artifact}-{version}.jar" for ivy in IVY_FOLDERS),
        home / ".m2" / "repository" / inside_maven,
    ]
    return next((path for path in places if path.is_file()), None)


def fetch(coordinates: Iterable[str], repositories: str = "") -> None:
    """Have Spark bring jars into its own cache; :class:`ConfigError` if it cannot."""
    names = ",".join(coordinates)
    home = Path(pyspark.__file__).parent
    cache = Path.home() / IVY_FOLDERS[0]
    options = ["--packages", names, "--conf", f"spark.jars.ivy={cache}"]
    if repositories:
        options += ["--repositories", repositories]
    surroundings = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        # By default Java waits for minutes for an address that does not answer.
        "SPARK_SUBMIT_OPTS": f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {TIMEOUTS}".strip(),
    }
    # Spark's own way ends in running something: a program that does nothing.
    with tempfile.NamedTemporaryFile(suffix=".py") as nothing:
        command = [str(home / "bin" / "spark-submit"), *options, nothing.name]
        try:
            done = subprocess.run(
                command, env=surroundings, capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            raise ConfigError(OPTION, f"no {names} within {PATIENCE:.0f} s; {ADVICE}") from None
    absent = [each for each in names.split(",") if find(each) is None]
    if done.returncode or absent:
        raise ConfigError(OPTION, f"cannot get {', '.join(absent) or names}; {ADVICE}")


def main() -> int:
    """For ``make setup``: fetch what is not there; 1 with a sentence if that fails."""
    try:
        local_jars(needed(parse_tables("s3://any/where")))
    except ConfigError as error:
        sys.stderr.write(f"{error.problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
