#!/usr/bin/env python3
"""Has velodyne-decoder read what Velodynes say of the time while a receiver sets their clocks.

Menura records a VLP-16 and a VLS-128 that hear one receiver, from power-up to some seconds after the
lock. Every position packet must be read; state of the pulse, sentence, time and place must be those of
the rig, and once locked the timestamps of position and data packets must be UTC within a second's
drift of the oscillator.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import datetime
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import velodyne_decoder as vd

from gps_rig import START_S, is_elsewhere, rig

SECONDS = 14
# 5 s a day, and the last microsecond.
DRIFT_US = 5e6 / 86_400 + 2
HOUR_US = 3_600_000_000

RIG = rig(
    ("vlp16", "velodyne-vlp16-3.0", 'to = "127.0.0.1:2368"',
     'sector_deg = [0, 19], beam = { shape = "ray" }'),
    ("vls128", "velodyne-vls128-5.2", 'to = "127.0.0.1:2368", position_port = 9308',
     'sector_deg = [0, 4], beam = { shape = "ray" }'))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    arguments = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        folder = Path(folder)
        (folder / "rig.toml").write_text(RIG)
        done = subprocess.run(
            [arguments.menura, "record", "--force", folder / "rig.toml", "--duration", f"{SECONDS}s", "--out",
             folder / "out"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(f"menura record failed:\n{done.stdout}", file=sys.stderr)
            return 2
        for name in ("vlp16", "vls128"):
            failures += check(name, folder / "out" / f"{name}.pcap")
    for line in failures:
        print(f"  FAILED {line}")
    print("velodyne_clock_check:", f"{len(failures)} failed" if failures else "all read, none failed")
    return 1 if failures else 0


def frames(path):
    """Seconds after the start, UDP ports and payload of each frame of one of Menura's captures."""
    data = path.read_bytes()
    at = 24
    while at < len(data):
        seconds, nanoseconds, length = struct.unpack_from("<III", data, at)
        frame = data[at + 16:at + 16 + length]
        yield seconds - START_S + nanoseconds * 1e-9, struct.unpack_from(">HH", frame, 34), frame[42:]
        at += 16 + length


def ahead_us(time_s, timestamp_us):
    """How far a timestamp is ahead of UTC at `time_s`, within half an hour."""
    utc_us = (START_S + time_s) * 1e6
    return (timestamp_us - utc_us + HOUR_US / 2) % HOUR_US - HOUR_US / 2


def check(name, path):
    """What is wrong with a unit's packets."""
    wrong, states, data, position = [], [], [], []
    last_time = -1.0
    for time_s, ports, payload in frames(path):
        if time_s < last_time:
            wrong.append(f"{name}: a frame at {time_s} s stands behind one at {last_time} s")
        last_time = time_s
        if len(payload) == 1206:
            data.append((time_s, struct.unpack_from("<I", payload, 1200)[0]))
            continue
        if len(payload) != 512 or ports != (8308, 8308):
            wrong.append(f"{name}: {len(payload)} bytes on ports {ports}")
            continue
        position.append((time_s, vd.TelemetryPacket(payload)))
    for _, packet in position:
        state = str(packet.pps_status).rpartition(".")[2].lower()
        if states[-1:] != [state]:
            states.append(state)
    if states != ["absent", "synchronizing", "locked"]:
        wrong.append(f"{name}: the pulse is {states}")
    locked = [(time_s, packet) for time_s, packet in position if time_s > SECONDS - 4]
    # A position packet leaves 354 us after it was stamped.
    worst = max(abs(ahead_us(time_s - 354e-6, packet.usec_since_toh)) for time_s, packet in locked)
    if worst > DRIFT_US:
        wrong.append(f"{name}: a position packet is {worst:.1f} us off")
    # Of a narrow view some packets are held open, which makes them older; none is younger.
    # A VLS-128 stamps its fourth group of lasers, 8.7 us after the first.
    span_s = {"vlp16": 1327.104e-6, "vls128": 3 * 57.8e-6 - 8.7e-6}[name]
    first = max(ahead_us(time_s - span_s, stamp) for time_s, stamp in data if time_s > SECONDS - 4)
    if not 0 <= first <= DRIFT_US:
        wrong.append(f"{name}: data packets are {first:.1f} us ahead")
    wrong += sentences(name, locked)
    if name == "vls128":
        _, last = position[-1]
        told = (last.temp_at_powerup, last.temp_during_adc_calibration,
                last.seconds_since_adc_calibration)
        if told != (25, 25, SECONDS - 1) or not 25 <= last.temp_board_top <= 52:
            wrong.append(f"{name}: telemetry {told}, top board {last.temp_board_top}")
    print(f"{name}: {len(position)} position and {len(data)} data packets, pulse {', '.join(states)}; "
          f"off UTC by {worst:.1f} and {first:.1f} us once locked")
    return wrong


def sentences(name, packets):
    """What is wrong with the sentences of position packets."""
    wrong, seen = [], set()
    for time_s, packet in packets:
        text = packet.nmea_sentence.strip()
        if text in seen:
            continue
        seen.add(text)
        info = packet.parse_nmea()
        if info is None or not text.startswith("$GPRMC,"):
            wrong.append(f"{name}: {text!r} is not understood")
            continue
        if is_elsewhere(info.latitude, info.longitude):
            wrong.append(f"{name}: {text!r} is elsewhere")
        # It was heard within a second of the instant that it names.
        named = packet.nmea_time.replace(tzinfo=datetime.UTC)
        heard = START_S + time_s - named.timestamp()
        if not 0 <= heard < 1.5:
            wrong.append(f"{name}: {text!r} is {heard:.2f} s old")
    if len(seen) < 3:
        wrong.append(f"{name}: {len(seen)} sentences")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
