#!/usr/bin/env python3
"""Starts the program from a checkout: ``rnn.py CONFIG... [options] [++key value]...``"""

import sys

import returnn.__main__

if __name__ == "__main__":
    returnn.__main__.main()
elif __name__ == "rnn":
    sys.modules[__name__] = returnn.__main__  # scripts import the program by this name
