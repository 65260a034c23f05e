"""The Parquet files of Hermes: one family of events a file, times in milliseconds.

The columns ``timestamp``, ``type`` and ``producer_id`` are in all of them. The type names the
family; in the generic family it is the type of the event itself, whose data is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from rumormill.capture.foreign.errors import BadEventError, TraceImportError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.hermes import (
    HermesEvents,
    Json,
    checked_time,
    outbound_of,
    size_of,
)
from rumormill.capture.foreign.json_lines import BAD_LINE, describe
from rumormill.capture.foreign.rows import Row
from rumormill.capture.foreign.source import ByteSource
from rumormill.capture.foreign.translate import Packet

ROWS_AT_ONCE = 16_384

REQUIRED = ("timestamp", "type", "producer_id")

DAMAGED = (pa.ArrowException, OSError, ValueError)
"""What pyarrow raises about a file that is not as it should be."""


class HermesParquetReader:
    """Reads one file."""

    def __init__(self, source: ByteSource, findings: Findings) -> None:
        self._source = source
        self._findings = findings
        self._events = HermesEvents(findings)
        self._row = 0
        self._handlers: dict[str, Callable[[int, str, Json], None]] = {
            "add_remove": self._add_remove,
            "graft_prune": self._graft_prune,
            "join_leave": self._join_leave,
            "connect_disconnect": self._connect_disconnect,
            "msg_arrival": self._arrival,
            "control_rpc": self._packet,
            "iwant": self._wanted,
        }

    def read(self) -> Iterator[list[Row]]:
        """The rows of each batch of the file."""
        with self._open() as file:
            missing = [name for name in REQUIRED if name not in file.schema_arrow.names]
            if missing:
                raise TraceImportError(
                    f"{self._source.path}: this Parquet file is not of Hermes, it has no column"
                    f" {missing[0]}"
                )
            for group in range(file.num_row_groups):
                yield from self._read_group(file, group)

    def _open(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self._source.path, memory_map=True)
        except DAMAGED:
            raise TraceImportError(
                f"{self._source.path}: this Parquet file is damaged or cut short; nothing of it"
                " can be read"
            ) from None

    def _read_group(self, file: pq.ParquetFile, group: int) -> Iterator[list[Row]]:
        described = file.metadata.row_group(group)
        try:
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=[group]):
                self._read_batch(batch)
                self._source.consumed = self._source.size * self._row // file.metadata.num_rows
                yield self._events.translator.take()
        except DAMAGED as error:
            self._findings.problem(
                f"row group {group} is damaged ({str(error).splitlines()[0][:80]})",
                described.column(0).data_page_offset,
                described.total_byte_size,
            )

    def _read_batch(self, batch: pa.RecordBatch) -> None:
        columns = [column.to_pylist() for column in batch.columns]
        names = batch.schema.names
        for values in zip(*columns, strict=True):
            self._row += 1
            try:
                self._handle(dict(zip(names, values, strict=True)))
            except BAD_LINE as error:
                self._findings.bad_event(f"{describe(error)} in row {self._row}", 0, 0)
            else:
                self._findings.events += 1

    def _handle(self, row: Json) -> None:
        kind, milliseconds = row["type"], row["timestamp"]
        if type(milliseconds) is not int:
            raise BadEventError("a time out of range")
        time = checked_time(milliseconds * 1_000_000)
        if "payload" in row:
            self._events.handle(kind, time, row["producer_id"], json.loads(row["payload"]))
            return
        handler = self._handlers.get(kind)
        if handler is None:
            self._findings.leave_out(str(kind)[:40])
        else:
            handler(time, self._events.node(row["producer_id"]), row)

    def _one_of(self, row: Json, **handlers: Callable[[], None]) -> None:
        """Do what the sub-type says."""
        kind = str(row["sub_type"])
        handler = handlers.get(kind)
        if handler is None:
            self._findings.leave_out(kind[:40])
        else:
            handler()

    def _add_remove(self, time: int, node: str, row: Json) -> None:
        peer, translator = self._events.peers[row["remote_peer_id"]], self._events.translator
        self._one_of(
            row,
            add_peer=lambda: translator.peer_joined(time, node, peer, None),
            remove_peer=lambda: translator.peer_left(time, node, peer),
        )

    def _graft_prune(self, time: int, node: str, row: Json) -> None:
        peer, topic = self._events.peers[row["remote_peer_id"]], self._events.texts[row["topic"]]
        translator = self._events.translator
        self._one_of(
            row,
            graft=lambda: translator.grafted(time, node, topic, peer),
            prune=lambda: translator.pruned(time, node, topic, peer),
        )

    def _join_leave(self, time: int, node: str, row: Json) -> None:
        topic, translator = self._events.texts[row["topic"]], self._events.translator
        self._one_of(
            row,
            join_topic=lambda: translator.subscribed(time, node, topic),
            leave_topic=lambda: translator.unsubscribed(time, node, topic),
        )

    def _connect_disconnect(self, time: int, node: str, row: Json) -> None:
        peer = self._events.peers[row["remote_peer_id"]]
        address = self._events.texts[row["remote_peer_maddrs"]]
        outbound, translator = outbound_of(row.get("direction")), self._events.translator
        self._one_of(
            row,
            connect_peer=lambda: translator.connected(time, node, peer, address, outbound),
            disconnect_peer=lambda: translator.disconnected(time, node, peer, address),
        )

    def _arrival(self, time: int, node: str, row: Json) -> None:
        events, translator = self._events, self._events.translator
        peer, topic = events.peers[row["remote_peer_id"]], events.texts[row["topic"]]
        message_id, size = events.ids[row["msg_id"]], size_of(row["msg_size"])
        self._one_of(
            row,
            deliver_msg=lambda: translator.delivered(time, node, topic, message_id, peer, size),
            duplicated_msg=lambda: translator.duplicate(time, node, topic, message_id, peer, size),
            reject_msg=lambda: translator.rejected(time, node, topic, message_id, peer, None, size),
        )

    def _packet(self, time: int, node: str, row: Json) -> None:
        peer, translator = self._events.peers[row["remote_peer_id"]], self._events.translator
        counts = (0, row["sent_msgs"], row["ihaves"], row["iwants"], 0, 0, row["idontwants"])
        packet = Packet(tuple(size_of(count) or 0 for count in counts))
        {"in": translator.received, "out": translator.sent, "drop": translator.dropped}[
            row["direction"]
        ](time, node, peer, packet)

    def _wanted(self, time: int, node: str, row: Json) -> None:
        if row["direction"] != "out":
            self._findings.leave_out(f"iwant {row['direction']}"[:40])
            return
        peer = self._events.peers[row["remote_peer_id"]]
        for message_id in [self._events.ids[each] for each in row["msg_ids"] or ()]:
            self._events.translator.asked(time, node, peer, message_id)
