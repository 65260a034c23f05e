"""``python -m rumormill.cli`` is the ``rumormill`` command."""

import sys

from rumormill.cli import main

if __name__ == "__main__":
    sys.exit(main())
