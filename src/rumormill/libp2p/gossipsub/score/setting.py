"""The key ``score`` of a network: true, false, or a table of parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import field_validator

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters, read_table
from rumormill.libp2p.gossipsub.score.parameters import DEFAULT_SCORE, ScoreParameters

WORDS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}


class ScoreSetting(Parameters):
    """Whether peers are scored, and how.

    >>> ScoreSetting(score="off").parameters is None
    True
    >>> ScoreSetting(score={"topic_score_cap": -1})
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: score.topic_score_cap: input should be greater than or \
equal to 0 (got -1)
    """

    score: bool | ScoreParameters = True
    """Whether peers are scored: those that send bad messages, break rules or are too slow are
    trusted less. ``false`` turns it off; a table, or ``ScoreParameters`` in Python, says how it is
    done (docs/scoring.md)."""

    @field_validator("score", mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, str):
            given = _from_text(given)
        if given is None:
            return False
        if isinstance(given, bool | ScoreParameters):
            return given
        if isinstance(given, Mapping):
            return read_table(ScoreParameters, "score", given)
        raise ConfigError("score", f"must be true, false or a table of parameters, not {given!r}")

    @property
    def parameters(self) -> ScoreParameters | None:
        """None if peers are not to be scored."""
        if isinstance(self.score, ScoreParameters):
            return self.score
        return DEFAULT_SCORE if self.score else None


def _from_text(text: str) -> Any:
    """``on``, ``off`` or JSON, as a command line has it."""
    word = WORDS.get(text.strip().lower())
    if word is not None:
        return word
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError("score", f"must be on, off or JSON, not {text!r}") from None
