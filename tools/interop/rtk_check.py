#!/usr/bin/env python3
"""Foreign programs use Menura's base station.

Two recorded ZED-F9Ps stand 0.94 km apart; the first one is a base that is configured in the rig.
- pyubx2 and pyrtcm parse every message, and every kind that was asked for comes.
- RTKLIB's convbin makes RINEX of RXM-RAWX and RXM-SFRBX alone, and rnx2rtkp finds each antenna in
  single-point mode, by GPS, GLONASS, Galileo and BeiDou each by itself: no other ephemerides are used.
- rnx2rtkp fixes the ambiguities between the two and finds the second antenna to 2 cm.
- The same with the base's RTCM (MSM7) in the place of its RXM-RAWX.
- pygnssutils takes the base's messages from its caster, by NTRIP 1 and 2, and parses every one.
- rtkrcv reads both receivers live, the base's RTCM from the line to its UART2 and the rover's RXM messages, and fixes the
  second antenna to 2 cm. Meanwhile the line to the base's UART1 has UBX and no RTCM.
"""

import argparse
import math
import os
import pty
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, Queue

from pygnssutils import GNSSNTRIPClient
from pyubx2 import ERR_RAISE, RTCM3_PROTOCOL, UBX_PROTOCOL, UBXReader
from serial import Serial

from receiving import clean_up_at_sigterm, free_ports

LATITUDE, LONGITUDE, ALTITUDE = 47.285233167, 8.565265, 547.6
HEIGHT = 20.0
SECONDS = 120
# RTKLIB's numbers of the systems.
SYSTEMS = {"GPS": 1, "GLONASS": 4, "Galileo": 8, "BeiDou": 32}
CORRECTIONS = "1005 1074 1077 1084 1087 1094 1097 1124 1127 1230 4072".split()

RIG = """
seed = 3
origin = {{ latitude_deg = {latitude}, longitude_deg = {longitude}, altitude_m = {altitude} }}
[world]
scene = "courtyard"
parameters = {{ grass_blades = 100, trees = 1, tree_triangles = 1000, ground_relief_m = 0.0 }}
[robot]
trajectory = {{ kind = "still" }}
[[device]]
name = "{name}"
profile = "ublox-zed-f9p-hpg1.32"
mount = {{ translation_m = [0.0, 0.0, {height}] }}
link = {{ pty = "{folder}/{name}.tty" }}
settings = {{ baud_rate = 921600, sentences = [], messages = [{messages}]{place} }}
{caster}
"""
# A time at which all recordings begin.
START = ["--set", "start_utc=2026-11-21T09:27:20Z"]
BASE_STATION = ", base_station = {{ latitude_deg = {}, longitude_deg = {}, altitude_m = {} }}"

# The line to the second UART of the base, to which a radio would be connected.
RADIO = """
[[device]]
name = "radio"
profile = "ublox-zed-f9p-hpg1.32"
line_of = "base.uart2"
link = {{ pty = "{folder}/radio.tty" }}
"""

SINGLE = """
pos1-posmode=single
pos1-ionoopt=brdc
pos1-tropopt=saas
"""

KINEMATIC = """
pos1-posmode=kinematic
pos1-frequency=l1+2
pos2-armode=continuous
ant2-postype=xyz
ant2-pos1={0}
ant2-pos2={1}
ant2-pos3={2}
"""

# rtkrcv puts /dev before a line's name.
LIVE = """
inpstr1-type=serial
inpstr2-type=serial
inpstr1-path={rover}:921600:8:n:1:off
inpstr2-path={radio}:115200:8:n:1:off
inpstr1-format=ubx
inpstr2-format=rtcm3
outstr1-type=file
outstr1-path={solution}
outstr1-format=xyz
misc-timeout=60000
misc-reconnect=10000
"""
# What the base sends for live clients.
LIVE_CORRECTIONS = "1005 1077 1087 1097 1127 1230".split()
# How many fixed epochs are wanted, and how long they may take.
LIVE_EPOCHS, LIVE_PATIENCE_S = 30, 240
# Longest time that a recording or a program of RTKLIB may take.
PATIENCE_S = 600

BOTH = """
pos1-elmask=10
pos1-navsys={systems}
out-solformat=xyz
"""


def check(what, holds, detail=""):
    if not holds:
        raise SystemExit(f"FAILED {what}: {detail}")
    print(f"ok  {what}  {detail}", flush=True)


def ecef(latitude, longitude, height):
    """WGS84."""
    a, f = 6378137.0, 1 / 298.257223563
    e2 = f * (2 - f)
    lat, lon = math.radians(latitude), math.radians(longitude)
    n = a / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    return (
        (n + height) * math.cos(lat) * math.cos(lon),
        (n + height) * math.cos(lat) * math.sin(lon),
        (n * (1 - e2) + height) * math.sin(lat),
    )


PLACES = {"base": (LATITUDE, LONGITUDE), "rover": (LATITUDE + 0.006, LONGITUDE + 0.0088)}
ANTENNAS = {name: ecef(*place, ALTITUDE + HEIGHT) for name, place in PLACES.items()}


