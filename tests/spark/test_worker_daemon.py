from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from rumormill.pipeline.session import SETTINGS

OURS = SETTINGS["spark.python.daemon.module"]


@pytest.mark.parametrize(("module", "says"), [(OURS, False), ("pyspark.daemon", True)])
def test_a_worker_that_java_lets_go_ends_without_a_word(module: str, says: bool) -> None:
    # PySpark's own daemon beside ours: when it says nothing either, ours can go.
    told = let_go(module)
    assert ("Traceback" in told) is says
    assert ("Broken pipe" in told) is says


def test_what_else_the_daemon_says_is_heard(capsys: pytest.CaptureFixture[str]) -> None:
    from rumormill.pipeline.worker_daemon import FAREWELL, GONE, print_but_farewells

    print_but_farewells(f"{FAREWELL} ...: {GONE}: [Errno 32]", file=sys.stderr)
    print_but_farewells(f"{FAREWELL} ...: OSError: no space left", file=sys.stderr)
    print_but_farewells("cannot fork", 7, file=sys.stderr)
    heard = capsys.readouterr().err.splitlines()
    assert heard == [f"{FAREWELL} ...: OSError: no space left", "cannot fork 7"]


def let_go(module: str) -> str:
    """What a daemon says on stderr when Java (played here) closes the connection of a worker."""
    settings = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "SPARK_REUSE_WORKER": "1"}
    # Not tmp_path: names of Unix sockets are short.
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", module, "pyspark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **settings, "PYTHON_WORKER_FACTORY_SOCK_DIR": folder},
        ) as daemon,
    ):
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        try:
            (length,) = struct.unpack("!i", daemon.stdout.read(4))
            with socket.socket(socket.AF_UNIX) as java:
                java.connect(daemon.stdout.read(length).decode())
                (worker,) = struct.unpack("!i", java.recv(4))
            while Path(f"/proc/{worker}").exists():
                time.sleep(0.01)
            return daemon.communicate(timeout=30)[1].decode()
        finally:
            daemon.stdin.close()  # then it ends
