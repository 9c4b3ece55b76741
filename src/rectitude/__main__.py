"""`python -m rectitude` is the command line."""

import sys

from rectitude.cli import main

sys.exit(main())
