"""The command line: ``rumormill sub``, ``pub``, ``node``, ``keygen``, ``id`` and ``demo``.

Whatever goes wrong ends as one sentence on stderr and an exit code: 2 when the command was wrong
(an option, an address, a setting), 1 when the world was (a peer that does not answer, a file that
cannot be read). Set ``RUMORMILL_TRACEBACK=1`` to see where an error comes from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rumormill.cli.words.sentences import EXIT_INTERRUPTED, exit_code_of, sentence_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is returned, and nothing is raised."""
    from rumormill.cli.app import app

    try:
        result = app(arguments, standalone_mode=False, prog_name="rumormill")
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if os.environ.get("RUMORMILL_TRACEBACK"):
            raise
        print(f"rumormill: {sentence_of(error)}", file=sys.stderr)
        return exit_code_of(error)
    return result if isinstance(result, int) else 0


def _forget_stdout() -> None:
    """Nobody reads any more: what Python would flush at exit goes nowhere, without complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
