#!/usr/bin/env python3
"""Several processes by Open MPI: recordings of 1, 2 and 4 ranks have the same bytes, runs send, and a rank that is
killed ends a recording in order.

    tools/interop/ranks_check.py --menura target/release/menura-mpi --plain target/release/menura
"""
import argparse
import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from receiving import free_ports

TOP = Path(__file__).resolve().parent.parent.parent
EXAMPLES = TOP / "examples"

MOVING = """
seed = 5
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "courtyard"
parameters = { grass_blades = 20000, trees = 4 }
[world.weather]
wind_m_s = [1.0, 0.5, 0.0]
[world.weather.fog]
visibility_m = 80.0
[world.weather.rain]
rate_mm_h = 5.0
[[world.weather.dust]]
name = "yard"
position_m = [5.0, 4.0, 0.5]
start_s = -9.0
[[world.object]]
name = "car"
body = "car"
size_m = [4.5, 1.8, 1.5]
trajectory = { kind = "circle", radius_m = 6.0, speed_m_s = 8.0 }
[robot]
trajectory = { kind = "circle", radius_m = 10.0, speed_m_s = 1.5 }
follow_ground = true
[[joint]]
name = "head"
translation_m = [0.1, 0.0, 0.9]
motion = { kind = "sine", amplitude_deg = 60.0, period_s = 0.9 }
[[device]]
name = "roof"
profile = "velodyne-hdl64e-s3"
mount = { translation_m = [0.0, 0.0, 2.0] }
link = { udp = { to = "127.0.0.1:9" } }
[[device]]
name = "scanner"
profile = "sick-lms111"
mount = { parent = "head", roll_pitch_yaw_deg = [90.0, 0.0, 0.0] }
link = { tcp = "127.0.0.1:0" }
settings = { power_on_stream = "cola-b" }
[[fault]]
device = "roof"
kind = "window-dirty"
transmission = 0.3
from_deg = 0
to_deg = 90
start_s = 0.1
[[fault]]
device = "roof"
kind = "packet-loss"
probability = 0.1
start_s = 0.2
"""

FED = """
seed = 5
[world]
scene = "room"
[robot]
trajectory = {{ kind = "feed", listen = "127.0.0.1:{port}" }}
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.5] }}
link = {{ udp = {{ to = "127.0.0.1:9" }} }}
"""


class Failure(Exception):
    pass


def require(truth, text):
    if not truth:
        raise Failure(text)


def command(menura, ranks, *words):
    """Starts as many processes as the machine may have processors for, and more."""
    launcher = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    if os.getuid() == 0:
        launcher.append("--allow-run-as-root")
    return [*launcher, str(menura), *map(str, words)]


def environment():
    # Containers often forbid processes to read each other's memory, which is only a faster way.
    return {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def launch(menura, ranks, *words):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command(menura, ranks, *words), env=environment(), text=True, **pipes)


def output_of(process, seconds=300):
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure(f"nothing came to an end within {seconds} s") from None
    return text


def run(menura, ranks, *words):
    process = launch(menura, ranks, *words)
    text = output_of(process)
    require(process.returncode == 0, f"{ranks} ranks, {words}: exit {process.returncode}\n{text}")
    return text


def same_files(one, other):
    names = sorted(path.name for path in one.iterdir())
    require(names == sorted(path.name for path in other.iterdir()), f"{other} has other files")
    for name in names:
        require((one / name).read_bytes() == (other / name).read_bytes(), f"{other / name} differs")
    return sum((one / name).stat().st_size for name in names)


