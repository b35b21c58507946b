"""Files that are wrong, for the commands that read files."""

import os
import resource
import subprocess
import time
from pathlib import Path

from conversations import mutated

ROOT = Path(__file__).resolve().parents[2]
MEMORY_BYTES = 6 << 30
PATIENCE_S = 60
# Whatever a command thinks of its input, it says so by one of these; a panic is 101, a signal negative.
EXIT_CODES = {0, 1, 2, 3}


class Outcome:
    """What came of the files of one kind."""

    def __init__(self):
        self.files = self.bytes = self.refused = 0
        self.most_kib = 0
        self.longest_s = 0.0
        self.faults = []


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def try_file(outcome, command, data, folder):
    """Runs `command`, whose memory and time are limited."""
    log = folder / "said.txt"
    start = time.monotonic()
    with open(log, "wb") as said:
        process = subprocess.Popen([str(word) for word in command], stdout=said, stderr=said, preexec_fn=limited,
                                   cwd=folder)
        status = usage = None
        while status is None:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status = process.returncode = os.waitstatus_to_exitcode(code)
            elif time.monotonic() - start > PATIENCE_S:
                process.kill()
                outcome.faults.append(f"{command[1]}: not done after {PATIENCE_S} s")
                process.wait()
                return
            else:
                time.sleep(0.002)
    outcome.files += 1
    outcome.bytes += len(data)
    outcome.refused += status != 0
    outcome.most_kib = max(outcome.most_kib, usage.ru_maxrss)
    outcome.longest_s = max(outcome.longest_s, time.monotonic() - start)
    text = log.read_text(errors="replace")
    if status not in EXIT_CODES or "panicked" in text:
        outcome.faults.append(f"{command[1]}: exit code {status}: {text[-300:]}")


def rigs(menura, random, folder, count, _):
    """Rigs of the examples that need no files, `check`ed."""
    outcome = Outcome()
    texts = [path.read_bytes() for path in sorted((ROOT / "examples").glob("*.toml"))]
    valid = [text.replace(b'"courtyard"', b'"room"') for text in texts if len(text) < 4096]
    rig = folder / "rig.toml"
    for _ in range(count):
        data = mutated(random, valid)
        rig.write_bytes(data)
        try_file(outcome, [menura, "check", rig], data, folder)
    return outcome


def frames(capture, count):
    """The capture's first ones."""
    end = 24
    for _ in range(count):
        end += 16 + int.from_bytes(capture[end + 8:end + 12], "little")
    return capture[:end]


def captures(menura, random, folder, count, capture):
    """The beginning of a recording, `inspect`ed and replayed to nobody."""
    outcome = Outcome()
    valid = [frames(capture, count) for count in (1, 2, 3)]
    file = folder / "capture.pcap"
    for number in range(count):
        data = mutated(random, valid)
        file.write_bytes(data)
        command = [menura, "inspect", file]
        if number % 4 == 0:
            command = [menura, "replay", file, "--to", "127.0.0.1:9", "--duration", "100ms"]
        try_file(outcome, command, data, folder)
    return outcome


OFFLINE = {"files: mutated rigs, check": rigs, "files: mutated captures, inspect and replay": captures}
