#!/usr/bin/env python3
"""Runs the `sh` blocks of README.md and of pages in docs/ in a fresh clone: every command works, prints what the page
shows, and leaves no file in the clone that git sees.

    target/venv/bin/python tools/interop/readme_check.py --menura target/release/menura [--page docs/FIT.md | --all]

Each page has a folder of its own, in which `examples` and the other folders of the project are. `rig.toml` is the first
whole rig on the page, else a small one. The commands of a page run in their order, and `menura` is the given binary. A `menura run`
without an end goes on until the next one, until the page says "Ctrl-C", or until the page ends; then SIGINT stops it. The
check shortens durations. Each line of a `text` block behind an `sh` block must be among the lines that its commands printed,
digits apart; a line that ends in "..." is the start of one. NOT_RUN and OTHER_PAGES name what cannot run here.

Exit code 0 if all is well, 1 otherwise.
"""

import argparse
import atexit
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from receiving import clean_up_at_sigterm
from rotation import share_of

ROOT = Path(__file__).resolve().parents[2]
# Where the lidars of the default rig and of the rig from `menura new` send to.
LIDAR = ("127.0.0.1", 2368)
# The device, its link, and the scene.
ANSWERS = b"velodyne-vlp16-3.0\n\n\n"
# Options whose value is a file or a folder that the command writes.
WRITES = ("--out", "--plot")
# Pages whose runs without an end must send to LIDAR.
SENDS = ("README.md", "docs/FIRST-PACKETS.md")
LIMIT_S = 120
SHORT_S = 3

# Commands that the check does not run, by their first word or words.
NOT_RUN = {
    "sudo": "changes the machine",
    "pip": "needs a network",
    "ptp4l": "needs a network card",
    "pmc": "needs ptp4l",
    "cargo bench": "takes minutes",
    "cargo build": "takes minutes",
}
# Pages that the check leaves out.
OTHER_PAGES = {
    "ANDABATA": "the step interop-andabata runs its robot",
    "DRIVER-TESTS": "the step interop-kit runs its suites, which take minutes",
    "GPU": "needs a build with the feature gpu; the step gpu tests it",
    "INSTALL": "changes the machine; the step packages does the same",
    "MEASUREMENTS": "its benchmarks take minutes",
    "SCALE": "the step mpi builds and runs menura-mpi",
    "TESTING": "its commands run this check",
    "TIME": "the step interop-ptp runs its PTP daemons",
    "TIMING": "probes on another computer",
}
# The rig of pages that have none.
RIG = """
seed = 1
[world]
scene = "courtyard"
parameters = { grass_blades = 2000, trees = 5 }
[robot]
trajectory = { kind = "still" }
[[device]]
name = "roof-lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 2.0] }
link = "udp:127.0.0.1:2368"
[[device]]
name = "gnss"
profile = "ublox-zed-f9p-hpg1.32"
link = "pty:gnss.tty"
"""
WALL = """
seed = 1
[world]
scene = "room"
[[device]]
name = "wall"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
"""
IMU = WALL.replace("wall", "imu").replace("velodyne-vlp16-3.0", "wheeltec-n100")
GNSS = IMU.replace("room", "courtyard").replace("imu", "gnss").replace("wheeltec-n100", "ublox-zed-f9p-hpg1.32")
TRIANGLE = "v 0 0 0\nv 9 0 0\nv 0 9 4\nf 1 2 3\n"
# What a page takes for granted: files, and commands that are run before.
STAGES = {
    "DRIVING": ({"rig.toml": (ROOT / "examples/drive.toml").read_text(encoding="utf-8")}, []),
    "FEED": ({"rig.toml": (ROOT / "examples/feed.toml").read_text(encoding="utf-8")}, []),
    "FIT": ({"wall.toml": WALL, "imu.toml": IMU, "gnss.toml": GNSS},
            [f"menura record {name}.toml --duration {duration} --out {name} && cp {name}/{name}.* ."
             for name, duration in (("wall", "1s"), ("imu", "120s"), ("gnss", "300s"))]),
    "SCENES": ({"mine/barn.obj": TRIANGLE}, []),
    "TRUTH": ({"RIG.toml": RIG.replace("roof-lidar", "lidar")}, []),
    "WIRESHARK": ({}, ["menura record rig.toml --duration 300ms --out recording"]),
}


def fail(text):
    sys.exit(f"FAILED {text}")


