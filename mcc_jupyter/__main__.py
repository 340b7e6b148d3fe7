"""``python -m mcc_jupyter``."""

import sys

from .doors.cli import main

sys.exit(main())
