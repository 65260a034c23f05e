from __future__ import annotations

import subprocess
import sys

import rumormill


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert rumormill.__all__ == sorted(rumormill.__all__)
    assert dir(rumormill) == rumormill.__all__
    for name in rumormill.__all__:
        assert getattr(rumormill, name).__module__.startswith("rumormill.")


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    assert not hasattr(rumormill, "shout")


def test_importing_the_package_brings_no_cryptography_and_no_spark() -> None:
    code = "import sys, rumormill; print('cryptography' in sys.modules, 'pyspark' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]