def write_rig(folder, name, messages, place="", caster=""):
    latitude, longitude = PLACES[name]
    rig = folder / f"{name}.toml"
    rig.write_text(RIG.format(
        latitude=latitude, longitude=longitude, altitude=ALTITUDE, height=HEIGHT, name=name, folder=folder,
        messages=", ".join(f'"{message}"' for message in messages), place=place, caster=caster))
    return rig


def record(menura, folder, name, messages):
    rig = write_rig(folder, name, messages)
    subprocess.run([menura, "record", "--force", rig, "--duration", f"{SECONDS}s", "--out", folder / name, *START],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
    return folder / name / f"{name}.bin"


def check_parses(name, data, wanted):
    kinds, length = {}, 0
    with open(data, "rb") as file:
        for raw, parsed in UBXReader(file, protfilter=UBX_PROTOCOL | RTCM3_PROTOCOL | 1, quitonerror=ERR_RAISE):
            kinds[parsed.identity] = kinds.get(parsed.identity, 0) + 1
            length += len(raw)
    check(f"{name}: every byte parses", data.stat().st_size - length < 200, f"{kinds}")
    missing = [kind for kind in wanted if kinds.get(kind, 0) < SECONDS / 2]
    check(f"{name}: every kind of message comes", not missing, " ".join(missing))


def convert(folder, kind, data, name, *options):
    """RINEX: observations and navigation data."""
    out = [folder / f"{name}.obs", folder / f"{name}.nav"]
    subprocess.run(["convbin", "-r", kind, "-od", "-os", *options, "-o", out[0], "-n", out[1], data],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
    return out


def solve(folder, options, systems, *files):
    """Rows of rnx2rtkp: place, quality (1 fixed, 5 single), satellites."""
    configuration = folder / "rnx2rtkp.conf"
    configuration.write_text(options + BOTH.format(systems=sum(SYSTEMS[system] for system in systems)))
    run = subprocess.run(["rnx2rtkp", "-k", configuration, *files], check=True, capture_output=True, text=True,
                         timeout=PATIENCE_S)
    return rows_of(run.stdout)


def check_single(folder, name, system, files):
    rows = solve(folder, SINGLE, [system], *files)
    away = [math.dist(place, ANTENNAS[name]) for place, _, _ in rows]
    mean = [sum(axis) / len(rows) for axis in zip(*(place for place, _, _ in rows))] if rows else [0, 0, 0]
    off = math.dist(mean, ANTENNAS[name])
    check(f"{name}: single-point position by {system}",
          len(rows) > SECONDS * 0.6 and off < 3 and max(away) < 15,
          f"{len(rows)} epochs of {rows[-1][2] if rows else 0} satellites, the mean {off:.2f} m off, "
          f"one up to {max(away, default=0):.2f} m")


def rows_of(text):
    """Rows of a solution: place, quality (1 fixed, 5 single), satellites."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("%")]
    return [(tuple(map(float, row[2:5])), int(row[5]), int(row[6])) for row in rows if len(row) > 6]


def write_base(folder, caster=""):
    return write_rig(folder, "base", [f"RTCM-{number}" for number in LIVE_CORRECTIONS],
                     BASE_STATION.format(*PLACES["base"], ALTITUDE + HEIGHT), caster)


def write_base_with_radio(folder):
    """RTCM leaves by UART2 alone."""
    messages = ", ".join(f'"RTCM-{number}"' for number in LIVE_CORRECTIONS)
    place = BASE_STATION.format(*PLACES["base"], ALTITUDE + HEIGHT)
    uart2 = f", uart2 = {{ baud_rate = 115200, messages = [{messages}] }}"
    return write_rig(folder, "base", ["NAV-PVT"], place + uart2, RADIO.format(folder=folder))


def check_caster(menura, folder):
    """A client of a maker of GNSS tools reads the caster."""
    [port] = free_ports(1)
    rig = write_base(folder, f'caster = {{ listen = "127.0.0.1:{port}", mount_point = "BASE" }}')
    program = subprocess.Popen([menura, "run", rig], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for version in ("1.0", "2.0"):
            heard, stop, seen = Queue(), threading.Event(), set()
            until = time.monotonic() + LIVE_PATIENCE_S
            while set(LIVE_CORRECTIONS) - seen and time.monotonic() < until:
                # The caster may not be there yet.
                with GNSSNTRIPClient() as client:
                    client.run(server="127.0.0.1", port=port, https=0, mountpoint="BASE", datatype="RTCM",
                               version=version, output=heard, stopevent=stop)
                    try:
                        while set(LIVE_CORRECTIONS) - seen and time.monotonic() < until:
                            _, message = heard.get(timeout=5)
                            seen.add(message.identity)
                    except Empty:
                        pass
                    stop.set()
                stop = threading.Event()
            check(f"pygnssutils by NTRIP {version}: every kind of message comes", seen == set(LIVE_CORRECTIONS),
                  " ".join(sorted(map(str, seen))))
    finally:
        program.kill()
        program.wait()


def check_live(menura, folder):
    """The receivers run in real time, and rtkrcv with them."""
    rigs = [write_rig(folder, "rover", ["RXM-RAWX", "RXM-SFRBX"]), write_base_with_radio(folder)]
    lines = {name: folder / f"{name}.tty" for name in [*PLACES, "radio"]}
    for line in lines.values():
        line.unlink(missing_ok=True)
    solution, configuration = folder / "live.pos", folder / "rtkrcv.conf"
    fixed, text, uart1, programs = [], "", {}, []
    try:
        for rig in rigs:
            programs.append(subprocess.Popen([menura, "run", rig], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))
        until = time.monotonic() + LIVE_PATIENCE_S
        while not all(line.exists() for line in lines.values()) and time.monotonic() < until:
            time.sleep(0.1)
        with Serial(str(lines["base"]), 921600, timeout=1) as line:
            reader = UBXReader(line, protfilter=UBX_PROTOCOL | RTCM3_PROTOCOL)
            while sum(uart1.values()) < 3 and time.monotonic() < until:
                _, parsed = reader.read()
                if parsed is not None:
                    uart1[parsed.identity] = uart1.get(parsed.identity, 0) + 1
        check("the line to UART1 has UBX alone", set(uart1) == {"NAV-PVT"}, f"{uart1}")
        ends = {name: os.path.relpath(os.path.realpath(line), "/dev") for name, line in lines.items()}
        configuration.write_text(
            KINEMATIC.format(*ANTENNAS["base"]) + BOTH.format(systems=sum(SYSTEMS.values()))
            + LIVE.format(solution=solution, **ends))
        # Debian's crashes when it is to start by itself (-s), and its console wants a terminal.
        console, terminal = pty.openpty()
        programs.append(subprocess.Popen(["setsid", "--ctty", "rtkrcv", "-o", configuration], cwd=folder,
                                         stdin=terminal, stdout=terminal, stderr=terminal))
        shown = b""
        while b"rtkrcv> " not in shown and time.monotonic() < until:
            if select.select([console], [], [], 1)[0]:
                shown += os.read(console, 4096)
        os.write(console, b"start\r")
        while len(fixed) < LIVE_EPOCHS and time.monotonic() < until:
            time.sleep(1)
            text = solution.read_text() if solution.exists() else ""
            # The last line may not be whole yet.
            fixed = [row for row in rows_of(text.rpartition("\n")[0]) if row[1] == 1]
    finally:
        for program in programs:
            program.kill()
            program.wait()
    away = [math.dist(place, ANTENNAS["rover"]) for place, _, _ in fixed]
    check("rtkrcv live: ambiguities are fixed, the position is true to 2 cm",
          len(fixed) >= LIVE_EPOCHS and max(away) < 0.02,
          f"{len(fixed)} of {len(rows_of(text))} epochs fixed, up to {max(away, default=0) * 1000:.1f} mm off")


def check_fixed(folder, what, systems, *files):
    rows = solve(folder, KINEMATIC.format(*ANTENNAS["base"]), systems, *files)
    away = [math.dist(place, ANTENNAS["rover"]) for place, quality, _ in rows if quality == 1]
    check(f"{what} of {', '.join(systems)}: ambiguities are fixed, the position is true to 2 cm",
          len(away) > SECONDS * 0.6 and max(away) < 0.02,
          f"{len(away)} of {len(rows)} epochs fixed, {rows[-1][2] if rows else 0} satellites, "
          f"up to {max(away, default=0) * 1000:.1f} mm off")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--menura", type=os.path.abspath, required=True)
    menura = parser.parse_args().menura
    clean_up_at_sigterm()
    raw = ["NAV-PVT", "RXM-RAWX", "RXM-SFRBX"]
    with tempfile.TemporaryDirectory(prefix="menura-rtk-") as folder:
        folder = Path(folder)
        data = {"rover": record(menura, folder, "rover", raw)}
        data["base"] = record(menura, folder, "base", raw + [f"RTCM-{number}" for number in CORRECTIONS])
        print(f"    baseline {math.dist(*ANTENNAS.values()):.1f} m")
        check_parses("rover", data["rover"], raw)
        # Nobody has told this base where it is, so that it sends no 1005.
        check_parses("base", data["base"], raw + [n for n in CORRECTIONS if n not in ("1005", "4072")])
        files = {name: convert(folder, "ubx", path, name) for name, path in data.items()}
        for name in PLACES:
            for system in SYSTEMS:
                check_single(folder, name, system, files[name])
        # Navigation data are the second receiver's own.
        (rover, navigation), base = files["rover"], files["base"][0]
        for systems in (["GPS"], list(SYSTEMS)):
            check_fixed(folder, "RXM-RAWX", systems, rover, base, navigation)
        msm, _ = convert(folder, "rtcm3", data["base"], "msm", "-tr", "2026/11/21", "09:27:20")
        check_fixed(folder, "RTCM", ["GPS"], rover, msm, navigation)
        check_caster(menura, folder)
        check_live(menura, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
