"""For helpers that run whatever machine a test gives them."""

from __future__ import annotations

from typing import Any, TypeAlias

AnyInput: TypeAlias = Any
AnyEffect: TypeAlias = Any
