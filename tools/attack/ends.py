"""What ends badly: signals that come twice, outputs that are inputs, a disk that takes no more, ground truth with flipped
bits, feeds with the first and the last sequence number, captures whose times jump."""

import re
import resource
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import conversations as say
from offline import PATIENCE_S, Outcome

RIG = """\
seed = 3
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
[robot]
trajectory = {trajectory}
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.0] }}
link = {{ udp = {{ to = "127.0.0.1:{port}", position_port = {port} }} }}
settings = {{ beam = {{ shape = "ray" }} }}
"""
STILL = '{ kind = "still" }'
# A record is larger than this, and so is the ground truth of a tenth of a second.
DISK_BYTES = 16 << 10
FLIPS = 20
JUMP = re.compile(r"jump|(later|earlier) than the one before", re.IGNORECASE)
# The file, and what is wrong with it.
DAMAGE = re.compile(r"error: .*bad\.mcap: \S")


class Ends(Outcome):
    """Runs commands in a folder of their own."""

    def __init__(self, menura, folder, name):
        super().__init__()
        self.menura, self.folder = str(menura), Path(folder) / name
        self.folder.mkdir()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
            sink.bind(("127.0.0.1", 0))
            self.port = sink.getsockname()[1]
        self.rig()

    def rig(self, trajectory=STILL):
        (self.folder / "rig.toml").write_text(RIG.format(trajectory=trajectory, port=self.port))

    def start(self, *words, **more):
        return subprocess.Popen([self.menura, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **more)

    def end(self, process, what):
        """Exit code and output, when the process has ended."""
        try:
            said = process.communicate(timeout=PATIENCE_S)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0]
            self.faults.append(f"{what}: not done after {PATIENCE_S} s")
        self.files += 1
        self.refused += process.returncode != 0
        if process.returncode < 0 or process.returncode == 101 or "panicked" in said:
            self.faults.append(f"{what}: exit code {process.returncode}: {said[-300:]}")
        return process.returncode, said

    def run(self, *words, **more):
        return self.end(self.start(*words, **more), " ".join(map(str, words)))

    def wants(self, holds, what, said):
        if not holds:
            self.faults.append(f"{what}: {said[-300:]!r}")

    def recording(self):
        """The capture and the ground truth of a tenth of a second."""
        code, said = self.run("record", "rig.toml", "--duration", "0.1s", "--out", "rec", "--truth")
        if code != 0:
            raise RuntimeError(f"cannot record: {said[-500:]}")
        return self.folder / "rec" / "lidar.pcap", self.folder / "rec" / "truth.mcap"


def signals(menura, random, folder, count, _):
    """Ctrl-C twice, or Ctrl-C and SIGTERM, within 20 ms: one wish to stop."""
    ends = Ends(menura, folder, "signals")
    for second in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
            host.bind(("127.0.0.1", 0))
            host.settimeout(PATIENCE_S)
            ends.port = host.getsockname()[1]
            ends.rig()
            process = ends.start("run", "rig.toml", "--duration", "60s", "--report", "report.json")
            try:
                host.recv(2000)
            except TimeoutError:
                pass
            apart_s = random.uniform(0.0005, 0.02)
            process.send_signal(signal.SIGINT)
            time.sleep(apart_s)
            if process.poll() is None:
                process.send_signal(second)
            code, said = ends.end(process, "run")
        what = f"SIGINT and {second.name} {1000 * apart_s:.1f} ms apart"
        ends.wants(code == 0, f"{what}: exit code {code}", said)
        ends.wants("lidar: " in said and " misses" in said, f"{what}: no summary", said)
        ends.wants((ends.folder / "report.json").exists(), f"{what}: no report", said)
        (ends.folder / "report.json").unlink(missing_ok=True)
    return ends


def overwriting(menura, random, folder, count, _):
    """Outputs that are an input or another output: refused, and the input stays."""
    ends = Ends(menura, folder, "overwriting")
    capture, truth = ends.recording()
    csv = ends.folder / "log.csv"
    csv.write_text("time_s,gyro_x_rad_s,gyro_y_rad_s,gyro_z_rad_s\n"
                   + "".join(f"{n / 10},{n % 7 * 1e-4},0,{n % 3 * 1e-4}\n" for n in range(400)))
    rig = ends.folder / "rig.toml"
    link = ends.folder / "link.pcap"
    link.symlink_to(capture)
    run = ["run", rig, "--duration", "0.05s"]
    for words in (
        [*run, "--report", rig], [*run, "--certificate", rig], [*run, "--truth", rig],
        [*run, "--report", "out.json", "--certificate", "out.json"],
        [*run, "--feed-log", rig], ["record", rig, "--duration", "0.1s", "--out", "rig.toml"],
        ["join", capture, truth, "--out", truth], ["join", capture, truth, "--out", link],
        ["export", capture, "--to", "pcd", "--out", capture],
        ["export", capture, "--to", "pcd", "--truth", truth, "--out", truth],
        ["fit", "allan", csv, "--profile", "vectornav-vn100", "--out", csv],
        ["inspect", capture, "--plot", capture],
        ["replay", capture, "--to", "127.0.0.1:9", "--duration", "0.1s", "--certificate", capture],
    ):
        before = {file: file.read_bytes() for file in (rig, capture, truth, csv)}
        code, said = ends.run(*words)
        what = " ".join(Path(str(word)).name for word in words)
        ends.wants(code == 2, f"{what}: exit code {code}, not 2", said)
        for file, data in before.items():
            ends.wants(file.read_bytes() == data, f"{what}: {file.name} is changed", said)
            file.write_bytes(data)
    return ends


