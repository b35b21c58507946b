#!/usr/bin/env python3
"""The driver test kit finds what is wrong with drivers, and nothing else.

- examples/bad_driver.py passes the cases CASES of the suites `lidar` and `gnss` without a fault, and kit/good_driver.py
  those of GOOD on the other rigs of the suites.
- Each of the first one's seventeen faults fails the cases that are meant for it, and not those of BESIDE.
- Real drivers come to the verdicts that are known of them, weaknesses included: velodyne-decoder, MRPT's for Velodynes,
  Hokuyos, the LMS 1xx and the LMS 2xx, hilspy, ouster-sdk, pynmeagps, gpsd, vectornav-vn200, basicmicro and Aravis. REAL explains
  each weakness.

A run is one of ROTATIONS rotations, which the commit's hash selects; `--rotation N` selects one by hand.

- The good drivers of the suites `lidar` and `gnss` run a tenth of their cases. Those of two other products run the cases COMMON.
- Of all other products and of the real drivers, every sixth runs a tenth of its cases, at least one, and those that it is
  known to fail.
- An eighth of the faults run, each on one case that is meant for it and one of BESIDE.

`--all` runs all of these cases, without rotation. `--full` runs every case of the suites, without a fault and with each.

A busy machine makes a driver late. So cases whose verdict is not the expected one run again, one at a time. A case that
is to fail may be one of which the kit says that the machine was too busy, as long as it says what it found.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

from rotation import by_commit

HERE = Path(__file__).resolve().parent
BAD_DRIVER = HERE.parent.parent / "examples" / "bad_driver.py"
LIDAR = ["python3", str(BAD_DRIVER), "--port", "{udp_port}", "--sensor", "{sensor_ip}"]
RECEIVER = ["python3", str(BAD_DRIVER), "--tty", "{pty}"]

# How often a case is run again whose verdict is not the expected one.
REPEATS = 2

# One case for each kind of thing that happens.
CASES = {
    "lidar": ["steady", "azimuth-wrap", "no-returns", "laser-dead", "power-cycle", "unplugged", "cut-packets",
              "loss", "twin", "hour-wrap", "other-product", "dual-return", "speed-change", "dual-return-switch",
              "field-of-view-change", "position-lost", "clock-forward", "clock-back", "pps-lost"],
    "gnss": ["steady", "midnight", "week-begins", "no-fix", "tunnel", "power-cycle", "noise", "lost-bytes", "south-west",
             "north-west", "below-the-sea", "clock-back", "talkers", "talkers-change", "firmware-hpg-1-11",
             "all-sentences", "line-too-slow", "two-dimensional", "leap-second", "leap-second-announced"],
}

# The cases that rotate over the other products, and those of a serial line.
COMMON = ["steady", "driver-restart", "unplugged", "power-cycle", "clock-back", "week-rollover"]
LINES = ["noise", "lost-bytes", "breaks"]
# Each of the other products: suite, options, the driver's arguments, and one case for each further kind of thing that happens
# to it.
GOOD = {
    "hdl64e": ("lidar", ("--rig", "hdl64e"), ["{udp_port}", "{sensor_ip}", "{calibration}"],
               ["status-bytes", "no-returns", "hour-wrap", "twin", "cut-packets", "dual-return"]),
    "xt32": ("lidar", ("--rig", "xt32"), ["{udp_port}", "{sensor_ip}", "{ptc}"],
             ["azimuth-wrap", "no-returns", "hour-wrap", "twin", "cut-packets", "dual-return", "high-temperature",
              "ptp-unlocked-hesai", "ptp-locks-hesai", "ptp-steps-hesai", "ptp-lost-hesai"]),
    "helios": ("lidar", ("--rig", "helios"), ["{udp_port}", "{sensor_ip}", "{difop_port}"],
               ["azimuth-wrap", "no-returns", "twin", "cut-packets", "dual-return", "motor-stall"]),
    "mid360": ("lidar", ("--rig", "mid360"), ["{udp_port}", "{sensor_ip}"],
               ["no-returns", "laser-dead", "twin", "cut-packets", "hour-wrap", "hms-warning", "hms-error", "data-type-cartesian-16",
                "data-type-spherical"]),
    "avia": ("lidar", ("--rig", "avia"), ["{udp_port}", "{sensor_ip}", "{sdk1}"],
             ["sensor-first", "no-returns", "laser-dead", "twin", "cut-packets", "hour-wrap", "dual-return", "triple-return",
              "spherical-points", "abnormal-status-warning", "abnormal-status-error"]),
    "lms291": ("scanner", (), ["{pty}"],
               LINES + ["nak", "firmware-lms200", "millimetres", "half-degrees", "both-bits-fatal", "late-telegrams",
                        "half-telegrams", "rate-after-power-cycle", "polluted-ok", "slow-boot"]),
    "utm30lx": ("scanner", ("--rig", "utm30lx"), ["{pty}"],
                LINES + ["motor-stall", "late-telegrams", "half-telegrams", "slow-boot"]),
    "lms111": ("scanner", ("--rig", "lms111"), ["{tcp_host}", "{tcp_port}"],
               ["motor-stall", "state-error", "state-pollution-warning", "late-telegrams", "dirty-window"]),
    "vn100": ("imu", (), ["{pty}"],
              LINES + ["motion", "half-frames", "samples-lost", "mode-imu", "mode-acc", "slow-line"]),
    "roboclaw": ("base", (), ["{pty}"], ["sensor-first", "driver-first", "counter-through-zero"]),
}

# The cases that are meant for each fault.
FAULTS = {
    "lidar": {
        "short-packet": {"cut-packets"},
        "azimuth-wrap": {"azimuth-wrap"},
        "gives-up": {"unplugged", "power-cycle"},
        "zero-range": {"no-returns", "laser-dead"},
        "hour-wrap": {"hour-wrap"},
        "leak": {"steady"},
        "restart": {"power-cycle"},
        "any-source": {"twin"},
        "product-byte": {"other-product"},
        "first-mode": {"dual-return-switch"},
        "wall-clock": {"clock-back"},
    },
    "gnss": {
        "no-checksum": {"noise", "lost-bytes"},
        "hemisphere": {"south-west", "north-west"},
        "empty-field": {"no-fix", "tunnel"},
        "talker": {"talkers", "talkers-change"},
        "flat-height": {"two-dimensional"},
        "leap-second": {"leap-second"},
    },
}

# Cases that may also fail with a fault, because what the driver does wrong happens in them, too.
ALSO = {
    "azimuth-wrap": {"fast-rotation", "field-of-view"},
    "zero-range": {"dirty-window", "farthest-ranges", "motor-stall"},
    "hemisphere": {"antimeridian-east", "antimeridian-west", "south-east", "south-pole"},
    "empty-field": {"cold-start", "poor-geometry"},
}

# Cases that no fault is meant to fail.
BESIDE = {"lidar": ["loss", "dual-return"], "gnss": ["midnight"]}

# The products that a rotation runs the common cases on.
PAIRS = list(combinations(GOOD, 2))
# In how many rotations each fault, and each product or real driver, has its turn once.
FAULTS_EVERY, DRIVERS_EVERY = 8, 6
ROTATIONS = FAULTS_EVERY * len(PAIRS)

SCRIPTS = HERE / "kit"
GOOD_DRIVER = SCRIPTS / "good_driver.py"

# Real drivers: suite, cases, options, command, and the cases that each is known to fail, with the reason.
REAL = {
    "velodyne-decoder": (
        "lidar", CASES["lidar"] + ["garbage", "field-of-view", "motor-stall", "reordering"], (),
        [sys.executable, str(SCRIPTS / "velodyne_decoder_driver.py"), "{udp_port}", "{sensor_ip}"],
        {"cut-packets": "it raises a TypeError for a datagram that is not whole, where others drop it",
         "field-of-view": "it interpolates azimuths across the jump from the end of the view to its beginning",
         "field-of-view-change": "the same",
         "clock-forward": "it takes the hour of its stamps from the time that its host gives with each packet",
         "clock-back": "the same"}),
    "mrpt-velodyne": (
        "lidar", ["steady", "azimuth-wrap", "power-cycle", "unplugged", "cut-packets", "garbage", "other-product",
                  "field-of-view-change", "speed-change", "dual-return-switch"], (),
        ["{drivers}/velodyne_mrpt", "{udp_port}", "{position_port}", "{sensor_ip}"],
        {"other-product": "its user names the model, and it does not look at the byte that says which it is"}),
    "velodyne-decoder-hdl64e": (
        "lidar", ["steady", "status-bytes", "no-returns", "power-cycle", "unplugged"], ("--rig", "hdl64e"),
        [sys.executable, str(SCRIPTS / "velodyne_decoder_driver.py"), "{udp_port}", "{sensor_ip}", "HDL64E_S3",
         "{calibration}"], {}),
    "hilspy": (
        "lidar", ["steady", "azimuth-wrap", "no-returns", "power-cycle", "cut-packets", "twin"], ("--rig", "xt32"),
        [sys.executable, str(SCRIPTS / "hilspy_driver.py"), "{udp_port}", "pandar_xt32"],
        {"cut-packets": "it raises an error for a datagram that is not whole, where others drop it",
         "twin": "it opens the port itself, and takes packets from any address"}),
    "mrpt-hokuyo": (
        "scanner", ["steady", "noise", "power-cycle", "dirty-window"],
        ("--rig", "utm30lx", "--adapter", str(SCRIPTS / "hokuyo_mrpt.toml")),
        ["{drivers}/flat_mrpt", "hokuyo", "{pty}"], {}),
    "mrpt-lms100": (
        "scanner", ["steady", "week-rollover"], ("--rig", "lms111", "--adapter", str(SCRIPTS / "lms100_mrpt.toml")),
        ["{drivers}/flat_mrpt", "lms100", "{tcp_host}", "{tcp_port}"],
        {"steady": "it says that a scan runs from left to right, but hands it over as it comes: all is mirrored"}),
    "basicmicro": (
        "all", ["steady", "unplugged", "power-cycle", "driver-restart"], ("--rig", "roboclaw"),
        [sys.executable, str(SCRIPTS / "basicmicro_driver.py"), "{pty}"], {}),
    "mrpt-sick": (
        "scanner", ["steady", "noise", "lost-bytes", "status-fatal", "millimetres", "half-degrees", "fast-line",
                    "slow-boot", "power-cycle", "late-telegrams", "half-telegrams", "rate-after-power-cycle", "nak",
                    "both-bits-fatal", "implausible-ok", "firmware-lms200"],
        ("--adapter", str(SCRIPTS / "sick_mrpt.toml")),
        ["{drivers}/sick_mrpt", "{pty}"], {}),
    "pynmeagps": (
        "gnss", CASES["gnss"] + ["cold-start", "breaks", "leap-day", "north-pole", "corrections", "corrections-damaged",
                                 "corrections-wrong"], (),
        [sys.executable, str(SCRIPTS / "pynmeagps_driver.py"), "{pty}"],
        {"leap-second": "its time of 23:59:60 is an empty text, with which whoever wants an instant fails"}),
    "gpsd": (
        "gnss", ["steady", "midnight", "tunnel", "noise", "south-west", "below-the-sea", "two-dimensional", "leap-second"],
        ("--adapter", str(SCRIPTS / "gpsd.toml")),
        [sys.executable, str(SCRIPTS / "gpsd_driver.py"), "{pty}"], {}),
    "ouster-sdk": (
        "lidar", ["steady", "azimuth-wrap", "power-cycle", "cut-packets", "twin", "reordering", "no-returns",
                  "laser-dead", "alert-error", "shot-limiting", "thermal-shutdown", "clock-back",
                  "firmware-os1-64-2-5", "ptp-unlocked-ouster", "ptp-locks-ouster", "ptp-steps-ouster", "ptp-lost-ouster"],
        ("--rig", "os1"),
        [sys.executable, str(SCRIPTS / "ouster_driver.py"), "{udp_port}", "{sensor_ip}", "{web}"], {}),
    # Debian's Python has the bindings of Aravis.
    "aravis": (
        "camera", ["steady", "sensor-first", "driver-first", "driver-restart", "unplugged", "flicker", "power-cycle", "resend",
                   "duplicates", "reordering", "late-packets", "cut-packets", "dropped-frames", "heartbeat-lost",
                   "two-controllers", "controlled-by-another", "triggered", "trigger-storm", "late-trigger",
                   "exposure-change", "frame-id-wrap", "clock-forward", "clock-back", "ptp-locks", "ptp-steps"], (),
        ["/usr/bin/python3", str(SCRIPTS / "aravis_driver.py"), "{sensor_ip}"], {}),
    "vectornav-vn200": (
        "imu", ["steady", "motion", "noise", "lost-bytes", "power-cycle", "silent", "upside-down", "samples-lost",
                "mode-ypr", "mode-imu", "mode-off", "clock-back"], (),
        [sys.executable, str(SCRIPTS / "vectornav_driver.py"), "{pty}"],
        {"noise": "it strips the checksum from answers and does not look at it"}),
}

failures = []


def check(what, is_so, else_say=""):
    print(f"{'ok    ' if is_so else 'FAILED'} {what}{'' if is_so else ': ' + else_say}", flush=True)
    if not is_so:
        failures.append(what)


def verdicts(menura, suite, command, only, options=()):
    """The verdict of each case of `only`, or of the whole suite if it is None, and its reason."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "verdicts.xml"
        arguments = [menura, "test", suite, "--junit", str(junit), *options]
        for case in () if only is None else only:
            arguments += ["--only", case]
        done = subprocess.run([*arguments, "--", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not junit.read_text():
            raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        found = {}
        for case in ET.parse(junit).getroot().iter("testcase"):
            kinds = {"failure": "failed", "error": "bench failed", "skipped": "not applicable"}
            verdict = next(((kinds[c.tag], c.get("message")) for c in case if c.tag in kinds), ("passed", ""))
            found[case.get("name")] = verdict
        return found


def those(found, verdict):
    return {case for case, (word, _) in found.items() if word == verdict}


def unexpected(found, meant, also):
    """The cases that do not fail exactly where `meant`; those of `also` may fail."""
    busy = those(found, "bench failed")
    found_although_busy = {case for case in busy & meant if "; expected: " in found[case][1]}
    failed = those(found, "failed") - also
    return ((failed | found_although_busy) ^ meant) | (busy - found_although_busy)


def reasons(found, cases):
    return "; ".join(f"{case}: {found[case][0]}, {found[case][1]}" for case in sorted(cases))


class Trial:
    """A driver on the cases `only` of a suite, or on all of them if it is None; they are to fail where `meant`, may fail where
    `also`, and pass elsewhere."""

    def __init__(self, what, suite, command, only, meant, options=(), why=None, also=frozenset()):
        if only is not None and not only:
            raise ValueError(f"{what}: no case to run")
        self.what, self.suite, self.command, self.only, self.meant = what, suite, command, only, meant
        self.options, self.why, self.also, self.found, self.took_s = options, why or {}, also, {}, 0.0

    def parts(self):
        """The cases one by one, or, of a whole suite, all of them."""
        return [None] if self.only is None else [(case,) for case in self.only]

    def run(self, menura, part):
        begun = time.monotonic()
        return verdicts(menura, self.suite, self.command, part, self.options), time.monotonic() - begun

    def again(self, menura):
        """What did not come out as it was to, by itself: a case that is late among others may not be so alone."""
        for _ in range(REPEATS):
            wrong = unexpected(self.found, self.meant, self.also)
            if not wrong:
                return
            print(f"again  {self.what}: {reasons(self.found, wrong)}", flush=True)
            self.found |= verdicts(menura, self.suite, self.command, sorted(wrong), self.options)

    def tell(self):
        wrong = unexpected(self.found, self.meant, self.also)
        counts = f"{len(those(self.found, 'passed'))} passed, {len(those(self.found, 'not applicable'))} not applicable"
        check(f"{self.what} ({counts}, {self.took_s:.0f} s)", not wrong, reasons(self.found, wrong))
        for case in sorted(set(self.why) - wrong):
            print(f"         {case}: {self.why[case]}")


def rotation_of(options):
    """The number of this run's rotation, and where it comes from; none if all cases are to run."""
    if options.all or options.full:
        return None, "all cases, without rotation"
    if options.rotation is not None:
        return options.rotation, "by hand"
    return by_commit(ROTATIONS)


def has_turn(number, rotation, every):
    return rotation is None or number % every == rotation % every


def one_of(cases, rotation):
    """All cases, or the one whose turn it is when a fault has its own."""
    return cases if rotation is None else [cases[rotation // FAULTS_EVERY % len(cases)]]


def tenth_of(cases, rotation, always=()):
    """All cases, or those of `always` and a tenth of the others, at least one; another tenth when a driver has its turn again."""
    others = [case for case in cases if case not in always]
    every = min(10, len(others))
    return [case for case in cases if rotation is None or case in always
            or has_turn(others.index(case), rotation // DRIVERS_EVERY, every)]


def trials(options, rotation):
    chosen = options.only or ["good", "faults", "real"]
    pair = GOOD if rotation is None else PAIRS[rotation % len(PAIRS)]
    for suite, command in (("lidar", LIDAR), ("gnss", RECEIVER)):
        if "good" in chosen:
            only = None if options.full else tenth_of(CASES[suite], rotation)
            yield Trial(f"{suite}: the good driver passes", suite, command, only, set())
    for number, (product, (suite, adapter, told, cases)) in enumerate(GOOD.items()):
        tenth = tenth_of(cases, rotation) if has_turn(number, rotation, DRIVERS_EVERY) else []
        only = [*(COMMON if product in pair else []), *tenth]
        if "good" in chosen and not options.driver and only:
            command = [sys.executable, str(GOOD_DRIVER), product, *told]
            only = None if options.full else only
            yield Trial(f"{product}: the good driver passes", suite, command, only, set(), adapter)
    if "real" in chosen:
        for number, (name, (suite, cases, adapter, command, known)) in enumerate(REAL.items()):
            if name not in options.driver if options.driver else not has_turn(number, rotation, DRIVERS_EVERY):
                continue
            program = command[0].replace("{drivers}", str(Path(options.drivers).resolve()))
            what = f"{name}: known weaknesses: {', '.join(sorted(known)) or 'none'}"
            only = tenth_of(cases, rotation, known)
            yield Trial(what, suite, [program, *command[1:]], only, set(known), adapter, known)
    for suite, command in (("lidar", LIDAR), ("gnss", RECEIVER)):
        for number, (fault, meant) in enumerate(FAULTS[suite].items()) if "faults" in chosen else ():
            if not has_turn(number, rotation, FAULTS_EVERY):
                continue
            tried = one_of(sorted(meant), rotation)
            only = None if options.full else [*tried, *one_of(BESIDE[suite], rotation)]
            what = f"{suite}: the fault {fault} fails {', '.join(tried)} and no other"
            also = ALSO.get(fault, set())
            yield Trial(what, suite, [*command, "--fault", fault], only, set(tried), also=also)


def cases_of(some_trials):
    return {(*trial.command, *trial.options, case) for trial in some_trials for case in trial.only or ()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--rotation", type=int, choices=range(ROTATIONS), metavar=f"0..{ROTATIONS - 1}",
                       help="run the cases of this rotation (default: from the commit's hash)")
    which.add_argument("--all", action="store_true", help="run the cases of all rotations")
    which.add_argument("--full", action="store_true", help="run every case of the suites, with and without a fault")
    parser.add_argument("--only", choices=["good", "faults", "real"], action="append")
    parser.add_argument("--drivers", default="target/interop/kit", help="the programs that tools/test builds of kit/")
    parser.add_argument("--driver", choices=REAL, action="append", help="of the real drivers, this one")
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1), help="cases at a time")
    options = parser.parse_args()
    menura, begun = str(Path(options.menura).resolve()), time.monotonic()
    rotation, why = rotation_of(options)
    print(why if rotation is None else f"rotation {rotation} of 0 to {ROTATIONS - 1}, {why}; common cases on "
          f"{' and '.join(PAIRS[rotation % len(PAIRS)])}; repeat with --rotation {rotation}", flush=True)
    all_trials = list(trials(options, rotation))
    left_out = cases_of(trials(options, None)).difference(*(cases_of(trials(options, n)) for n in range(ROTATIONS)))
    check("together the rotations run every case", options.full or not left_out, f"{len(left_out)} have no turn")
    # The longest case first, so that no run waits for one at its end; then a case of each driver in turn, because lidars take
    # more processor time than serial lines.
    parts = [(part != ("unplugged",), number, trial, part)
             for trial in all_trials for number, part in enumerate(trial.parts())]
    parts.sort(key=lambda row: row[:2])
    with ThreadPoolExecutor(options.jobs) as pool:
        for trial, done in [(trial, pool.submit(trial.run, menura, part)) for _, _, trial, part in parts]:
            found, took_s = done.result()
            trial.found |= found
            trial.took_s += took_s
    for trial in all_trials:
        trial.again(menura)
        trial.tell()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{sum(len(trial.found) for trial in all_trials)} cases in {time.monotonic() - begun:.0f} s, "
          f"{used.ru_utime + used.ru_stime:.0f} s of processor time")
    if failures:
        sys.exit(f"{len(failures)} failed")


if __name__ == "__main__":
    main()
