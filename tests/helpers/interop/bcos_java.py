"""The Java SDK of FISCO BCOS as a test peer: ``tests/interop/peers/bcos-java``.

Its packages are brought by Maven once for each version of ``pom.xml``, and the program is compiled
once for each version of its source, both into the cache outside the tree.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.helpers.interop.bcos_sdk import SdkProcess
from tests.helpers.interop.real_peers import SOURCES, cached, require_tools, run_build

FOLDER = "bcos-java"
OLDEST_JAVA = "17"
# It starts sooner: nothing here runs long enough to be worth more of the compiler's time.
OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"]
LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


class JavaSdk(SdkProcess):
    """A process with clients on the Java SDK, which takes RSA certificates only."""

    language = FOLDER

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the list of its class path."""
        java = ["java", *OPTIONS, LOG, "-cp", program.read_text(), "Peer", "/dev/fd/3"]
        # The SDK's native library prints to stdout, in the middle of what we wait for.
        return ["sh", "-c", 'exec "$@" 3>&1 1>&2', "sh", *java]


def built_program() -> Path:
    """A file with the class path of the program, compiled; skips or fails if there is no way."""
    require_tools(FOLDER, "java", "javac", "mvn")
    source = SOURCES / FOLDER
    packages = cached(f"{FOLDER}-packages", [source / "pom.xml"], _bring_packages) / "packages"

    def compile(folder: Path) -> None:
        # An old annotation processor among the packages does not run on this Java.
        options = ["-proc:none", "--release", OLDEST_JAVA, "-d", str(folder / "classes")]
        files = ["-cp", f"{packages}/*", str(source / "Peer.java")]
        run_build(FOLDER, ["javac", *options, *files], folder, timeout=120)
        places = [str(folder / "classes"), *sorted(str(each) for each in packages.iterdir())]
        (folder / "class-path").write_text(os.pathsep.join(places))

    sources = [source / "pom.xml", source / "Peer.java"]
    return cached(FOLDER, sources, compile) / "class-path"


def _bring_packages(folder: Path) -> None:
    (folder / "pom.xml").write_bytes((SOURCES / FOLDER / "pom.xml").read_bytes())
    # A machine without a network should not wait minutes to learn it.
    options = ["--batch-mode", "--quiet", "-Dmaven.wagon.http.retryHandler.count=1"]
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder / 'packages'}"]
    run_build(FOLDER, ["mvn", *goal, *options], folder, timeout=600)
