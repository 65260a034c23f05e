"""A network of its own for a test: an interface with multicast, and nobody else on it.

    with NetworkNamespace.make() as lan, lan.entered():
        peer = await start_rust_peer(listen=f"/ip4/{lan.address}/tcp/0", mdns=True)

What is opened or started between the entrance and the exit belongs to the network and stays in
it: sockets of this thread, threads and processes that it starts. mDNS is tested in here, so that
no multicast reaches the network of the machine and no node of that network reaches the test.

The network lives as long as the process that holds it, and that process ends with its stdin: a
test run that is killed leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.helpers.interop.real_peers import missing_peer

ADDRESS = "10.77.0.1"
INTERFACE = "lan0"
READY = "ready"
LONGEST_SETUP = 20

# The kind of namespace that setns() is to accept.
CLONE_NEWNET = 0x40000000

# A cable whose other end lies loose: no IPv6 there, or what is sent would come back as heard.
# Addresses are used at once, without asking whether somebody else has them.
SETUP = f"""set -e
ipv6() {{ if [ -d /proc/sys/net/ipv6/conf/$1 ]; then echo $3 > /proc/sys/net/ipv6/conf/$1/$2; fi; }}
ipv6 all accept_dad 0
ipv6 default accept_dad 0
ip link set dev lo up
ip link add name {INTERFACE} type veth peer name loose
ipv6 loose disable_ipv6 1
ip address add {ADDRESS}/24 dev {INTERFACE}
ip link set dev loose up
ip link set dev {INTERFACE} up
ip route add 224.0.0.0/4 dev {INTERFACE}
echo {READY}
exec cat
"""


class NetworkNamespace:
    """A network that the test made. Leaving the context removes it."""

    def __init__(self, holder: subprocess.Popen[str]) -> None:
        self.address = ADDRESS
        """The IPv4 address of the interface, which all nodes in it share."""
        self.interface = INTERFACE
        self._holder = holder

    @classmethod
    def make(cls) -> Self:
        """Make one; skips or fails the test where that is not possible, with the reason."""
        for tool in ("unshare", "ip"):
            if shutil.which(tool) is None:
                missing_peer(f"a network of its own needs the program {tool}")
        if os.geteuid() != 0:
            missing_peer("a network of its own needs root")
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", SETUP],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        namespace = cls(holder)
        assert holder.stdout is not None
        # An empty line is the end: of a holder that was not allowed to do it.
        if holder.stdout.readline().strip() != READY:
            problem = namespace.remove()
            missing_peer(f"a network of its own could not be made: {problem}")
        return namespace

    @contextmanager
    def entered(self) -> Iterator[None]:
        """This thread, and what it starts, in the network; back in the old one afterwards."""
        outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            inside = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                _move_to(inside)
            finally:
                os.close(inside)
            try:
                yield
            finally:
                _move_to(outside)
        finally:
            os.close(outside)

    def run(self, *command: str) -> str:
        """What a command prints that is run in the network, such as ``ip route``."""
        with self.entered():
            finished = subprocess.run(
                command, capture_output=True, text=True, timeout=LONGEST_SETUP, check=True
            )
        return finished.stdout

    def remove(self) -> str:
        """Let it go, once the processes in it have ended; returns what went wrong, if anything."""
        try:
            _, problem = self._holder.communicate(timeout=LONGEST_SETUP)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            _, problem = self._holder.communicate()
        return " ".join(problem.split()) or f"exit code {self._holder.returncode}"

    @property
    def _path(self) -> Path:
        return Path("/proc", str(self._holder.pid), "ns", "net")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


def _move_to(namespace: int) -> None:
    # os.setns() comes with Python 3.12.
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter the network: {os.strerror(number)}")
