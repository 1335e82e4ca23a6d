#!/usr/bin/env python3
"""Tells how much of the batches of a config is padding. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.analyze_dataset_batches import main  # from this checkout

if __name__ == "__main__":
    main()
