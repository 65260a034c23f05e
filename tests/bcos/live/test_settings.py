from __future__ import annotations

from rumormill.bcos.live.settings import PARTS


def test_no_key_means_two_different_things() -> None:
    names = [name for part in PARTS for name in part.model_fields]
    assert sorted(names) == sorted(set(names))
