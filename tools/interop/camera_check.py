#!/usr/bin/env python3
"""Lets Aravis' programs find, set and read two cameras of Menura's.

Needs Debian's aravis-tools-cli, gir1.2-aravis-0.8 and python3-gi. Aravis searches every interface: `tools/test` gives it a
network of its own.

`found`: both cameras answer a search. `features`: what is written is read back. `stream`: images of a test pattern are
what the pattern says, byte for byte, in every format. `second`: a second host reads and does not write. `trigger`: each
software trigger brings one image. `loss`: the second camera's link loses one datagram of twenty, and resending makes every
image whole.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60
WIDTH, HEIGHT = 160, 120
RIG = """\
seed = 1
start_utc = 2026-06-01T10:00:00Z
origin = {{ latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }}

[world]
scene = "courtyard"
parameters = {{ grass_blades = 100, trees = 1, tree_triangles = 1000 }}

[robot]
trajectory = {{ kind = "circle", radius_m = 3.0, speed_m_s = 0.5 }}

[[device]]
name = "front"
profile = "menura-gv231c"

[device.link]
udp = {{ to = "127.0.0.1:20203", from = "127.0.0.2:20202" }}
gvcp = "127.0.0.2:3956"

[device.settings]
serial = "0001"

[[device]]
name = "rear"
profile = "menura-gv121m"

[device.link]
udp = {{ to = "127.0.0.1:20203", from = "127.0.0.3:20202" }}
gvcp = "127.0.0.3:3956"

[device.settings]
serial = "0002"

[[fault]]
device = "rear"
kind = "packet-loss"
probability = 0.05
start_s = 0.0
"""
# Of Debian's Python, which alone has the bindings.
READER = """\
import sys
import gi
gi.require_version("Aravis", "0.8")
from gi.repository import Aravis
WIDTH, HEIGHT, WAIT_US = 160, 120, 5_000_000
camera = Aravis.Camera.new("Menura-0001")
camera.set_region(0, 0, WIDTH, HEIGHT)
device = camera.get_device()
device.set_string_feature_value("TestPattern", "GreyHorizontalRamp")
# Bits of a pixel, and how the ramp's brightness of 8 bits stands in them.
FORMATS = {"Mono8": (8, 0), "BayerRG8": (8, 0), "RGB8": (24, 0), "Mono16": (16, 8), "Mono12": (16, 4), "BayerRG12p": (12, 4)}


def row_of(name):
    _, shift = FORMATS[name]
    if name == "RGB8":
        return b"".join(bytes([column] * 3) for column in range(WIDTH))
    if name == "BayerRG12p":
        pairs = ((2 * pair << shift) | (2 * pair + 1 << shift) << 12 for pair in range(WIDTH // 2))
        return b"".join(pair.to_bytes(3, "little") for pair in pairs)
    size = FORMATS[name][0] // 8
    return b"".join((column << shift).to_bytes(size, "little") for column in range(WIDTH))


def is_ramp(name, data):
    row, size = row_of(name), len(row_of(name))
    # Colours at the left and right edge are means of fewer pixels of the mosaic.
    edge = 0 if name.startswith("Bayer") else FORMATS[name][0] // 8
    rows = [data[start:start + size] for start in range(0, len(data), size)]
    return len(rows) == HEIGHT and all(one[edge:size - edge] == row[edge:size - edge] for one in rows)


faults = []
for name, (bits, _) in FORMATS.items():
    camera.set_pixel_format_from_string(name)
    payload = camera.get_payload()
    if payload != WIDTH * HEIGHT * bits // 8:
        faults.append(f"{name}: payload {payload}")
    stream = camera.create_stream(None, None)
    for _ in range(8):
        stream.push_buffer(Aravis.Buffer.new_allocate(payload))
    camera.start_acquisition()
    whole = 0
    for _ in range(20):
        buffer = stream.timeout_pop_buffer(WAIT_US)
        if buffer is None:
            continue
        if buffer.get_status() == Aravis.BufferStatus.SUCCESS:
            if not is_ramp(name, buffer.get_data()):
                faults.append(f"{name}: other bytes than the pattern's")
            whole += 1
        stream.push_buffer(buffer)
        if whole == 3:
            break
    camera.stop_acquisition()
    del stream
    if whole < 3:
        faults.append(f"{name}: {whole} whole images")
camera.set_pixel_format_from_string("Mono8")
camera.set_trigger("Software")
stream = camera.create_stream(None, None)
for _ in range(8):
    stream.push_buffer(Aravis.Buffer.new_allocate(camera.get_payload()))
camera.start_acquisition()
for number in range(3):
    camera.software_trigger()
    buffer = stream.timeout_pop_buffer(WAIT_US)
    if buffer is None:
        faults.append(f"no image after trigger {number}")
    else:
        stream.push_buffer(buffer)
if stream.timeout_pop_buffer(500_000) is not None:
    faults.append("an image without a trigger")
camera.stop_acquisition()
try:
    Aravis.Camera.new("Menura-0001").set_region(0, 0, 64, 64)
    faults.append("a second host may write")
except Exception as refusal:
    print("second host:", refusal)
lossy = Aravis.Camera.new("Menura-0002")
lossy.set_region(0, 0, WIDTH, HEIGHT)
lossy.get_device().set_string_feature_value("TestPattern", "GreyHorizontalRamp")
lossy.gv_set_packet_size(576)
stream = lossy.create_stream(None, None)
for _ in range(30):
    stream.push_buffer(Aravis.Buffer.new_allocate(lossy.get_payload()))
lossy.start_acquisition()
statuses = []
while len(statuses) < 30:
    buffer = stream.timeout_pop_buffer(WAIT_US)
    if buffer is None:
        break
    statuses.append(buffer.get_status())
lossy.stop_acquisition()
whole = statuses.count(Aravis.BufferStatus.SUCCESS)
resent = stream.get_info_uint64_by_name("n_resent_packets")
print(f"loss: {whole} of {len(statuses)} images are whole, {resent} packets were sent again")
if whole < 29 or resent == 0:
    faults.append("images are not whole although packets are sent again")
print("\\n".join(faults) or "all as it should be")
sys.exit(1 if faults else 0)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rig = Path(folder) / "cameras.toml"
        rig.write_text(RIG.format())
        sender = subprocess.Popen([options.menura, "run", rig], stdout=subprocess.DEVNULL)
        try:
            return checked(sender)
        finally:
            sender.terminate()
            sender.wait()


def tool(*arguments):
    """The exit code and what a program of Aravis' says."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


def checked(sender):
    ends = time.monotonic() + PATIENCE_S
    found = ""
    while not all(name in found for name in ("0001 (127.0.0.2)", "0002 (127.0.0.3)")):
        if sender.poll() is not None:
            print("Menura did not run", file=sys.stderr)
            return 2
        if time.monotonic() > ends:
            print(f"found: not both cameras: {found}")
            return 1
        found = tool("arv-tool-0.8")[1]
    print("found: both cameras")
    faults = []
    _, said = tool("arv-tool-0.8", "-n", "Menura-0001", "control", "Width=320", "ExposureTime=1234.5", "Width", "ExposureTime")
    if "320" not in said or "1234.5" not in said:
        faults.append(f"features: {said}")
    code, said = tool("/usr/bin/python3", "-c", READER)
    print(said)
    if code != 0:
        faults.append("stream, second or trigger, see above")
    print("\n".join(faults) or "all is well")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
