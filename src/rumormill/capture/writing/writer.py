"""The writer of a spool: records are handed over on the event loop, a thread writes them.

    with SpoolWriter("spool") as writer:
        writer.message(message, node="12D3Koo...")
        writer.trace(event, network="mesh")

On a node (``live``) nothing that happens to the disk reaches the event loop. While the disk is full
or fails, the writer tries again and again; records wait in a bounded buffer, then they are dropped.
Every loss is counted, and reported once for each time that it lasts.

For programs that make records faster than a disk takes them (an import, a simulation) there is
``live=False``: a full buffer makes them wait, and a disk that fails is an error.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa

from rumormill.capture.files.folder import IDENTITY, LOCK, Identity, read_identity, write_identity
from rumormill.capture.files.lock import lock_spool
from rumormill.capture.log import SpoolError
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import KINDS, MESSAGES, SCHEMAS, TRACE
from rumormill.capture.writing.lane import READY_BATCHES, RECORD_OVERHEAD, Lane, checked_batch
from rumormill.capture.writing.recovery import Recovered
from rumormill.capture.writing.retention import bounded
from rumormill.core.errors import ClosedError
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.system.private_files import UnsafeFileError, make_own_folder

TIDY_INTERVAL: Final = 10.0
"""Seconds between two looks at what is too old to be kept."""

log = logging.getLogger("rumormill")

Listener = Callable[[str, Mapping[str, type_of_field]], object]
"""Called on the writer's thread with the name of an event and its fields."""


