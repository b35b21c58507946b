"""Runs the cases of a check side by side, each in a process of its own: most of them wait for real time more than they
compute. Needs only the standard library."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Longest time that a case may take, and that it may take to end.
PATIENCE_S, ENDING_S = 1800, 60


def chosen(names, only):
    """The names that `--only` asks for: the one that it is, or all that contain it; all names without it."""
    if only is None:
        return list(names)
    return [name for name in names if name == only] or [name for name in names if only in name]


def side_by_side(names, at_a_time):
    """Runs this program with its own options and `--only` for each name; prints the output of each in one piece.

    The exit code: 0 when all cases passed, 1 when one has failed, 2 when one could not run."""

    def run(name):
        process = subprocess.Popen([sys.executable, *sys.argv, "--only", name], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        try:
            return process.communicate(timeout=PATIENCE_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            # As Ctrl-C: the case ends what it has started.
            process.send_signal(signal.SIGINT)
        try:
            told = process.communicate(timeout=ENDING_S)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            told = process.communicate()[0]
        return f"{told}{name}: has not ended after {PATIENCE_S} s\n", 2

    worst, failed = 0, []
    with ThreadPoolExecutor(at_a_time) as pool:
        for name, (told, code) in zip(names, pool.map(run, names)):
            print(told, end="", flush=True)
            if code:
                failed.append(name)
            worst = max(worst, code if code in (0, 1) else 2)
    print(f"{Path(sys.argv[0]).stem}:", f"failed: {', '.join(failed)}" if failed else f"{len(names)} cases passed")
    return worst
