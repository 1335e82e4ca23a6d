"""The cache of files on the local disk: what is there, and making room."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from typing import Any

from returnn.log import log
from returnn.tools.common import init_config, run_command
from returnn.util.errors import UserError
from returnn.util.file_cache import FileCache
from returnn.util.format import human_bytes_size, parse_size


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="show the disk, and what is in the cache")
    cleanup = commands.add_parser("cleanup", help="remove old files, as it also happens when a file is added")
    for command in (info, cleanup):
        command.add_argument("--cache-dir", help="default: $TMPDIR/$USER/returnn/file_cache")
        command.add_argument("--verbosity", type=int, default=4, help="0..5; default 4")
    cleanup.add_argument("--need", type=parse_size, default=0, metavar="SIZE", help="at least so much room, as 20G")
    cleanup.add_argument("--always-older-than-days", type=float, help="remove what was not used for so long")
    args = parser.parse_args(argv)
    run_command(lambda: run(args))


def run(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    init_config(None, verbosity=args.verbosity)
    opts: dict[str, Any] = {}
    if args.cache_dir:
        opts["cache_directory"] = args.cache_dir
    if args.command == "cleanup" and args.always_older_than_days is not None:
        opts["cleanup_files_always_older_than_days"] = args.always_older_than_days
    cache = FileCache(**opts)
    if args.command == "cleanup":
        try:
            cache.cleanup(need_at_least_free_space_size=args.need)
        except OSError as exc:
            raise UserError(f"cleanup of {cache.cache_directory}: {exc.strerror or exc}") from exc
    print_info(cache.cache_directory)


def print_info(folder: str) -> None:
    """Says what is in the cache, and how full the disk is."""
    print("Cache directory:", folder, file=log.v1)
    if not os.path.isdir(folder):
        print("It does not exist yet.", file=log.v1)
        return
    sizes = []
    for path, _, names in os.walk(folder):
        for name in names:
            if not name.endswith((".returnn-info", ".returnn-lock", ".copy")) and not name.startswith("."):
                sizes.append(os.path.getsize(os.path.join(path, name)))
    disk = shutil.disk_usage(folder)
    print("Files: %i, %s" % (len(sizes), human_bytes_size(sum(sizes))), file=log.v1)
    print(
        "Disk: %s, %s free (%.1f%%)"
        % (human_bytes_size(disk.total), human_bytes_size(disk.free), 100 * disk.free / disk.total),
        file=log.v1,
    )


if __name__ == "__main__":
    main()
