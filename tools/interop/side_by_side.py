"""Runs the cases of a check side by side, each in a process of its own: most of them wait for real time more than they
compute. Needs only the standard library."""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

# Longest time that a case may take, and that it may take to end.
PATIENCE_S, ENDING_S = 1800, 60


def chosen(names, only):
    """The names that `--only` asks for: the one that it is, or all that contain it; all names without it."""
    if only is None:
        return list(names)
    return [name for name in names if name == only] or [name for name in names if only in name]


def side_by_side(names, at_a_time, main):
    """Runs `main`, which reads this program's options, with `--only` for each name; prints the output of each in one piece.

    The processes are forks of this one, so that what a check imports is imported once. The exit code: 0 when all cases
    passed, 1 when one has failed, 2 when one could not run."""
    waiting, running, worst, failed = list(names), {}, 0, []
    while waiting or running:
        while waiting and len(running) < at_a_time:
            name, output = waiting.pop(0), tempfile.TemporaryFile("w+")
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                run(name, output, main)
            running[pid] = name, output, time.monotonic() + PATIENCE_S + ENDING_S
        time.sleep(0.02)
        for pid, (name, output, end) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                if time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
                continue
            del running[pid]
            with output:
                output.seek(0)
                print(output.read(), end="", flush=True)
            code = os.waitstatus_to_exitcode(status)
            if code:
                failed.append(name)
            worst = max(worst, code if code in (0, 1) else 2)
    print(f"{Path(sys.argv[0]).stem}:", f"failed: {', '.join(failed)}" if failed else f"{len(names)} cases passed")
    return worst


def run(name, output, main):
    """Runs one case and ends this process."""

    def give_up(*_):
        print(f"{name}: has not ended after {PATIENCE_S} s", flush=True)
        # As Ctrl-C: the case ends what it has started.
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    sys.argv += ["--only", name]
    sys.exit(main())