def recordings(menura, scratch, title, *words):
    """Records with 1, 2 and 4 ranks and compares all files."""
    folders = []
    for ranks in (1, 2, 4):
        folder = scratch / f"{title}-{ranks}"
        text = run(menura, ranks, "record", "--force", *words, "--set", "engine.workers=1", "--out", folder)
        asked = sum(int(line.split(": ")[1].split()[0]) for line in text.splitlines() if " requests by " in line)
        require((asked > 100) == (ranks > 1), f"{title}: {ranks} ranks, {asked} requests\n{text}")
        folders.append(folder)
    size = [same_files(folders[0], folder) for folder in folders[1:]]
    print(f"{title}: {size[0]} bytes, the same of 1, 2 and 4 ranks")
    return folders[0]


def check_recordings(menura, scratch):
    rig = scratch / "moving.toml"
    rig.write_text(MOVING)
    folder = recordings(menura, scratch, "moving", rig, "--duration", "400ms", "--truth")
    faults = (folder / "faults.csv").read_text()
    require("changed_returns" in faults, "the fault of the optics did nothing")


def drive(port, over):
    """Sends orders as a robot's computer does."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    start = time.monotonic()
    while not over.is_set():
        turn = 0.7 if int((time.monotonic() - start) * 2) % 2 == 0 else -0.4
        link.sendto(struct.pack("<4sIIdd", b"MNDR", 1, 0, 0.5, turn), ("127.0.0.1", port))
        time.sleep(0.02)


def check_driven(menura, scratch):
    """A run by three ranks whose robot is driven; its log is recorded by 1, 2 and 4."""
    port, heard = free_ports(2)
    log, report = scratch / "hosts.jsonl", scratch / "report.json"
    sets = [
        "--set", f"robot.trajectory.twist=127.0.0.1:{port}", "--set", f"device[0].link.udp.to=127.0.0.1:{heard}",
        "--set", "start_utc=2026-06-01T12:00:00Z",
    ]
    over = threading.Event()
    driver = threading.Thread(target=drive, args=(port, over))
    driver.start()
    try:
        run(menura, 3, "run", EXAMPLES / "twist.toml", *sets, "--duration", "2s", "--host-log", log,
            "--report", report, "--set", "engine.workers=1", "--set", "engine.late=late")
    finally:
        over.set()
        driver.join()
    require(len(log.read_text().splitlines()) > 20, "the host log has no orders")
    figures = json.loads(report.read_text())
    require(figures["workers"] == 2, "two ranks measure with a thread each")
    require(figures["caster"] == "processor", f"the other ranks cast by {figures['caster']}")
    folder = recordings(menura, scratch, "driven", EXAMPLES / "twist.toml", *sets, "--duration", "2s",
                        "--host-log", log)
    rows = (folder / "truth.csv").read_text().splitlines()
    require(rows[1].split(",")[1:3] != rows[-1].split(",")[1:3], "the robot stands still")


def feed(port, over):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sequence = 0
    while not over.is_set():
        now = time.monotonic_ns()
        link.sendto(struct.pack("<4sIQQ13d", b"MNFD", 1, sequence, now, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0),
                    ("127.0.0.1", port))
        sequence += 1
        time.sleep(0.01)


def check_fed(menura, scratch):
    [port] = free_ports(1)
    rig, log = scratch / "fed.toml", scratch / "feed.csv"
    rig.write_text(FED.format(port=port))
    over = threading.Event()
    sender = threading.Thread(target=feed, args=(port, over))
    sender.start()
    try:
        run(menura, 3, "run", rig, "--duration", "2s", "--feed-log", log, "--set", "engine.workers=1",
            "--set", "engine.late=late")
    finally:
        over.set()
        sender.join()
    rows = [line.split(",") for line in log.read_text().splitlines()]
    column = rows[0].index("shown_until_s")
    shown = sum(row[column] != "" for row in rows[1:])
    # A busy machine renders few of the poses that it takes.
    require(shown > 20, f"{shown} of {len(rows) - 1} poses were shown")
    print(f"fed: {shown} of {len(rows) - 1} poses were shown by other ranks")


def rank_pids(launcher):
    """The process of each rank among the launcher's children."""
    ranks = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = next(line for line in status.read_text().splitlines() if line.startswith("PPid:"))
            if int(parent.split()[1]) != launcher:
                continue
            for word in (status.parent / "environ").read_bytes().split(b"\0"):
                name, _, value = word.partition(b"=")
                if name == b"OMPI_COMM_WORLD_RANK":
                    ranks[int(value)] = int(status.parent.name)
        except (OSError, StopIteration):
            continue
    return ranks


