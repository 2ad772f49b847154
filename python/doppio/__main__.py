"""Runs the `doppio` command as `python -m doppio`."""
import sys

from _doppio_start import main

sys.exit(main())
