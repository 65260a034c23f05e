"""The programs on the SDKs without a node: what our own is held against must work first."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.helpers.interop.bcos_go import GoSdk
from tests.helpers.interop.bcos_java import JavaSdk
from tests.helpers.interop.bcos_sdk import SdkProcess
from tests.helpers.interop.bcos_town import SDKS
from tests.helpers.interop.peer_process import PeerProcessError
from tests.helpers.ports import own_port


@pytest.fixture(params=SDKS)
async def sdk(request: pytest.FixtureRequest) -> AsyncIterator[SdkProcess]:
    program = request.getfixturevalue(f"bcos_{request.param}_program")
    kind = {"go": GoSdk, "java": JavaSdk}[request.param]
    async with await kind.start(program) as process:
        yield process


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """Of an SDK that certifies itself."""
    certificate, key = tmp_path / "sdk.crt", tmp_path / "sdk.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=sdk"]
    command = [*words, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    (tmp_path / "ca.crt").write_bytes(certificate.read_bytes())
    return tmp_path


async def test_it_says_so_if_no_node_is_there(sdk: SdkProcess, certificates: Path) -> None:
    with pytest.raises(PeerProcessError, match=r"(?s)could not connect: .*refused"):
        await sdk.connect("nobody", f"127.0.0.1:{own_port()}", certificates)


async def test_a_command_for_nobody_is_refused(sdk: SdkProcess) -> None:
    with pytest.raises(PeerProcessError, match=r"could not subscribe: .*no such client"):
        await sdk.tell("subscribe", client="nobody", topic="weather")


async def test_it_ends_with_its_stdin(sdk: SdkProcess) -> None:
    assert await sdk.abandon() == 0
