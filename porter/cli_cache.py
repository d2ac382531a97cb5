"""The command `porter cache`: what the cache holds, and its removal."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.group()
def cache() -> None:
    """Say what porter remembers of files it has read, or forget it."""


def _folder(given: str) -> Path:
    from porter.cache import folder_of

    return Path(given) if given else folder_of(dict(os.environ), Path.home())


@cache.command()
@click.option("--cache-dir", default="", metavar="FOLDER", help="The cache's folder; default: the user's cache folder.")
def info(cache_dir: str) -> None:
    """Say where the cache is and how much it holds."""
    from porter import cache as store
    from porter.render.neutral import one_line

    found = store.info(_folder(cache_dir))
    click.echo(f"{one_line(str(found.path))}: {found.entries:,} entries, {found.size / 2**20:.1f} MiB")


@cache.command()
@click.option("--cache-dir", default="", metavar="FOLDER", help="The cache's folder; default: the user's cache folder.")
def clean(cache_dir: str) -> None:
    """Remove the cache's file and the kept reports of revisions; nothing else in its folder is touched."""
    from porter import cache as store
    from porter.baseline_cache import Cache

    folder = _folder(cache_dir)
    click.echo(f"{(store.clean(folder) + Cache(folder).clean()) / 2**20:.1f} MiB freed")
