"""A rig with a port of every kind, all on the loopback, and what its process takes of the machine."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from witness import Witness, compare, recorded

WITNESS_BYTES = 1206
WITNESS = """\
[[device]]
name = "witness"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.9] }}
link = {{ udp = {{ to = "{address}:{port}", position_port = {position} }} }}
settings = {{ beam = {{ shape = "ray" }} }}
"""
WORLD = """\
seed = 17
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
{objects}
[robot]
trajectory = {{ kind = "still" }}
"""
CART = """\
[[world.object]]
name = "cart"
body = "box"
size_m = [1.0, 1.0, 1.0]
trajectory = {{ kind = "feed", listen = "{address}:{port}", position_m = [2000.0, 0.0, 0.0] }}
"""
OTHERS = """\
[[device]]
name = "web-lidar"
profile = "velodyne-vlp16-3.0"
link = {{ udp = {{ to = "{address}:{sink}", position_port = {position} }}, web = "{address}:{web}" }}
settings = {{ beam = {{ shape = "ray" }} }}
[[device]]
name = "command-lidar"
profile = "velodyne-hdl64e-s2"
link = {{ udp = {{ to = "{address}:{sink}" }}, control = {{ pty = "{folder}/hdl" }} }}
settings = {{ beam = {{ shape = "ray" }} }}
[[device]]
name = "cola"
profile = "sick-lms111"
link = {{ tcp = ["{address}:{cola}", "{address}:{cola2}"] }}
settings = {{ beam = {{ shape = "ray" }} }}
[[device]]
name = "line-gnss"
profile = "ublox-m8n"
link = {{ tcp = "{address}:{line}" }}
[[stimulus]]
name = "flip"
fault = "flip"
[[fault]]
name = "flip"
device = "wheeltec-n100"
kind = "dropped-bytes"
probability = 0.01
start_s = 0.0
duration_s = 0.1
period_s = 1.0
[[response]]
name = "by-udp"
stimulus = "flip"
udp = "{address}:{response_udp}"
regex = "stop+"
[[response]]
name = "by-tcp"
stimulus = "flip"
tcp = "{address}:{response_tcp}"
text = "stop"
"""
LINES = ["sick-lms291-s05-x1.27", "ublox-zed-f9p-hpg1.32", "garmin-18x-lvc", "vectornav-vn100", "xsens-mti30",
         "microstrain-3dmgx5", "sbg-ellipse2d", "wheeltec-n100", "phone-imu"]


def free_port(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Bench:
    """Menura with the rig, running."""

    def __init__(self, menura, address, folder, limit_s):
        self.menura, self.address, self.folder = menura, address, Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.bind((address, 0))
        self.sink_port = self.sink.getsockname()[1]
        names = ["web", "cola", "cola2", "line", "response_tcp"]
        self.ports = {name: free_port(address) for name in names}
        self.ports |= {name: free_port(address, socket.SOCK_DGRAM) for name in ["feed", "response_udp"]}
        self.lines = {name: f"{folder}/{name}" for name in LINES} | {"hdl": f"{folder}/hdl"}
        self.witness = Witness(address, self.folder / "witness.bin")
        text = WORLD.format(objects=CART.format(address=address, port=self.ports["feed"]))
        text += self.witness_text()
        text += OTHERS.format(address=address, folder=folder, sink=self.sink_port, position=self.sink_port, **self.ports)
        for name in LINES:
            text += f'[[device]]\nname = "{name.replace(".", "-")}"\nprofile = "{name}"\n'
            text += f'link = {{ pty = "{folder}/{name}" }}\n'
        rig = self.folder / "rig.toml"
        rig.write_text(text)
        self.log = open(self.folder / "log.txt", "wb")
        self.report = self.folder / "report.json"
        command = [menura, "run", rig, "--duration", f"{limit_s}s", "--report", self.report]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        self.await_start()

    def witness_text(self):
        return WITNESS.format(address=self.address, port=self.witness.port, position=self.sink_port)

    def await_start(self):
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            if self.witness.file.exists() and self.witness.file.stat().st_size > 0:
                return
            time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"the rig does not start:\n{self.said()}")

    def said(self):
        return (self.folder / "log.txt").read_text(errors="replace")

    def is_alive(self):
        return self.process.poll() is None

    def rss_kib(self):
        try:
            for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        except OSError:
            pass
        return 0

    def descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return 0

    def stop(self):
        """Ends the run as Ctrl-C does; its exit code."""
        if self.is_alive():
            self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.log.close()
        self.sink.close()
        try:
            self.witness.stop()
        except subprocess.TimeoutExpired:
            self.witness.abandon()
            self.witness.rows = []
        return code

    def packets(self):
        """What the witness received, held against a recording; as `witness.compare`."""
        rows = self.witness.rows
        rig = self.folder / "witness.toml"
        rig.write_text(WORLD.format(objects="") + self.witness_text())
        seconds = len(rows) // 700 + 2
        command = [self.menura, "record", rig, "--duration", f"{seconds}s", "--out", self.folder / "recorded",
                   "--force"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
        frames = recorded(self.folder / "recorded" / "witness.pcap", WITNESS_BYTES)
        return compare(rows, frames)

    def misses(self):
        """In words, how many packets of all devices left late or were dropped, by the report; None if there is none."""
        try:
            devices = json.loads(self.report.read_text())["devices"]
            packets, late, dropped = (sum(device[key] for device in devices) for key in ("packets", "sent_late", "dropped"))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        all_packets = packets + dropped
        share = 100 * (late + dropped) / max(1, all_packets)
        return f"{share:.2f} % misses ({late} late, {dropped} dropped of {all_packets} packets)"

    def lost_by_witness(self):
        return max((lost for _, lost, _ in self.witness.rows), default=0)

    def sent(self):
        """Data packets that the witnessed lidar sent, by the report; None if there is none."""
        try:
            devices = json.loads(self.report.read_text())["devices"]
            device = next(device for device in devices if device["name"] == "witness")
            return device["ports"][0]["packets"]
        except (OSError, ValueError, KeyError, StopIteration, IndexError, TypeError):
            return None
