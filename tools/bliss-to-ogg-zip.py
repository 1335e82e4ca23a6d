#!/usr/bin/env python3
"""Writes the zip file that OggZipDataset reads, of a Bliss corpus. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.bliss_to_ogg_zip import main  # from this checkout

if __name__ == "__main__":
    main()
