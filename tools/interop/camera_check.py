#!/usr/bin/env python3
"""Lets Aravis and other clients find, set and read cameras of Menura's.

Needs Debian's aravis-tools-cli, gir1.2-aravis-0.8 and python3-gi, and viva-genicam, pygigevision and genicam of
requirements.txt. Aravis searches every interface: `tools/test` gives it a network of its own.

`found`: all cameras answer a search. `features`: what is written is read back. `cases`: what arv-test tests, by Python
(camera_aravis.py): features, six pixel formats byte for byte, rates, single frames, triggers, chunks, user sets, a second
host. `loss`: the second camera's link loses one datagram of twenty, and resending makes every image whole. `scene`: images
of the world are those of a recording of the same rig, byte for byte. `arv-camera-test`: Aravis' own program
finds nothing wrong. `clients`: clients that are independent of Aravis (camera_clients.py). `address`: a broadcast FORCEIP
gives a camera another address, and only that camera; Aravis finds, sets and streams it there. A persistent address holds
after DeviceReset.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import atexit
import itertools
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from captures import datagrams
from receiving import stop_process

HERE = Path(__file__).resolve().parent
PATIENCE_S = 60
# The first camera has the only address of the loopback interface where viva-genicam looks.
RIG = """\
seed = 1
start_utc = 2026-06-01T10:00:00Z
origin = { latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }

[world]
scene = "courtyard"
parameters = { grass_blades = 100, trees = 1, tree_triangles = 1000 }

[robot]
trajectory = { kind = "circle", radius_m = 3.0, speed_m_s = 0.5 }

[[device]]
name = "front"
profile = "menura-gv231c"

[device.link]
udp = { to = "127.0.0.1:20203", from = "127.0.0.1:20202" }
gvcp = "127.0.0.1:3956"

[device.settings]
serial = "0001"
# Scheduled actions need a clock that PTP sets.
ptp = "locked"

[[device]]
name = "rear"
profile = "menura-gv121m"

[device.link]
udp = { to = "127.0.0.1:20203", from = "127.0.0.3:20202" }
gvcp = "127.0.0.3:3956"

[device.settings]
serial = "0002"

# Frames at instants that do not depend on when a host comes: a recording has the same ones.
[[device]]
name = "left"
profile = "menura-gv231c"
mount = { translation_m = [0.0, 0.0, 1.2] }

[device.link]
udp = { to = "127.0.0.1:20204", from = "127.0.0.4:20202" }
gvcp = "127.0.0.4:3956"

[device.settings]
serial = "0003"
image_width = 160
image_height = 120
trigger = "line1"
line1 = { period_s = 0.5 }
sun_deg = [45.0, 200.0]

[[fault]]
device = "rear"
kind = "packet-loss"
probability = 0.05
start_s = 0.0
"""
failures = []
ids = itertools.count(1)


def check(what, is_so, found=""):
    print(f"{'ok    ' if is_so else 'FAILED'} {what}{'' if is_so else f': {found}'}", flush=True)
    if not is_so:
        failures.append(what)


def tool(*arguments, patience_s=PATIENCE_S):
    """The exit code and what a program says."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=patience_s)
    except subprocess.TimeoutExpired as late:
        return -1, f"no end after {patience_s} s: {late.stdout}"
    return done.returncode, done.stdout + done.stderr


def part(what, *arguments):
    """Runs a script that prints its own checks."""
    code, said = tool(*arguments, patience_s=4 * PATIENCE_S)
    print(said.rstrip(), flush=True)
    check(what, code == 0, f"exit code {code}, see above")


def frames_of(capture):
    """The images of a recording by their stamps."""
    stamps, images = {}, {}
    for _, payload in datagrams(capture):
        block, kind = struct.unpack(">H", payload[2:4])[0], payload[4]
        if kind == 1:
            stamps[block], images[block] = struct.unpack(">Q", payload[12:20])[0], b""
        elif kind == 3:
            images[block] += payload[8:]
    return {stamps[block]: images[block] for block in stamps}


def scene(menura, rig, folder):
    live, recorded = Path(folder) / "live", Path(folder) / "recorded"
    part("scene: images are received", "/usr/bin/python3", str(HERE / "camera_aravis.py"), "scene", str(live))
    if not live.exists():
        return
    data, at, received = live.read_bytes(), 0, []
    while at < len(data):
        stamp, length = struct.unpack(">QI", data[at:at + 12])
        received.append((stamp, data[at + 12:at + 12 + length]))
        at += 12 + length
    # Stamps count from the first instant of the run.
    last_s = max((stamp for stamp, _ in received), default=0) / 1e9
    # The other cameras' images would fill the recording.
    alone = ["--set", "device.front.settings.frame_rate_hz=0.1", "--set", "device.rear.settings.frame_rate_hz=0.1"]
    code, said = tool(menura, "record", str(rig), *alone, "--duration", f"{int(last_s) + 2}s", "--out", str(recorded),
                      patience_s=10 * PATIENCE_S)
    check("scene: the rig is recorded", code == 0, said)
    if code != 0:
        return
    wanted = frames_of(recorded / "left.pcap")
    same = [wanted.get(stamp) == image and len(set(image)) > 20 for stamp, image in received]
    check(f"scene: {len(same)} images of the world are those of the recording", len(same) >= 4 and all(same), same)


