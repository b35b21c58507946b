#!/usr/bin/env python3
"""Changes a running VLP-16 over its web interface, as scripts of robots' makers do, and holds what
velodyne-decoder makes of the stream against the truth.

The sensor spins up from rest in the built-in scene `room`, without noise; then it is told to send both
returns, and to turn twice as fast. Every point, carried into the world by the robot's pose at the point's
own time, must lie on a plane of the room, all the while.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

import room
from room import ROTATION_RATE_RPM
from receiving import Judged, Listener, Watch, free_ports, repeated
from velodyne_fixed_check import MODELS, SETTINGS, Case, decode, off_the_walls

PROFILE = "velodyne-vlp16-3.0"
SECONDS = 7.0
# 600 rpm after 1.5 s, and 1200 as long after that.
MOTOR = "motor = { starts_at_rest = true, acceleration_rpm_s = 400 }\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        try:
            failures = repeated("web_check", lambda: attempt(arguments.menura, Path(folder)))
        except (OSError, subprocess.SubprocessError) as error:
            print(f"web_check: {error}", file=sys.stderr)
            return 2
    for line in failures:
        print(f"  FAILED {line}")
    print("web_check:", f"{len(failures)} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


def attempt(menura, folder):
    """What is wrong in one run, and whether this machine explains it: what is said to the sensor must
    come while it does what it is to be heard at."""
    listener = Listener()
    try:
        with Watch() as watch:
            failures = check(menura, Path(tempfile.mkdtemp(dir=folder)), listener)
    finally:
        listener.close()
    losses = listener.losses
    return Judged(failures, not failures, str(losses) if losses.all else watch.excuse(0.3))


def check(menura, folder, listener):
    """What is wrong, a line each."""
    [web] = free_ports(1)
    text = room.rig(PROFILE, "strongest", listener.port, SETTINGS + MOTOR)
    rig = folder / "rig.toml"
    rig.write_text(text.replace(f'{listener.port}" }} }}', f'{listener.port}" }}, web = "127.0.0.1:{web}" }}'))
    out = folder / "out"
    record = [menura, "record", "--force", rig, "--duration", f"{SECONDS}s", "--out", out]
    subprocess.run(record, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    truth = room.Truth(out / "truth.csv")
    told = []
    payloads = listener.hear(lambda: told.append(converse(menura, rig, web)))
    failures = told[0]

    modes = [payload[1204] for payload in payloads]
    changes = [i for i in range(1, len(modes)) if modes[i] != modes[i - 1]]
    if [modes[0], modes[-1], len(changes)] != [0x37, 0x39, 1]:
        return failures + [f"return modes {sorted(set(modes))}, {len(changes)} changes"]
    for mode, part in (("strongest", payloads[:changes[0]]), ("dual", payloads[changes[0]:])):
        case = Case(PROFILE, MODELS[PROFILE], mode)
        points = decode(case, part)
        error, limit = off_the_walls(case, points, truth)
        bad = int(np.count_nonzero(error > limit))
        rates = rotation_rates(part, mode)
        print(f"{mode}: {len(part)} packets, {len(points)} points, {rates[0]:.0f} to {rates[-1]:.0f} rpm; "
              f"off the walls {1e3 * error.max():.3g} mm, {bad} too far")
        if bad:
            failures.append(f"{mode}: {bad} points off the walls")
        if mode == "strongest" and not (rates[0] < 60 and abs(rates[-1] - ROTATION_RATE_RPM) < 5):
            failures.append(f"it does not spin up: {rates[0]:.0f} to {rates[-1]:.0f} rpm")
        if mode == "dual" and abs(rates[-1] - 2 * ROTATION_RATE_RPM) > 5:
            failures.append(f"it does not turn twice as fast: {rates[-1]:.0f} rpm")
    return failures


def converse(menura, rig, web):
    """Runs Menura and says to it what is to change; what is wrong with the answers."""
    base, failures = f"http://127.0.0.1:{web}/cgi", []
    run = subprocess.Popen([menura, "run", rig, "--duration", f"{SECONDS}s"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(name):
        with urllib.request.urlopen(f"{base}/{name}", timeout=10) as reply:
            return json.load(reply)

    def post(path, body):
        with urllib.request.urlopen(f"{base}/{path}", data=body.encode(), timeout=10) as reply:
            if reply.status != 204:
                failures.append(f"{path} {body}: {reply.status}")

    try:
        wait_for(base)
        time.sleep(2.0)
        post("setting", "returns=Dual&rpm=1200")
        settings = get("settings.json")
        if (settings["returns"], settings["rpm"]) != ("Dual", 1200):
            failures.append(f"settings.json: {settings}")
        try:
            post("setting", "rpm=601")
            failures.append("rpm=601 is accepted")
        except urllib.error.HTTPError as refused:
            if refused.code != 400:
                failures.append(f"rpm=601: {refused.code}")
        motor = get("status.json")["motor"]
        if not 500 < motor["rpm"] < 1210:
            failures.append(f"status.json: {motor}")
    finally:
        run.wait(timeout=120)
    if run.returncode != 0:
        raise subprocess.SubprocessError(f"menura run ended with {run.returncode}")
    return failures


def wait_for(base):
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{base}/info.json", timeout=10).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise OSError("the web interface does not answer")


def rotation_rates(payloads, mode):
    """The speed within each packet, by its azimuths, rpm."""
    sequences = 10 if mode == "dual" else 22
    seconds = sequences * 55.296e-6
    rates = []
    for payload in payloads:
        first, last = (struct.unpack_from("<H", payload, 100 * block + 2)[0] for block in (0, 11))
        rates.append((last - first) % 36_000 / 36_000 / seconds * 60)
    return rates


if __name__ == "__main__":
    sys.exit(main())
