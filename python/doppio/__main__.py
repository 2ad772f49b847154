"""`python -m doppio`: the command."""
import sys

from _doppio_start import main

sys.exit(main())
