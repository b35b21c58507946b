#!/usr/bin/env python3
"""Reads Menura's RoboSense packets with a decoder of its own (`robosense_packets.py`) and compares every point with the truth.

`goldens`: packets that the maker's driver has read are made here and decoded to the driver's points; `menura inspect` names
their sender. `points`: a robot drives a circle in the built-in scene `room`, with one ray a pulse and without errors. Every
point that arrives must be on the wall that its beam meets at its time; angles are those that the unit's packets of state
report. `delivered`: a recording with nine rays a pulse and the profile's errors; each decoded point must be that of `menura
join`, and ranges must err as the profile says. `ucwp`: what a host writes by UDP shows in the stream and in packets of state.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import socket
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np

import robosense_packets as wire
import room
from captures import datagrams
from receiving import Judged, Result, Watch, enlarge_buffer, free_ports, repeated, stop_process
from side_by_side import chosen, side_by_side

RIG = room.SCENE + """\
[[device]]
name = "lidar"
profile = "{profile}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}
link = {{ udp = {{ to = "127.0.0.1:{msop}", difop_port = {difop}{more} }}{ucwp} }}

[device.settings]
return_mode = "{mode}"
{settings}
"""
# The ray sees the walls and nothing else.
ONE_RAY = 'errors = "none"\nbeam = { shape = "ray", min_range_m = 0.3, sees = { reflectance = 0.0 } }\n'
AT_A_TIME = 2
# Patience for what should come within a second or two.
DEADLINE_S = 60.0
# What `menura inspect` calls the senders of the goldens.
SENDERS = {"rs16": "RS-LiDAR-16", "rs32": "RS-LiDAR-32", "bpearl": "Bpearl", "helios": "Helios", "helios-16p": "Helios-16P",
           "ruby-plus": "Ruby", "m1": "M1", "airy": "Airy"}
START_S = int(room.START_UTC.timestamp())
# What single precision and the truth's straight lines between rows leave.
SLACK_M = 0.0008
TURN_DEG_S = 3600.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--only", help="checks whose name contains this")
    arguments = parser.parse_args()
    work = {"goldens": (goldens, None, None)}
    for profile, model in wire.MODELS.items():
        for mode in ("strongest", "dual"):
            work[f"points {profile} {mode}"] = points, model, mode
        work[f"delivered {profile} dual"] = delivered, model, "dual"
        if profile in ("robosense-rs16", "robosense-rs32", "robosense-bpearl"):
            work[f"ucwp {profile}"] = ucwp, model, "strongest"
    names = chosen(work, arguments.only)
    if len(names) > 1:
        return side_by_side(names, AT_A_TIME, main)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        for name in names:
            try:
                failures += run(name, *work[name], arguments, Path(folder))
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 2
    return 1 if failures else 0


def run(name, check, model, mode, arguments, folder):
    """How much fails in a check of a model."""

    def attempt():
        result = Result()
        with Watch() as watch:
            check(Bench(model, mode, arguments, folder, check), result)
        return Judged(result, not result.failures, watch.excuse(0.2))

    result = repeated(name, attempt)
    print(f"{name}: {'; '.join(result.told)}", flush=True)
    for line in result.failures:
        print(f"  FAILED {line}")
    return len(result.failures)


class Bench:
    """The rig of a check, and Menura that runs it."""

    def __init__(self, model, mode, arguments, folder, check):
        self.model, self.mode, self.arguments = model, mode, arguments
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        if model is None:
            return
        self.profile = tomllib.loads((room.PROFILES / f"{model.profile}.toml").read_text())
        codes = dict(zip(self.profile["returns"]["modes"], self.profile["returns"]["codes"], strict=True))
        self.code = codes[mode]
        self.ports = free_ports(6)
        msop, difop, imu, self.ucwp_port, *self.others = self.ports
        is_ptp = "ptp-e2e" in self.profile["sync"]["modes"]
        settings = 'sync_mode = "ptp-e2e"\nptp = "locked"\n' if is_ptp else 'clock = { reference = "utc" }\n'
        settings += "phase_lock = false\n"
        if check is ucwp:
            # A clock that a host can set.
            settings = ""
        self.rig = self.folder / "rig.toml"
        self.rig.write_text(RIG.format(
            start_utc=room.START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=room.WORLD, circle=room.CIRCLE,
            profile=model.profile, mount=list(room.MOUNT_M), yaw=room.MOUNT_YAW_DEG, mode=mode, msop=msop, difop=difop,
            more=f", imu_port = {imu}" if "imu" in self.profile else "",
            ucwp=f', ucwp = "127.0.0.1:{self.ucwp_port}"' if check is ucwp else "",
            settings=settings + ("" if check is delivered else ONE_RAY)))

    def live(self):
        return Live(self)

    def record(self, seconds, *more):
        """The folder of a recording that lasts `seconds`."""
        out = self.folder / "out"
        self.menura("record", "--force", self.rig, "--duration", f"{seconds}s", "--out", out, *more)
        return out

    def menura(self, *words):
        done = subprocess.run([self.arguments.menura, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode != 0:
            raise subprocess.SubprocessError(f"menura {words[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout


class Live:
    """A unit that runs, and sockets that hear it from its first packet on."""

    def __init__(self, bench):
        self.bench, self.sockets = bench, {}

    def __enter__(self):
        for port in self.bench.ports[:3] + self.bench.ports[4:]:
            self.sockets[port] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            enlarge_buffer(self.sockets[port])
            self.sockets[port].bind(("127.0.0.1", port))
            self.sockets[port].settimeout(DEADLINE_S)
        self.errors = open(self.bench.folder / "errors", "w+")
        self.menura = subprocess.Popen([self.bench.arguments.menura, "run", str(self.bench.rig), "--duration", "600s"],
                                       stdout=self.errors, stderr=self.errors)
        return self

    def __exit__(self, *_):
        stop_process(self.menura)
        self.errors.close()
        for own in self.sockets.values():
            own.close()

    def hear(self, port, count=1):
        """So many datagrams of a port."""
        try:
            return [self.sockets[port].recv(1 << 16) for _ in range(count)]
        except TimeoutError as error:
            self.errors.seek(0)
            raise subprocess.SubprocessError(f"nothing arrives at {port}; menura:\n{self.errors.read()}") from error

    def state(self, port=None):
        return wire.state(self.bench.model, self.hear(port or self.bench.ports[1])[0])

    def waits_for(self, what, holds, port=None):
        """The first packet of state that shows something."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            found = self.state(port)
            if holds(found):
                return found
        raise subprocess.SubprocessError(f"{what} does not show: {found}")


