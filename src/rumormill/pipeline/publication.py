"""New folders of tables: made aside, then moved to their places, all of them or none.

Readers use plain globs, and some of them (DuckDB) see every file under a table, also those that
Spark has not finished. So nothing is ever written inside a table: it is written under
``TABLES/_staging/`` and a whole folder is moved in. Moving one to a new name is atomic. Anything
more is written down in a journal first, and whoever opens the tables next finishes what a killed
process began.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Final

from rumormill.pipeline.exchange import exchange
from rumormill.system.files import replace_file, sync_folder

STAGING: Final = "_staging"
JOURNAL: Final = "_journal.json"
MARK: Final = "_published"
"""In every folder that was moved in: the id of its publication."""


class Publication:
    """Folders that go into the tables together.

        publication = Publication(root)
        write(frame, publication.stage("silver/deliveries/until_minute=..."))
        publication.commit()

    A target that exists is replaced as a whole. Only one process at a time may publish: the caller
    holds the lock of the tables.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._id = uuid.uuid4().hex
        self._targets: list[str] = []

    @property
    def folder(self) -> Path:
        """Where this publication is made."""
        return self._root / STAGING / self._id

    def stage(self, target: str) -> Path:
        """Where the new content of ``target`` (a path below the tables) is to be made."""
        staged = self.folder / target
        staged.parent.mkdir(parents=True, exist_ok=True)
        self._targets.append(target)
        return staged

    def keep(self, target: str, source: Path) -> None:
        """Take the files of a folder over as they are, without copying where links exist."""
        link_tree(source, self.folder / target)

    def commit(self) -> None:
        """Move everything to its place; afterwards it is on disk, whatever happens."""
        for target in self._targets:
            make_durable(self.folder / target, self._id)
        one_move = len(self._targets) == 1 and not (self._root / self._targets[0]).exists()
        if not one_move:
            plan = {"id": self._id, "targets": self._targets}
            replace_file(self._root / JOURNAL, json.dumps(plan).encode(), alone=True)
        finish(self._root, self._id, self._targets)

    def discard(self) -> None:
        """Forget it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def recover(root: Path) -> bool:
    """Finish the publication that a killed process had begun; whether there was one."""
    journal = root / JOURNAL
    try:
        plan = json.loads(journal.read_text(encoding="utf-8"))
    except FileNotFoundError:
        plan = None
    if plan is not None:
        finish(root, plan["id"], plan["targets"])
    # What was being made is made anew by whoever made it.
    shutil.rmtree(root / STAGING, ignore_errors=True)
    return plan is not None


def finish(root: Path, identity: str, targets: list[str]) -> None:
    """Do the moves that are not done yet, then forget the journal."""
    folder = root / STAGING / identity
    for target in targets:
        move_in(folder / target, root / target, identity)
    (root / JOURNAL).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def move_in(staged: Path, final: Path, identity: str) -> None:
    """Put a folder to its place; done a second time, it changes nothing."""
    if not staged.exists():
        return
    if final.exists():
        if published_by(final) == identity:
            return
        exchange(staged, final)
    else:
        final.parent.mkdir(parents=True, exist_ok=True)
        os.rename(staged, final)
    sync_folder(final.parent)


def published_by(folder: Path) -> str | None:
    """The id of the publication that a folder came with."""
    try:
        return (folder / MARK).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def make_durable(folder: Path, identity: str) -> None:
    """Drop what Spark leaves beside its files, mark the folder, and get all of it to the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(identity, encoding="utf-8")
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            # The checksum of a file that keeps its name and not its content would condemn it.
            if name == "_SUCCESS" or name.endswith(".crc"):
                path.unlink()
            else:
                sync_file(path)
        sync_folder(Path(parent))


def link_tree(source: Path, target: Path) -> None:
    """All files of a folder under second names."""
    for parent, _, names in os.walk(source):
        place = target / Path(parent).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name != MARK:
                link_file(Path(parent, name), place / name)


def link_file(source: Path, target: Path) -> None:
    """The same file under a second name; a copy, where the file system has no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        shutil.copy2(source, target)


def sync_file(path: Path) -> None:
    """Have the system write a file's bytes to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