def whole_packets(pcap):
    """Packets of a capture that ends with a whole one."""
    data, place, packets = pcap.read_bytes(), 24, 0
    while place < len(data):
        require(place + 16 <= len(data), f"{pcap} ends within a header")
        place += 16 + struct.unpack_from("<I", data, place + 8)[0]
        packets += 1
    require(place == len(data), f"{pcap} ends within a packet")
    return packets


def check_killed(menura, scratch, which, extra=(), attempts=3):
    """A rank that the system kills in the middle of a recording. By shared memory it alone is named; by TCP, where Open
    MPI then delivers nothing from anybody, all of whom nothing is heard are, and the launcher says which it was.

    The launcher also ends the others. On a busy machine that may come before they miss the rank: then once more.
    """
    rig, folder = scratch / "moving.toml", scratch / f"killed-{which}{len(extra)}"
    words = ["record", "--force", rig, "--duration", "1h", "--set", "engine.workers=1", "--out", folder]
    arguments = command(menura, 3, *words)
    arguments[1:1] = extra
    process = subprocess.Popen(arguments, env=environment(), text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    # A check that fails ends the recording as well.
    atexit.register(process.terminate)
    capture = folder / "roof.pcap"
    deadline = time.monotonic() + 120
    growing = folder / "roof.pcap.part"
    while not (growing.exists() and growing.stat().st_size > 500_000):
        require(process.poll() is None and time.monotonic() < deadline, "the recording does not begin")
        time.sleep(0.05)
    os.kill(rank_pids(process.pid)[which], signal.SIGKILL)
    text = output_of(process, 60)
    require(process.returncode != 0, f"exit 0 although rank {which} was killed\n{text}")
    said = [line for line in text.splitlines() if line.startswith("error: ") and f"rank {which} " in line]
    if not said and f"process rank {which} " in text and attempts > 1:
        print(f"killed: the launcher ended the recording before rank {which} was missed; once more")
        return check_killed(menura, scratch, which, extra, attempts - 1)
    require(said, f"nothing names rank {which}:\n{text}")
    alone = f"rank {which} (" in said[0] and " has crashed: it no longer answers" in said[0] and said[0].count("rank ") == 1
    require(alone or (extra and f"process rank {which} " in text), f"another than rank {which} is named:\n{text}")
    print(f"killed: {whole_packets(capture)} whole packets; {said[0]}")


def check_refusals(menura, plain, scratch):
    process = launch(plain, 2, "run", "--duration", "1s")
    text = output_of(process)
    require(process.returncode == 2 and "menura-mpi" in text, f"exit {process.returncode}\n{text}")
    process = launch(menura, 3, "record", "--force", "--set", "world.scene=no-such-scene", "--duration", "1s", "--out", scratch / "none")
    text = output_of(process)
    require(process.returncode == 2 and text.count("no-such-scene") < 3, f"exit {process.returncode}\n{text}")
    print("refused: the program without MPI, a rig that is wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--menura", type=Path, required=True)
    parser.add_argument("--plain", type=Path, required=True)
    arguments = parser.parse_args()
    menura, plain = arguments.menura.resolve(), arguments.plain.resolve()
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            check_refusals(menura, plain, scratch)
            check_recordings(menura, scratch)
            check_driven(menura, scratch)
            check_fed(menura, scratch)
            check_killed(menura, scratch, 2)
            # The same where messages go by TCP, as between machines.
            check_killed(menura, scratch, 1, ("--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"))
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
