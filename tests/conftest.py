"""What holds for every test."""

from __future__ import annotations

import os

import hypothesis

# Programs for other tools: importing them as tests would start a fuzzer or need a foreign package.
collect_ignore_glob = ["fuzz/targets/*", "interop/peers/*"]

# Equal runs everywhere: the same examples each time, and no limit that a busy machine breaks.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
# New examples each time: HYPOTHESIS_PROFILE=search looks for what the steady ones missed.
hypothesis.settings.register_profile("search", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