def blocks_of(page):
    """Of each `sh` block: the text before it, its commands, and the lines that the page shows as their output."""
    fence = r"^( *)```sh\n(.*?)^\1```$(?:\n\n\1```text\n(.*?)^\1```$)?"
    before = 0
    for found in re.finditer(fence, page, re.MULTILINE | re.DOTALL):
        lines = found[2].replace("\\\n", " ").splitlines()
        commands = [line.strip() for line in lines if shlex.split(line, comments=True)]
        shown = [line.removeprefix(found[1]) for line in (found[3] or "").splitlines()]
        yield page[before:found.start()], commands, shown
        before = found.end()


def has_commands(page):
    return Path(page).stem not in OTHER_PAGES and "```sh" in (ROOT / page).read_text(encoding="utf-8")


def first_rig(page):
    """The first `toml` block that is a whole rig."""
    for block in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        rig = tomllib.loads(block)
        if "world" in rig and "device" in rig:
            return block
    return RIG


def without_digits(line):
    return re.sub(r"\d+", "#", line).rstrip()


def is_shown(line, printed):
    line = without_digits(line)
    return any(other.startswith(line[:-3]) if line.endswith("...") else other == line for other in printed)


def reason_not_to_run(command):
    words = shlex.split(command, comments=True)
    return next((why for start, why in NOT_RUN.items() if words[:len(start.split())] == start.split()), None)


def shortened(command):
    def short(found):
        seconds = int(found[2]) * {"s": 1, "min": 60}[found[3]]
        return found[0] if seconds <= SHORT_S else f"{found[1]}{SHORT_S}s"
    return re.sub(r"(--duration )(\d+)(s|min)\b", short, command)


class Shell:
    """Runs the commands of one page."""

    def __init__(self, folder, home, programs, sockets):
        self.folder, self.home, self.running, self.log = folder, home, None, None
        path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "HOME": str(home), "PATH": path, "XDG_RUNTIME_DIR": sockets}

    def start(self, command, **more):
        return subprocess.Popen(["bash", "-c", f"exec {command}" if more.pop("alone", False) else command],
                                cwd=self.folder, env=self.environment, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True, **more)

    def stop(self):
        """Ends the run that has no end, and returns what it printed."""
        if not self.running:
            return ""
        process, self.running = self.running, None
        process.send_signal(signal.SIGINT)
        code = self.wait(process, "the run")
        self.log.seek(0)
        printed = self.log.read()
        if code != 0:
            fail(f"a run ended with code {code}\n{printed}")
        return printed

    def wait(self, process, what):
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            fail(f"{what}: has not ended after {LIMIT_S} s")

    def kill(self):
        if self.running:
            os.killpg(self.running.pid, signal.SIGKILL)

    def run_on(self, command, sends):
        """Starts a run that has no end, and waits until `menura fault` finds it and, if it sends, a datagram comes."""
        self.log = tempfile.TemporaryFile("w+", dir=self.home)
        self.running = self.start(command, stdin=subprocess.DEVNULL, stdout=self.log, alone=True)
        end = time.monotonic() + LIMIT_S

        def is_in_time():
            if self.running.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                fail(f"{command}: does not run\n{self.log.read()}")
            return True

        while is_in_time() and str(self.running.pid) not in self.output("menura fault --list", {0}):
            time.sleep(0.1)
        if not sends:
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(LIDAR)
            receiver.settimeout(1)
            while is_in_time():
                try:
                    receiver.recv(2048)
                    return
                except TimeoutError:
                    continue

    def output(self, command, codes, **more):
        with tempfile.TemporaryFile("w+", dir=self.home) as log:
            process = self.start(command, **{"stdin": subprocess.DEVNULL, "stdout": log, **more})
            code = self.wait(process, command)
            # What a command leaves behind in the background.
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            log.seek(0)
            printed = log.read()
        if code not in codes:
            fail(f"{command}: exit code {code}\n{printed}")
        return printed

    def answer(self, command):
        terminal, end = pty.openpty()
        try:
            os.write(terminal, ANSWERS)
            return self.output(command, {0}, stdin=end)
        finally:
            os.close(terminal)
            os.close(end)

    def check_written(self, words):
        values = [value for option, value in zip(words, words[1:]) if option in WRITES]
        if words[:2] == ["menura", "new"]:
            values.append(words[2])
        for value in values:
            path = self.folder / value.replace("~", str(self.home))
            files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
            if not any(file.exists() and file.stat().st_size for file in files):
                fail(f"{' '.join(words)}: {path} is missing or empty")

    def follow(self, command, sends, may_fail):
        """Runs one command and returns what it printed, and what the run that it ended had printed."""
        command = shortened(command.replace("cargo run --release --", "menura"))
        words = shlex.split(command, comments=True)
        printed = ""
        if words[:2] == ["menura", "run"] and "--duration" not in words:
            printed = self.stop()
            self.run_on(command, sends)
        elif words[:2] == ["menura", "new"] and "--device" not in words:
            printed = self.answer(command)
        else:
            # A requirement or a verdict that is not met.
            printed = self.output(command, {0, 1, 3} if may_fail else {0})
        self.check_written(words)
        return printed