def no_room():
    """A file grows no further: writing fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (DISK_BYTES, DISK_BYTES))


def full_disk(menura, random, folder, count, _):
    """Files that cannot be written to their end: the command fails, and no file has the final name."""
    ends = Ends(menura, folder, "full")
    capture, truth = ends.recording()
    for words, files in (
        (["record", "rig.toml", "--duration", "0.2s", "--out", "short"], ["short/lidar.pcap"]),
        (["record", "rig.toml", "--duration", "0.2s", "--out", "told", "--truth"], ["told/truth.mcap"]),
        (["run", "rig.toml", "--duration", "0.3s", "--truth", "live.mcap"], ["live.mcap"]),
        (["join", capture, truth, "--out", "points.csv"], ["points.csv"]),
        (["export", capture, "--to", "pcd", "--out", "points.pcd"], ["points.pcd"]),
        (["export", capture, "--to", "las", "--out", "points.las"], ["points.las"]),
    ):
        code, said = ends.run(*words, preexec_fn=no_room)
        what = " ".join(Path(str(word)).name for word in words)
        ends.wants(code not in (0, 101), f"{what}: exit code {code}", said)
        for name in files:
            ends.wants(not (ends.folder / name).exists(), f"{what}: {name} exists", said)
    return ends


def flipped_truth(menura, random, folder, count, _):
    """One bit of the ground truth is wrong: whoever reads it is told."""
    ends = Ends(menura, folder, "flipped")
    capture, truth = ends.recording()
    data = truth.read_bytes()
    for number in range(FLIPS):
        bad = bytearray(data)
        place, bit = random.randrange(len(bad)), random.randrange(8)
        bad[place] ^= 1 << bit
        (ends.folder / "bad.mcap").write_bytes(bad)
        words = ["join", capture, "bad.mcap", "--out", "bad.csv"] if number % 2 else [
            "export", capture, "--to", "ply", "--truth", "bad.mcap", "--out", "bad.ply"]
        code, said = ends.run(*words)
        what = f"{words[0]}, bit {bit} of byte {place} of {len(bad)}"
        ends.wants(code not in (0, 101), f"{what}: exit code {code}", said)
        ends.wants(DAMAGE.search(said), f"{what}: the damage is not named", said)
        for name in ("bad.csv", "bad.ply"):
            (ends.folder / name).unlink(missing_ok=True)
    return ends


def sequence_ends(menura, random, folder, count, _):
    """A feed whose sequence numbers are 0 and 2^64 - 1, in either order: the run goes on and ends in order."""
    ends = Ends(menura, folder, "sequences")
    for numbers in ([0, 2**64 - 1, 0, 1], [2**64 - 1, 0, 1, 2]):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        ends.rig(f'{{ kind = "feed", listen = "127.0.0.1:{port}" }}')
        process = ends.start("run", "rig.toml", "--duration", "0.6s")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            begun = time.monotonic()
            while process.poll() is None and time.monotonic() < begun + PATIENCE_S:
                for number in numbers:
                    pose = bytearray(say.pose(0))
                    struct.pack_into("<QQ", pose, 8, number, time.monotonic_ns())
                    ends.bytes += sender.sendto(pose, ("127.0.0.1", port))
                    time.sleep(0.005)
        code, said = ends.end(process, "run with a feed")
        ends.wants(code == 0, f"sequence {numbers}: exit code {code}", said)
        poses = re.search(r"feed of robot: (\d+) poses, (\d+) missing", said)
        ends.wants(poses and int(poses[1]) > 0, f"sequence {numbers}: no pose is taken", said)
        ends.wants(poses and int(poses[2]) < 10**9, f"sequence {numbers}: more poses are missing than a feed can send", said)
    return ends


def jumping_times(menura, random, folder, count, _):
    """A capture whose clock is set back, or ahead by an hour: its replay says so."""
    ends = Ends(menura, folder, "jumping")
    capture, _ = ends.recording()
    data = capture.read_bytes()
    for by_s in (-7200, 3600):
        bad, at, number = bytearray(data), 24, 0
        while at < len(bad):
            seconds, _, size, _ = struct.unpack_from("<IIII", bad, at)
            if number >= 20:
                struct.pack_into("<I", bad, at, seconds + by_s)
            at, number = at + 16 + size, number + 1
        (ends.folder / "clock.pcap").write_bytes(bad)
        code, said = ends.run("replay", "clock.pcap", "--to", "127.0.0.1:9", "--duration", "0.2s")
        ends.wants(JUMP.search(said), f"times jump by {by_s} s: exit code {code}, and nothing is said of it", said)
    return ends


ENDS = {
    "ends: two signals within 20 ms": signals,
    "ends: outputs that are inputs": overwriting,
    "ends: a full disk": full_disk,
    f"ends: ground truth, {FLIPS} flipped bits": flipped_truth,
    "ends: feeds at the ends of sequence numbers": sequence_ends,
    "ends: replays of times that jump": jumping_times,
}
