"""Run the command line with `python -m rectitude`."""

import sys

from rectitude.cli import main

sys.exit(main())