def may_listen_at(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(("127.0.0.2", port))
        except PermissionError:
            return False
        except OSError as error:
            fail(f"docs/OUSTER.md needs port {port} of 127.0.0.2: {error.strerror}; stop the program that listens there")
    return True


def follow_page(name, stage, shell):
    """How many commands ran and how many did not."""
    path = ROOT / name
    page = path.read_text(encoding="utf-8")
    files, commands_before = STAGES.get(path.stem, ({}, []))
    # The README is followed in a clone, where nothing may be left.
    rig = {} if name == "README.md" else {"rig.toml": first_rig(page)}
    for file, text in {**rig, **files}.items():
        (stage / file).parent.mkdir(parents=True, exist_ok=True)
        (stage / file).write_text(text, encoding="utf-8")
    for command in commands_before:
        shell.output(command, {0})
    ran = left = 0
    for before, commands, shown in blocks_of(page):
        printed = shell.stop() if "Ctrl-C" in before else ""
        for command in commands:
            if reason_not_to_run(command):
                left += 1
                continue
            printed += shell.follow(command, name in SENDS, any(line.startswith("failed") for line in shown))
            print(f"ok     {name}: {command}", flush=True)
            ran += 1
        lines = {without_digits(line) for line in printed.replace(str(shell.home), "~").splitlines()}
        for line in shown:
            if not is_shown(line, lines):
                fail(f"{name} shows a line that was not printed: {line}\n{printed}")
    shell.stop()
    return ran, left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--page", action="append", help="check this page; may be repeated (default: the README and a third of "
                       "the other pages, which the commit's hash selects)")
    which.add_argument("--all", action="store_true", help="check all pages")
    arguments = parser.parse_args()
    clean_up_at_sigterm()
    all_pages = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    named = {*OTHER_PAGES, *STAGES, *(Path(page).stem for page in SENDS)}
    if stale := named - {Path(page).stem for page in all_pages}:
        fail(f"there are no such pages: {', '.join(sorted(stale))}")
    readme, *others = [page for page in all_pages if has_commands(page)]
    pages = arguments.page or [readme, *(others if arguments.all else share_of(others, 3))]
    (ROOT / "target").mkdir(exist_ok=True)
    ran = left = 0
    # The name of a socket has at most 107 bytes.
    with (tempfile.TemporaryDirectory(prefix="readme-", dir=ROOT / "target") as folder,
          tempfile.TemporaryDirectory() as sockets):
        folder = Path(folder)
        clone, programs = folder / "clone", folder / "bin"
        programs.mkdir()
        (programs / "menura").symlink_to(Path(arguments.menura).resolve())
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        for page in pages:
            stem = Path(page).stem
            if stem == "OUSTER" and not may_listen_at(80):
                if os.environ.get("CI") == "true":
                    fail(f"{page} needs the right to listen at port 80")
                print(f"left out {page}: port 80 needs a right")
                continue
            # The README is followed in the clone itself, the other pages beside it.
            home, stage = folder / "home" / stem, clone
            home.mkdir(parents=True)
            if page != "README.md":
                stage = home / "stage"
                stage.mkdir()
                for part in ("examples", "src", "firmware-profiles"):
                    (stage / part).symlink_to(clone / part)
            shell = Shell(stage, home, programs, sockets)
            atexit.register(shell.kill)
            more, less = follow_page(page, stage, shell)
            ran, left = ran + more, left + less
            shutil.rmtree(home)
        status = subprocess.run(["git", "status", "--porcelain", "--ignored"], cwd=clone, check=True,
                                capture_output=True, text=True).stdout
        # The only file or folder that git may ignore here is Cargo's.
        if strange := [line for line in status.splitlines() if line != "!! target/"]:
            fail("the commands leave in the clone:\n" + "\n".join(strange))
    print(f"ok     {ran} commands ran, {left} cannot run here; git sees no change")


if __name__ == "__main__":
    main()
