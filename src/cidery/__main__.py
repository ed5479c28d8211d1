"""`python -m cidery` is `cidery`."""

import sys

from cidery.cli import main

sys.exit(main())
