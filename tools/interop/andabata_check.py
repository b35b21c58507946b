#!/usr/bin/env python3
"""Lets examples/andabata_robot.py drive the robot of examples/andabata.toml for 40 s, live, and judges it.

The program reads the devices with hokuyolx, pyserial and pynmeagps and commands the motor controller; what
its hosts said is logged, and `record --host-log` tells where the robot was.

    target/venv/bin/python tools/interop/andabata_check.py --menura target/release/menura
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def truth(folder):
    """Time, east and north of each row of truth.csv."""
    with open(folder / "truth.csv", encoding="utf-8") as file:
        return [tuple(float(row[key]) for key in ("time_s", "x_m", "y_m")) for row in csv.DictReader(file)]


def faults(told, way, seconds):
    """What is not as it should be."""
    found = []
    lengths = [math.dist(a[1:], b[1:]) for a, b in zip(way, way[1:])]
    driven_m = sum(lengths)
    # Lower bounds are low: on a busy machine the robot's program computes late, and the robot waits for it.
    # The first map comes after a scan, its classification and the telephone's first fix.
    expected_m = 0.3 * (seconds - 8)
    if not 0.4 * expected_m <= driven_m <= 0.31 * seconds:
        found.append(f"it drove {driven_m:.1f} m; expected about {expected_m:.1f}")
    if told["plane_scans"] < 0.5 * 40 * (seconds - 5):
        found.append(f"{told['plane_scans']} scans of the plane arrived in {seconds} s")
    scans = (seconds - 4) / 3.3
    if not 0.5 * scans <= told["scans"] <= scans + 2:
        found.append(f"{told['scans']} 3-D scans in {seconds} s; expected about {scans:.0f}")
    if told["scans"] and not 20_000 <= told["points"] / told["scans"] <= 60_000:
        found.append(f"{told['points'] / told['scans']:.0f} points a 3-D scan")
    maps = (seconds - 8) / 1.1
    if not 0.5 * maps <= told["maps"] <= maps + 8:
        found.append(f"{told['maps']} maps; expected about {maps:.0f}")
    if told["headings"] < 25 * (seconds - 3):
        found.append(f"{told['headings']} headings of the compass")
    off_m = math.dist((told["east_m"], told["north_m"]), way[-1][1:])
    if off_m > 4:
        found.append(f"it takes itself to be {off_m:.1f} m from where it is")
    # The ditch ahead is 6 m long, and straight on is the shortest way to the goal.
    end = way[-1]
    if math.dist(end[1:], (20, -14)) > math.dist(way[0][1:], (20, -14)) - 0.35 * expected_m:
        found.append(f"it is not on its way to the goal: {end[1]:.1f}, {end[2]:.1f}")
    return found


def run(menura, seconds):
    """What the program told, and where the robot was."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        rig, log = str(EXAMPLES / "andabata.toml"), str(folder / "hosts.jsonl")
        command = [menura, "run", rig, "--duration", f"{seconds + 6}s", "--host-log", log,
                   "--report", str(folder / "report.json")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as emulator:
            # It says so once its links are open.
            first = emulator.stderr.readline()
            program = subprocess.run(
                [sys.executable, str(EXAMPLES / "andabata_robot.py"), "--seconds", str(seconds)],
                capture_output=True, text=True, timeout=seconds + 60)
            said = first + emulator.stderr.read()
        if program.returncode != 0 or emulator.returncode not in (0, None):
            sys.exit(f"{program.stdout}\n{program.stderr}\n{said}")
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        for device in report["devices"]:
            loop = device.get("order_to_wire_us")
            print(f"{device['name']}: {device['packets']} packets, {device['misses']} late, from order to "
                  f"packet {loop and round(loop['p50'] / 1e3)} ms")
        if any("contact" in line or "touches" in line for line in said.splitlines()):
            sys.exit(f"it ran into something:\n{said}")
        out = folder / "again"
        # Where the robot was does not depend on what its scanner saw.
        subprocess.run([menura, "record", "--force", rig, "--set", 'device.scanner.settings={beam={shape="ray"}}',
                        "--duration", f"{seconds + 3}s", "--host-log", log, "--out", str(out)], check=True, capture_output=True)
        return json.loads(program.stdout.splitlines()[-1]), truth(out)


if __name__ == "__main__":
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--menura", required=True)
    ask.add_argument("--seconds", type=int, default=40)
    options = ask.parse_args()
    told, way = run(str(pathlib.Path(options.menura).resolve()), options.seconds)
    print(told)
    found = faults(told, way, options.seconds)
    # A robot that stands, or sees nothing, is noticed.
    still = faults(told, way[:1], options.seconds)
    blind = faults({**told, "points": 0, "maps": 0}, way, options.seconds)
    assert len(still) >= 2 and len(blind) >= 2, (still, blind)
    for fault in found:
        print("FAULT:", fault)
    sys.exit(1 if found else 0)
