"""Selects the part of its cases that a check runs with a commit. By night a check runs all of them."""

import subprocess
from pathlib import Path


def by_commit(count):
    """A number below `count` that the commit's hash selects, and a text that says so."""
    command = ["git", "-c", "safe.directory=*", "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return 0, "fixed, because git names no commit here"
    return int(commit, 16) % count, f"from the hash of commit {commit[:12]}"


def share_of(cases, every):
    """Every `every`-th case, from one that the commit's hash selects; prints how many these are."""
    number, why = by_commit(every)
    share = [case for place, case in enumerate(cases) if place % every == number]
    print(f"{len(share)} of {len(cases)} cases, {why}; all of them with --all", flush=True)
    return share
