#!/usr/bin/env python3
"""Writes the text of the sequences of a dataset. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.dump_dataset_raw_strings import main  # from this checkout

if __name__ == "__main__":
    main()
