#!/usr/bin/env python3
"""Shows or cleans the cache of files. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.file_cache import main  # from this checkout

if __name__ == "__main__":
    main()
