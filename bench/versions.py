"""Versions: of the machine, and of what every contestant is made of."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

INTERESTING_FLAGS = ("avx2", "avx512f", "avx512ifma", "aes", "vaes", "sha_ni")
"""What decides how fast Ed25519, ChaCha20 and SHA-256 can be."""


def machine() -> dict[str, Any]:
    """Where and when this is measured."""
    model, flags = _processor()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M %z"),
        "cores": len(os.sched_getaffinity(0)),
        "processor": model,
        "flags": [flag for flag in INTERESTING_FLAGS if flag in flags],
        "system": f"{platform.system()} {platform.release()}",
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _processor() -> tuple[str, set[str]]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine(), set()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {name.strip(): value.strip() for name, value in fields.items()}
    return found.get("model name", platform.machine()), set(found.get("flags", "").split())


def ours(program: Path) -> dict[str, str]:
    """rumormill with what it stands on."""
    packages = ("rumormill", "pynacl", "cryptography", "uvloop", "pydantic")
    return {
        **{name: importlib.metadata.version(name) for name in packages},
        "python": platform.python_version(),
    }


def codec() -> dict[str, dict[str, str]]:
    """Our own parts, and protobuf's library beside them."""
    return {
        "ours": ours(Path()),
        "protobuf": {"protobuf": importlib.metadata.version("protobuf")},
    }


def native(program: Path) -> dict[str, str]:
    """The same with the extension."""
    import rumormill_native

    version = importlib.metadata.version("rumormill-native")
    return {**ours(program), "rumormill-native": f"{version} ({rumormill_native.BACKEND})"}


def rust(program: Path) -> dict[str, str]:
    """The crates that the rust peer was built with."""
    lock = tomllib.loads((program.parent / "package" / "Cargo.lock").read_text())
    wanted = ("libp2p", "libp2p-gossipsub", "libp2p-yamux", "ed25519-dalek", "tokio")
    crates = {crate["name"]: crate["version"] for crate in lock["package"]}
    found = {name: crates[name] for name in wanted if name in crates}
    return {**found, "rustc": _said("rustc", "--version").split()[1]}


def go(program: Path) -> dict[str, str]:
    """The modules that the go peer was built with."""
    modules = (program.parent / "package" / "go.mod").read_text()
    wanted = ("libp2p/go-libp2p", "libp2p/go-libp2p-pubsub", "libp2p/go-yamux/v5", "flynn/noise")
    versions = dict(re.findall(r"^\s+github\.com/(\S+) v(\S+)", modules, re.MULTILINE))
    found = {name.split("/")[1]: versions[name] for name in wanted}
    return {**found, "go": _said("go", "version").split()[2].removeprefix("go")}


def js(program: Path) -> dict[str, str]:
    """The packages that the js peer runs on."""
    modules = program.parent.parent / "node_modules"
    wanted = ("libp2p", "@libp2p/gossipsub", "@libp2p/noise", "@libp2p/yamux")
    found = {
        name: str(json.loads((modules / name / "package.json").read_text())["version"])
        for name in wanted
    }
    return {**found, "node": _said("node", "--version").removeprefix("v")}


def bittorrent_dht(program: Path) -> dict[str, str]:
    """The packages that the peer on the main DHT runs on."""
    modules = program.parent.parent / "node_modules"
    package = json.loads((modules / "bittorrent-dht" / "package.json").read_text())
    return {
        "bittorrent-dht": str(package["version"]),
        "node": _said("node", "--version").removeprefix("v"),
    }


def py(program: Path) -> dict[str, str]:
    """The packages that the py peer runs on."""
    script = (
        "import importlib.metadata as m, sys; print(m.version('libp2p'), sys.version.split()[0])"
    )
    libp2p, python = _said(str(program), "-c", script).split()
    return {"libp2p": libp2p, "python": python}


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