class SpoolWriter:
    """Writes messages and trace events to the spool in ``folder``, which is made if need be.

    Raises :class:`SpoolLockedError` while another process writes to it. Call :meth:`message` and
    :meth:`trace` from one thread. ``listener`` is told of failures and losses; without it they go
    to the log.
    """

    def __init__(
        self,
        folder: str | Path,
        parameters: SpoolParameters | None = None,
        *,
        live: bool = True,
        listener: Listener | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.parameters = parameters or SpoolParameters()
        self.listener = listener
        self._live = live
        self._some, self._full = threading.Event(), threading.Event()
        self._turned = threading.Condition()
        self._flushes = 0
        self._stopping = False
        with _sentences(self.folder), contextlib.ExitStack() as undo:
            make_own_folder(self.folder)
            self._lock = lock_spool(self.folder)
            undo.callback(self._lock.release)
            self._identity = self._identify()
            if live:
                self.parameters = bounded(self.parameters, self.folder)
                most = self.parameters.retention_bytes
                log.info("the spool %s keeps %s bytes of each kind at most", self.folder, most)
            self._lanes = {kind: self._lane(kind) for kind in KINDS}
            undo.pop_all()
        self._messages = self._lanes[MESSAGES].buffer
        self._events = self._lanes[TRACE].buffer
        self._thread = threading.Thread(target=self._run, name="rumormill-spool", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _identify(self) -> Identity:
        if not (self.folder / IDENTITY).exists():
            write_identity(self.folder, Identity(secrets.token_hex(16), time.time()))
        return read_identity(self.folder)

    @property
    def spool_id(self) -> str:
        """The spool's own name, 32 hexadecimal digits."""
        return self._identity.id

    def _lane(self, kind: str) -> Lane:
        signals = self._some, self._full, self._report
        return Lane(
            self.folder, kind, self.parameters, *signals,
            shared=self._live, restore=self._restore,
        )  # fmt: skip

    def _restore(self) -> None:
        """Make the folder anew after it was removed: the same spool, whose offsets go on.

        On the writer's thread. Raises :class:`OSError` if another spool has come in its place.
        """
        make_own_folder(self.folder)
        try:
            if not self._lock.is_at(self.folder / LOCK):
                lock = lock_spool(self.folder)
                self._lock.release()
                self._lock = lock
            if not (self.folder / IDENTITY).exists():
                write_identity(self.folder, self._identity)
            if read_identity(self.folder).id != self.spool_id:
                raise SpoolError(f"{self.folder}: another spool has come in the place of ours")
        except SpoolError as error:
            raise OSError(errno.EBUSY, str(error)) from None

    def __repr__(self) -> str:
        return f"<SpoolWriter {self.folder}>"

    # ---- records

    def message(self, message: Message, node: str) -> None:
        """Keep a message that ``node`` delivered."""
        size = len(message.data) + RECORD_OVERHEAD
        if not self._live and not self._messages.has_room(size):
            self._wait(lambda: self._messages.has_room(size))
        self._messages.add((message, node), size)

    def trace(self, event: TraceEvent, network: str) -> None:
        """Keep a trace event of ``network``."""
        if not self._live and not self._events.has_room(RECORD_OVERHEAD):
            self._wait(lambda: self._events.has_room(RECORD_OVERHEAD))
        self._events.add((event, network), RECORD_OVERHEAD)

    def batch(self, kind: str, batch: pa.RecordBatch) -> None:
        """Keep records that are a batch of that kind's columns already.

        Waits while several batches wait for the disk; so it is for programs, not for event loops.
        """
        lane = self._lanes[kind]
        converted = checked_batch(batch, SCHEMAS[kind])
        if batch.num_rows:
            self._wait(lambda: len(lane.ready) < READY_BATCHES)
            lane.add_batch(converted)
            self._some.set()
            self._full.set()

    def _wait(self, condition: Callable[[], bool]) -> None:
        """Wait for the thread to get on."""
        self._check()
        while not condition():
            with self._turned:
                if not condition():
                    self._turned.wait(timeout=1.0)
            self._check()

    def _check(self) -> None:
        if self._stopping:
            raise ClosedError(f"the spool {self.folder} is closed")
        if not self._live:
            for lane in self._lanes.values():
                if lane.failure is not None:
                    raise SpoolError(f"{self.folder}: cannot be written: {lane.failure.detail}")

    # ---- how things stand

    @property
    def recovered(self) -> Mapping[str, Recovered]:
        """What was found, and cut off, when the spool was opened; by kind of records."""
        return {kind: lane.appender.recovered for kind, lane in self._lanes.items()}

    @property
    def written(self) -> Mapping[str, int]:
        """Records that this writer has written, by kind."""
        return {kind: lane.written for kind, lane in self._lanes.items()}

    @property
    def lost(self) -> Mapping[str, int]:
        """Records that did not get into the spool, by kind."""
        return {kind: lane.lost for kind, lane in self._lanes.items()}

    @property
    def removed(self) -> Mapping[str, int]:
        """Records that were removed as the oldest since this writer began, by kind."""
        return {kind: lane.removed for kind, lane in self._lanes.items()}

    def _report(self, event: str, **fields: type_of_field) -> None:
        if self.listener is not None:
            try:
                self.listener(event, fields)
            except Exception:
                log.warning("the listener of the spool %s failed", self.folder, exc_info=True)
            return
        words = ", ".join(f"{key} {value}" for key, value in fields.items())
        log.warning("the spool %s: %s: %s", self.folder, event, words)

    # ---- the thread

    def _run(self) -> None:
        lanes = tuple(self._lanes.values())
        tidy_at = 0.0
        while not self._stopping:
            self._await_work(lanes, tidy_at)
            now = time.monotonic()
            for lane in lanes:
                lane.write(now)
            if now >= tidy_at:
                tidy_at = now + TIDY_INTERVAL
                for lane in lanes:
                    lane.tidy()
            with self._turned:
                self._turned.notify_all()
        for lane in lanes:
            lane.close()

    def _await_work(self, lanes: Sequence[Lane], tidy_at: float) -> None:
        """Wait for records, then a little for more of them; or until something else is due."""
        self._some.clear()
        now = time.monotonic()
        pause = min([tidy_at, *(lane.due(now) for lane in lanes)]) - now
        if pause > 0 and not self._stopping:
            self._some.wait(pause)
        self._full.clear()
        well = [lane for lane in lanes if lane.waiting and lane.failure is None]
        at_once = self._flushes or self._stopping or any(lane.has_batch for lane in well)
        if well and not at_once:
            self._full.wait(self.parameters.linger)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until all that was handed over can be read; False if it could not be written.

        It blocks: on an event loop, call it in a thread. Raises :class:`SpoolError` instead if the
        writer is not ``live`` and the disk fails.
        """
        wanted = [(lane, lane.added) for lane in self._lanes.values()]

        def settled() -> bool:
            return all(lane.done >= count or lane.failure for lane, count in wanted)

        self._flushes += 1
        try:
            self._some.set()
            self._full.set()
            with self._turned:
                self._turned.wait_for(lambda: settled() or self._stopping, timeout)
        finally:
            self._flushes -= 1
        done = all(lane.done >= count for lane, count in wanted)
        if not done and not self._live:
            self._check()
        return done

    def close(self, timeout: float = 30.0) -> None:
        """Write what waits and end; the next writer goes on where this one ended.

        Harmless to call twice. It blocks: on an event loop, call it in a thread. Raises
        :class:`SpoolError` if the writer is not ``live`` and something could not be written.
        """
        if self._stopping:
            return
        self._stopping = True
        atexit.unregister(self.close)
        self._some.set()
        self._full.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.warning("the spool %s: the disk does not answer, left as it is", self.folder)
            return
        self._lock.release()
        lost = sum(self.lost.values())
        if lost and not self._live:
            raise SpoolError(f"{self.folder}: {lost} records were not written{self._why()}")

    def _why(self) -> str:
        failures = [lane.failure.detail for lane in self._lanes.values() if lane.failure]
        return f": {failures[0]}" if failures else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextlib.contextmanager
def _sentences(folder: Path) -> Iterator[None]:
    """Errors of the system as one sentence that names the folder."""
    try:
        yield
    except UnsafeFileError as error:
        raise SpoolError(str(error)) from None
    except OSError as error:
        raise SpoolError(f"{error.filename or folder}: {error.strerror}") from error
