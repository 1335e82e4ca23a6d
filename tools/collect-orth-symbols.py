#!/usr/bin/env python3
"""Collects the characters of a corpus. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.collect_orth_symbols import main  # from this checkout

if __name__ == "__main__":
    main()
