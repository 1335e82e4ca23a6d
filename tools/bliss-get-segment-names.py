#!/usr/bin/env python3
"""Writes the names of the segments of Bliss corpora. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.bliss import main_names  # from this checkout

if __name__ == "__main__":
    main_names()
