#!/usr/bin/env python3
"""Writes a dataset to an HDF file. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.hdf_dump import main  # from this checkout

if __name__ == "__main__":
    main()