def grid(model, found):
    """Which period each packet begins with, and when that is exactly: firings have fixed places in time."""
    step = np.round(found.base_s * 1e6 / model.period_us) + found.firing
    begins_s = step * model.period_us * 1e-6
    late_us = np.array(model.lasers_us)[found.laser]
    return step, begins_s, begins_s + late_us * 1e-6


def points(bench, result):
    """Every point of more than a turn."""
    model = bench.model
    with bench.live() as live:
        state = live.state()
        per_firing = len(model.lasers_us) * (2 if bench.mode == "dual" else 1)
        count = int(0.13e6 / model.period_us * per_firing / (model.blocks * model.points))
        packets = live.hear(bench.ports[0], count)
        samples = live.hear(bench.ports[2], 250) if "imu" in bench.profile else []
    # Codes of the same mode may differ, so that packets and state must agree.
    result.expect("the return mode", state.returns == bench.code, f"{state.returns}")
    result.expect("the serial number", state.serial.hex().upper() == bench.profile["identity"]["serial"], state.serial.hex())
    found = wire.points(model, packets, state.returns, START_S)
    _, begins_s, time_s = grid(model, found)
    off_us = np.max(np.abs(found.base_s + found.firing * model.period_us * 1e-6 - begins_s)) * 1e6
    result.expect("times to a microsecond", off_us <= 1.01, f"{off_us:.2f} us off")
    result.expect("a return of every pulse", np.all(found.range_m > 0), f"{np.mean(found.range_m == 0):.4f} without")
    truth = room.truth_of(bench.arguments.menura, bench.rig, int(time_s.max()) + 2)
    rotor_deg = TURN_DEG_S * time_s
    if model.id != wire.MEMS:
        # Of two firings in a block the first one's azimuth is sent.
        first_s = begins_s - (found.firing % 2 * model.period_us * 1e-6 if model.halves and bench.mode != "dual" else 0)
        off_deg = np.max(np.abs((found.told_deg - TURN_DEG_S * first_s + 180) % 360 - 180))
        result.expect("azimuths to a hundredth of a degree", off_deg <= 0.0052, f"{off_deg:.4f} degrees off")
        spread = np.max(np.abs(state.up_deg - [row[1] for row in bench.profile["lasers"]["rows"]]))
        result.expect("the unit's own angles", 0 < spread < 0.3, f"{spread:.3f} degrees off the model's")
    exit_point, ahead = wire.directions(model, found, state, rotor_deg)
    wanted_m = room.to_walls(truth, time_s, exit_point, ahead)
    limit_m = model.unit_m / 2 + SLACK_M
    worst_m = np.max(np.abs(found.range_m - wanted_m))
    result.expect("ranges", worst_m <= limit_m, f"{worst_m * 1000:.2f} mm off")
    # What this check is to notice, in a part of the points that has all lasers.
    some = slice(None, None, 17)
    part, time_s, rotor_deg = found.some(some), time_s[some], rotor_deg[some]
    beams = {"10 ms late": (time_s + 0.01, exit_point[some], ahead[some])}
    if model.id != wire.MEMS:
        next_laser = wire.State(**{**vars(state), "up_deg": np.roll(state.up_deg, 1)})
        beams |= {"0.1 degrees on": (time_s, exit_point[some], wire.directions(model, part, state, rotor_deg + 0.1)[1]),
                  "another laser's angle": (time_s, exit_point[some], wire.directions(model, part, next_laser, rotor_deg)[1])}
    spoilt = {what: np.abs(part.range_m - room.to_walls(truth, *beam)) for what, beam in beams.items()}
    one = part.range_m.copy()
    one[len(one) // 3] += 2 * model.unit_m
    spoilt["a range two steps up"] = np.abs(one - wanted_m[some])
    for what, off in spoilt.items():
        result.expect(f"{what}: not noticed", np.max(off) > limit_m)
    result.told.append(f"{len(found.range_m)} points, worst {worst_m * 1000:.2f} mm")
    if samples:
        motion(result, bench.profile["imu"], samples)


def motion(result, imu, samples):
    """Inertial samples are those of a circle of 5 m at 4 m/s, sensor turned by 20 degrees, as noisy as the profile says."""
    raw = [struct.unpack(">4s6sI6iiBBBIH", sample) for sample in samples]
    result.expect("packets of samples", all(row[0].hex() == "aa555a05" for row in raw), samples[0].hex())
    numbers = np.array([row[13] for row in raw])
    result.expect("samples in their order", np.all(np.diff(numbers) == 1), f"{numbers[:5]}")
    micros = np.array([(int.from_bytes(row[1], "big") - START_S) * 1_000_000 + row[2] for row in raw])
    result.expect("a sample each 5 ms", np.all(np.diff(micros) == 5000))
    full = 2.0 ** imu["full_scale_bits"]
    force = np.array([row[3:6] for row in raw]) / full * 2 ** (raw[0][11] + 1)
    rate = np.array([row[6:9] for row in raw]) / full * 250 * 2 ** raw[0][12]
    turn = 4.0 / 5.0
    off = np.abs(rate.mean(0) - [0, 0, np.degrees(turn)]).max()
    result.expect("angular rates", off < 0.05, f"{off:.3f} degrees/s off")
    up = abs(force[:, 2].mean() - 9.7956 / 9.80665)
    # The pull to the middle, less what the mount's distance from the robot's origin adds.
    across = np.linalg.norm(force[:, :2].mean(0)) * 9.80665
    result.expect("forces", up < 0.001 and abs(across - turn**2 * 5.0) < 0.3, f"{up:.4f} g, {across:.3f} m/s2")
    spread = rate.std(0) / imu["gyro_std_deg_s"]
    result.expect("noise of rates", np.all(np.abs(spread - 1) < 0.25), f"{spread}")
    result.told.append(f"{len(samples)} inertial samples")


def delivered(bench, result):
    """A unit as it is delivered: point by point what `menura join` says, and as far off as the profile says."""
    model = bench.model
    out = bench.record(0.11, "--truth")
    of_port = {}
    for port, payload in datagrams(out / "lidar.pcap"):
        of_port.setdefault(port, []).append(payload)
    network = bench.profile["network"]
    state = wire.state(model, of_port[bench.profile["difop"]["source_port"]][0])
    found = wire.points(model, of_port[network["source_port"]], state.returns, START_S)
    found = found.some(found.range_m > 0)
    _, _, time_s = grid(model, found)
    exit_point, ahead = wire.directions(model, found, state, TURN_DEG_S * time_s)
    place = exit_point + ahead * found.range_m[:, None]
    joined = out / "joined.npz"
    bench.menura("join", out / "lidar.pcap", out / "truth.mcap", "--profile", model.profile, "--out", joined)
    cloud = np.load(joined)
    told = np.stack([cloud[axis] for axis in "xyz"], -1)
    if not result.expect("as many points as join", told.shape == place.shape, f"{told.shape[0]}, {place.shape[0]}"):
        return
    # Azimuths of blocks are rounded to a hundredth of a degree.
    off_m = np.linalg.norm(told - place, axis=1)
    good = np.all(off_m < 0.001 + np.radians(0.012) * found.range_m)
    result.expect("join's points", good, f"{off_m.max() * 1000:.2f} mm off")
    result.expect("join's packets", np.array_equal(cloud["packet"], found.packet))
    error_m = cloud["range_m"] - cloud["true_range_m"]
    known = np.isfinite(error_m)
    std_m = bench.profile["noise"]["range_std_m"]
    spread, mean = error_m[known].std(), np.median(error_m[known])
    result.expect("errors of ranges are the profile's", 0.8 < spread / std_m < 1.6 and abs(mean) < 0.1 * std_m + model.unit_m,
                  f"{spread * 1000:.1f} mm around {mean * 1000:.2f} mm")
    result.expect("most points have a truth", known.mean() > 0.99, f"{known.mean():.3f}")
    result.told.append(f"{len(place)} points with nine rays are join's; ranges err by {spread * 1000:.1f} mm")


def goldens(bench, result):
    """Packets that rs_driver has read."""
    for name in wire.NAMES:
        model, golden = wire.MODELS[f"robosense-{name}"], wire.golden(name)
        sums = tuple(map(wire.sha256, (golden.msop, golden.difop)))
        result.expect(f"{name}: the golden packets", sums == golden.sha256, f"{sums}")
        state = wire.state(model, golden.difop)
        if name == "m1":
            # Its time offsets of blocks are not those of a unit.
            golden_m1 = bytearray(golden.msop)
            for block in range(25):
                golden_m1[32 + 47 * block] = round(block * model.period_us)
            found = wire.points(model, [bytes(golden_m1)], state.returns, 0)
        else:
            found = wire.points(model, [golden.msop], state.returns, 0)
        if golden.first_m:
            exit_point, ahead = wire.directions(model, found, state, found.told_deg)
            place, wanted = exit_point[0] + ahead[0] * found.range_m[0], np.array(golden.first_m)
            if name == "ruby-plus":
                # The driver's first point is of a later packet: 9.6 degrees on.
                place, wanted = (np.array([np.hypot(*p[:2]), p[2]]) for p in (place, wanted))
            off_m = np.abs(place - wanted).max()
            result.expect(f"{name}: rs_driver's first point", off_m < 2e-4, f"{off_m * 1000:.3f} mm off")
        capture = bench.folder / f"{name}.pcap"
        capture.write_bytes(pcap([(6699, golden.msop), (7788, golden.difop), (6699, golden.msop)]))
        text = bench.menura("inspect", capture, "--json")
        result.expect(f"{name}: menura inspect", f'"model":"{SENDERS[name]}"' in text and "001C23174ACC" in text, text[:300])
    result.told.append(f"{len(wire.NAMES)} models")


def pcap(payloads):
    """A capture of datagrams to ports of one host."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, (port, payload) in enumerate(payloads):
        udp = struct.pack(">4H", port, port, 8 + len(payload), 0) + payload
        ip = struct.pack(">2B3H2BH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([192, 168, 1, 200]),
                         bytes([192, 168, 1, 102]))
        total = sum(struct.unpack(">10H", ip))
        total = (total & 0xFFFF) + (total >> 16)
        ip = ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:]
        frame = bytes(12) + b"\x08\x00" + ip + udp
        out += struct.pack("<4I", START_S, number * 1000, len(frame), len(frame)) + frame
    return out


def ucwp(bench, result):
    """What a host writes."""
    model, (msop, difop, *_) = bench.model, bench.ports
    new_msop, new_difop = bench.others
    local = bytes([127, 0, 0, 1])
    with bench.live() as live, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:

        def write(**values):
            wanted = {"rpm": 600, "host": local, "ports": (6699, msop, 7788, difop)} | values
            host.sendto(wire.ucwp(**wanted), ("127.0.0.1", bench.ucwp_port))

        state = live.state()
        result.expect("it begins with the rig's values", (state.rpm, state.ips[4:]) == (600, local), f"{state}")
        host.sendto(b"\0" * 1248, ("127.0.0.1", bench.ucwp_port))
        host.sendto(b"\xaa" * 99, ("127.0.0.1", bench.ucwp_port))
        write(fov=(0, 9000))
        state = live.waits_for("the field of view", lambda state: state.fov == (0, 9000))
        result.expect("addresses are stored", (state.ips[:4], state.mac) == (bytes([192, 168, 1, 105]), wire.MAC), f"{state}")
        seen = narrow(live, bench, msop, lambda told: np.all(told < 90))
        result.expect("nothing outside the field of view", seen)
        write(ports=(6688, new_msop, 8899, new_difop))
        state = live.waits_for("the new port", lambda state: state.ports == (6688, new_msop, 8899, new_difop), new_difop)
        result.expect("packets of points at the new port", len(live.hear(new_msop, 50)) == 50)
        result.expect("the field of view is whole again", state.fov == (0, 36000), f"{state.fov}")
        rpm = max(set(bench.profile["rotation"]["rates_rpm"]) - {600})
        write(rpm=rpm, ports=(6688, new_msop, 8899, new_difop), phase=90)
        state = live.waits_for("the speed", lambda state: state.rpm == rpm, new_difop)
        result.expect("the phase", state.phase == 90, f"{state.phase}")
        step_deg = 6 * rpm * model.period_us * 1e-6 * (2 if model.halves else 1)
        turns = narrow(live, bench, new_msop,
                       lambda told: abs(np.median(np.diff(np.unique(told))[:10]) - step_deg) < 0.02)
        result.expect("the rotor's new speed", turns)
        packet = live.hear(new_msop)[0]
        at_s = wire.points(model, [packet], state.returns, START_S).base_s[0] + START_S
        set_s = 1_489_138_530.0
        result.expect("the clock counts from the time written", set_s < at_s < set_s + 1200, f"{at_s}")
        write(rpm=0, ports=(6688, new_msop, 8899, new_difop))
        live.waits_for("a motor that rests", lambda state: state.rpm == 0, new_difop)
    result.told.append("ports, field of view, speed, phase, time, addresses")


def narrow(live, bench, port, holds):
    """Whether packets come to be as wanted."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        told = wire.points(bench.model, live.hear(port, 40)[-20:], bench.code, START_S).told_deg
        if holds(told):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
