#!/usr/bin/env python3
"""Shows the sequences of a dataset, or statistics of them. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.dump_dataset import main  # from this checkout

if __name__ == "__main__":
    main()
