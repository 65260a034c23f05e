"""Kafka in the benchmarks: what it is told, and what is said when it cannot take part."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.kafka import install
from bench.kafka.broker import answer, settings
from bench.kafka.install import Kafka, MissingKafkaError
from rumormill.core.errors import ConfigError

POM = Path(install.__file__).with_name("pom.xml")
SPACE = {"m": "http://maven.apache.org/POM/4.0.0"}


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(install, "java_home", lambda: tmp_path / "java")


def test_without_maven_it_does_not_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingKafkaError, match=r"^no mvn$"):
        install.find()


def test_without_java_it_does_not_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise ConfigError("JAVA_HOME", "there is none")

    monkeypatch.setattr(install, "java_home", none)
    with pytest.raises(MissingKafkaError, match=r"^no Java$"):
        install.find()


def test_a_maven_that_fails_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    maven = tools / "mvn"
    maven.write_text("#!/bin/sh\necho '[ERROR] no route to Central'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    with pytest.raises(MissingKafkaError, match=r"^mvn failed: no route to Central$"):
        install.find()
    assert not (install.cache() / "complete").exists()


def test_what_was_fetched_once_needs_no_maven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    install.cache().mkdir(parents=True)
    (install.cache() / "complete").touch()
    assert install.find().broker.parent == install.cache()


def test_its_versions_are_those_of_the_jars(tmp_path: Path) -> None:
    for name in (
        "broker/kafka_2.13-4.1.0.jar",
        "broker/kafka-clients-4.1.0.jar",
        "connector/spark-sql-kafka-0-10_2.13-4.2.0.jar",
        "connector/kafka-clients-3.9.0.jar",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    kafka = Kafka(tmp_path, tmp_path / "broker", tmp_path / "connector", tmp_path)
    assert kafka.versions() == {"broker": "4.1.0", "connector": "4.2.0", "client": "3.9.0"}
    assert len(kafka.connector_jars.split(",")) == 2


def test_everything_that_is_fetched_has_a_fixed_version_and_no_address() -> None:
    tree = ElementTree.parse(POM)
    found = tree.findall(".//m:dependency", SPACE) + tree.findall(".//m:plugin", SPACE)
    versions = [each.findtext("m:version", "", SPACE) for each in found]
    assert len(versions) == 6
    assert all(re.fullmatch(r"[0-9.]+", version) for version in versions)
    assert not tree.findall(".//m:repository", SPACE) + tree.findall(".//m:pluginRepository", SPACE)


def test_the_broker_listens_on_loopback_only(tmp_path: Path) -> None:
    told = settings(1111, 2222, tmp_path)
    for key in ("listeners", "advertised.listeners", "controller.quorum.voters"):
        assert set(re.findall(r"([\w.]+):\d+", told[key])) == {"127.0.0.1"}
    assert told["log.dirs"] == str(tmp_path)


def test_a_producer_that_fails_is_a_kafka_that_is_missing() -> None:
    process = subprocess.Popen(["false"], stdout=subprocess.PIPE, text=True)
    with pytest.raises(MissingKafkaError, match="ended with 1"):
        answer(process)
