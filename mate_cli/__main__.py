"""`python -m mate_cli`: the same as `mate`."""

import sys

from mate_cli.cli.main import main

sys.exit(main())