def aravis_programs(folder):
    code, said = tool("timeout", "--signal=INT", "--kill-after=10", "25", "arv-camera-test-0.8", "-n", "Menura-0001",
                      "--duration=6", "-w", "160", "-h", "120", "-f", "20")
    counts = dict(re.findall(r"(n_\w+)\s*[:=]\s*(\d+)", said))
    is_sound = counts and int(counts.get("n_completed_buffers", 0)) > 20 and counts.get("n_failures") == "0"
    check("arv-camera-test: frames, no failure", bool(is_sound), said[-1500:])


def forced(mac, address, waits_s=PATIENCE_S):
    """The sender and the status of the answer to a broadcast FORCEIP; None if nobody answers."""
    payload = bytes(2) + mac + bytes(12) + socket.inet_aton(address) + bytes(12) + bytes([255, 0, 0, 0]) + bytes(16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
        host.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        host.bind(("127.0.0.1", 0))
        host.settimeout(waits_s)
        host.sendto(struct.pack(">BBHHH", 0x42, 0x11, 4, len(payload), next(ids)) + payload, ("255.255.255.255", 3956))
        try:
            answer, sender = host.recvfrom(100)
        except TimeoutError:
            return None
        return sender[0], struct.unpack(">H", answer[:2])[0]


def found_within_patience(name):
    ends, found = time.monotonic() + PATIENCE_S, ""
    while name not in found and time.monotonic() < ends:
        found = tool("arv-tool-0.8")[1]
    return found


def address():
    """Moves the second camera."""
    _, said = tool("arv-tool-0.8", "-n", "Menura-0002", "control", "GevMACAddress")
    number = re.search(r"GevMACAddress = (\d+)", said)
    if not number:
        return check("address: the MAC address is read", False, said)
    mac = int(number[1]).to_bytes(8, "big")[2:]
    # A second is long enough for any answer of this machine's, and no answer can come later than one of the next lines.
    check("address: nobody has another MAC address", forced(bytes(6), "127.0.0.9", 1) is None)
    check("address: multicast and broadcast addresses are refused",
          [forced(mac, wrong) for wrong in ("224.0.0.1", "127.255.255.255")] == [("127.0.0.3", 0x8002)] * 2)
    check("address: that of another camera is refused", forced(mac, "127.0.0.4") == ("127.0.0.3", 0x8002))
    check("address: it is answered from the new address", forced(mac, "127.0.0.9") == ("127.0.0.9", 0))
    found = tool("arv-tool-0.8")[1]
    others = ("0001 (127.0.0.1)", "0002 (127.0.0.9)", "0003 (127.0.0.4)")
    check("address: Aravis finds the camera there, and the others where they were",
          all(name in found for name in others) and "127.0.0.3" not in found, found)
    _, said = tool("timeout", "--signal=INT", "--kill-after=10", "20", "arv-camera-test-0.8", "-n", "Menura-0002",
                   "--duration=4", "-w", "160", "-h", "120", "-f", "20")
    counts = dict(re.findall(r"(n_\w+)\s*[:=]\s*(\d+)", said))
    check("address: Aravis streams from there", int(counts.get("n_completed_buffers", 0)) > 20, said[-1500:])
    ip = int.from_bytes(socket.inet_aton("127.0.0.10"), "big")
    _, said = tool("arv-tool-0.8", "-n", "Menura-0002", "control", f"GevPersistentIPAddress={ip}", "GevPersistentIPAddress",
                   "GevCurrentIPConfigurationPersistentIP", "DeviceReset")
    check("address: the persistent address is read back", f"GevPersistentIPAddress = {ip}" in said, said)
    found = found_within_patience("0002 (127.0.0.10)")
    check("address: the persistent address holds after DeviceReset", "0002 (127.0.0.10)" in found, found)


def checked(menura, rig, folder, sender):
    ends = time.monotonic() + PATIENCE_S
    names = ("0001 (127.0.0.1)", "0002 (127.0.0.3)", "0003 (127.0.0.4)")
    found = ""
    while not all(name in found for name in names):
        if sender.poll() is not None:
            print("Menura did not run", file=sys.stderr)
            return 2
        if time.monotonic() > ends:
            check("found: all cameras", False, found)
            return 1
        found = tool("arv-tool-0.8")[1]
    check("found: all cameras", True)
    _, said = tool("arv-tool-0.8", "-n", "Menura-0001", "control", "Width=320", "ExposureTime=1234.5", "Width", "ExposureTime")
    check("features: what is written is read back", "320" in said and "1234.5" in said, said)
    scene(menura, rig, folder)
    part("cases", "/usr/bin/python3", str(HERE / "camera_aravis.py"), "cases")
    part("loss", "/usr/bin/python3", str(HERE / "camera_aravis.py"), "loss")
    part("clients", sys.executable, str(HERE / "camera_clients.py"))
    aravis_programs(folder)
    address()
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rig = Path(folder) / "cameras.toml"
        rig.write_text(RIG)
        sender = subprocess.Popen([options.menura, "run", rig], stdout=subprocess.DEVNULL)
        atexit.register(sender.kill)
        try:
            return checked(options.menura, rig, folder, sender)
        finally:
            stop_process(sender)


if __name__ == "__main__":
    sys.exit(main())
