#!/usr/bin/env python3
"""Follows the `sh` blocks of the README and of tutorials in a fresh clone: every command works, prints what the page shows,
and leaves no file that git sees.

    python3 tools/interop/readme_check.py --menura target/release/menura

The check runs each command of the `sh` blocks, in their order, with the given binary in place of
`cargo run --release --` and `menura`. Each line of a `text` block behind an `sh` block must be among what its commands
printed, digits apart. It answers the questions of `menura new` on a terminal. It stops a `run` that has
no end by SIGINT after the first datagram. A command that it cannot run fails the check.

Exit code 0 if all is well, 1 otherwise.
"""

import argparse
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = (["cargo", "run", "--release", "--"], ["menura"])
# Where the lidars of the default rig and of the rig from `menura new` send to.
LIDAR = ("127.0.0.1", 2368)
# The device, its link, and the scene.
ANSWERS = b"velodyne-vlp16-3.0\n\n\n"
# Options whose value is a file or a folder that the command writes.
WRITES = ("--out", "--plot")
PAGES = ("README.md", "docs/FIRST-PACKETS.md", "docs/LABELLED-DATA.md", "docs/DETERMINISM.md")
LIMIT_S = 120


def fail(text):
    sys.exit(f"FAILED {text}")


def blocks_of(readme):
    """Each `sh` block: the words of its commands, and the lines that the README shows as their output."""
    blocks = re.findall(r"^```(sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", readme, re.MULTILINE | re.DOTALL)
    if not blocks:
        fail("a page has no `sh` block")
    for _, block, shown in blocks:
        lines = block.replace("\\\n", " ").splitlines()
        yield [words for line in lines if (words := shlex.split(line, comments=True))], shown.splitlines()


def without_digits(line):
    return re.sub(r"\d+", "#", line).rstrip()


def arguments_of(words, home):
    """The arguments for Menura."""
    for program in PROGRAMS:
        if words[:len(program)] == program and not re.search(r"[|&;<>$`*]", "".join(words)):
            return [str(home / word[2:]) if word.startswith("~/") else word for word in words[len(program):]]
    fail(f"the check does not know how to run `{' '.join(words)}`")


def finished(process, what):
    """The output of a process that must end well."""
    try:
        output = process.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        fail(f"{what}: has not ended after {LIMIT_S} s")
    if process.returncode != 0:
        fail(f"{what}: exit code {process.returncode}\n{output}")
    return output


def run_until_first_datagram(command, what, options):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(LIDAR)
        receiver.settimeout(LIMIT_S)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        try:
            receiver.recv(2048)
        except TimeoutError:
            process.kill()
            fail(f"{what}: no datagram at {LIDAR[0]}:{LIDAR[1]} in {LIMIT_S} s\n{process.communicate()[0]}")
        process.send_signal(signal.SIGINT)
        return finished(process, what)


def answer(command, what, options):
    terminal, end = pty.openpty()
    try:
        os.write(terminal, ANSWERS)
        return finished(subprocess.Popen(command, stdin=end, **options), what)
    finally:
        os.close(terminal)
        os.close(end)


def check_written(path, what):
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    if not any(file.exists() and file.stat().st_size for file in files):
        fail(f"{what}: {path} is missing or empty")


def follow(menura, words, clone, home):
    """Runs one command and returns what it printed."""
    arguments = arguments_of(words, home)
    command, what, verb = [menura, *arguments], " ".join(words), arguments[0]
    options = {"cwd": clone, "env": {**os.environ, "HOME": str(home)}, "stdout": subprocess.PIPE,
               "stderr": subprocess.STDOUT, "text": True}
    if verb == "run" and "--duration" not in arguments:
        output = run_until_first_datagram(command, what, options)
    elif verb == "new" and "--device" not in arguments:
        output = answer(command, what, options)
    else:
        output = finished(subprocess.Popen(command, stdin=subprocess.DEVNULL, **options), what)
    written = [value for option, value in zip(arguments, arguments[1:]) if option in WRITES]
    for value in [*written, *(arguments[1:2] if verb == "new" else [])]:
        check_written(clone / value, what)
    print(f"ok     {what}", flush=True)
    return output.replace(str(home), "~")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    menura = str(Path(parser.parse_args().menura).resolve())
    (ROOT / "target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="readme-", dir=ROOT / "target") as folder:
        clone, home = Path(folder) / "clone", Path(folder) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        for commands, shown in (block for page in PAGES for block in blocks_of((ROOT / page).read_text(encoding="utf-8"))):
            printed = "".join(follow(menura, words, clone, home) for words in commands)
            lines = {without_digits(line) for line in printed.splitlines()}
            for line in shown:
                if without_digits(line) not in lines:
                    fail(f"the page shows a line that was not printed: {line}\n{printed}")
        status = subprocess.run(["git", "status", "--porcelain", "--ignored"], cwd=clone, check=True,
                                capture_output=True, text=True).stdout
        # The only file or folder that git may ignore here is Cargo's.
        if strange := [line for line in status.splitlines() if line != "!! target/"]:
            fail("the commands leave in the clone:\n" + "\n".join(strange))
    print("ok     git sees no change")


if __name__ == "__main__":
    main()
