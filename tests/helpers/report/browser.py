"""A real browser, driven by its own debugging protocol over two pipes: nothing to install for it.

with Browser(find_chromium(), folder) as browser:
    page = browser.open(file)
    assert page.run("document.title") == "..."
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.interop.real_peers import missing_peer

PATIENCE = 60.0
NAMES = ("chromium", "chromium-browser", "google-chrome")

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
)  # fmt: skip

# The protocol is spoken on the descriptors 3 and 4 of the process; copies first, as ours may be
# these very two.
ON_3_AND_4 = """
import fcntl, os, sys
to_browser, from_browser = (fcntl.fcntl(int(it), fcntl.F_DUPFD, 10) for it in sys.argv[1:3])
os.dup2(to_browser, 3)
os.dup2(from_browser, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str:
    """Where the browser is; without one the test is skipped, or fails where all are required."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    missing_peer("browser: chromium is not installed (Debian: apt-get install chromium)")


class Browser:
    """One browser process; its pages load files only."""

    def __init__(self, program: str, folder: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", ON_3_AND_4, str(to_browser), str(from_browser), program, *QUIET,
             "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, AssertionError):
            self.call("Browser.close")
        for descriptor in (self._out, self._in):
            os.close(descriptor)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """One request, and its answer; what happens meanwhile is kept in :attr:`events`."""
        number = next(self._numbers)
        request: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, method: str) -> None:
        """Until an event of this name has happened since the last :meth:`open`."""
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next(deadline))

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"the browser said nothing for {PATIENCE} s"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, file: Path, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        """The file as a page, loaded and drawn."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        self.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=file.as_uri())
        self.wait_for("Page.loadEventFired")
        return page


class Page:
    """One page in the browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One request about this page."""
        return self._browser.call(method, self._session, **parameters)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def size(self, width: int, height: int) -> None:
        """Make the window so large, and wait until the page is drawn for it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        self.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>"
            " requestAnimationFrame(done))))"
        )

    def key(self, name: str) -> None:
        """Press a key, as ``ArrowRight``."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, file: Path) -> None:
        """The window as a picture, to be looked at."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(data))

    @property
    def complaints(self) -> list[Mapping[str, Any]]:
        """Errors, exceptions and messages of the page's own console."""
        wanted = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [event for event in self._browser.events if event.get("method") in wanted]

    @property
    def requests(self) -> list[str]:
        """The addresses of everything that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
