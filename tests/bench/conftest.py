"""The benchmarks are a package beside the tests, not part of what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
