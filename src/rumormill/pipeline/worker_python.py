"""The Python that Spark's workers run: ours, with pyspark as it is installed.

Spark gives its workers a copy of pyspark in a zip without compiled files, so that each of them
compiles it anew: two thirds of a second of processor time for every worker, and for every stream
that begins. Behind a small program that takes the zips off the path, they find the installed
packages, which are compiled.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pyspark

from rumormill.pipeline.launcher import write_launcher

LAUNCHER: Final = """#!/bin/sh
# Starts Python without Spark's zips on its path: what is in them is installed, and compiled.
kept=
IFS=:
for each in $PYTHONPATH; do
    case $each in
        "{zips}"/*.zip) ;;
        *) kept=$kept${{kept:+:}}$each ;;
    esac
done
PYTHONPATH=$kept
export PYTHONPATH
unset IFS
exec "{python}" "$@"
"""


def worker_python() -> Path:
    """The program for ``PYSPARK_PYTHON`` on this machine.

    Where a worker would not find the installed pyspark by itself, or nothing can be written, it is
    Python itself: slower to begin with, and as good otherwise.
    """
    python = Path(sys.executable)
    package = Path(pyspark.__file__).parent
    if not _is_found(package.parent):
        return python
    text = LAUNCHER.format(zips=package / "python" / "lib", python=python)
    try:
        return write_launcher("python", python, text)
    except OSError:
        return python


def _is_found(folder: Path) -> bool:
    """Whether a Python that is started anew looks for packages in this folder."""
    folders = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    folders += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return folder in [Path(each).absolute() for each in folders if each]
