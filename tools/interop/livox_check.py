#!/usr/bin/env python3
"""Lets Livox-SDK2, the maker's own client, find, set and read a Mid-360 and a HAP of Menura's, and compares the data
that it delivers with the ground truth.

`points`: a robot drives a circle in the built-in scene `room`, with one ray a pulse and without errors. Every point in
each of the three formats must be on a wall at its time and in the direction that the pattern has then, which is worked
out here from the closed form; every inertial sample must be that of the circle. `delivered`: nine rays a pulse and the
profile's errors; each point that the SDK hands on must be that of a recording of the same rig, whose true ranges and
directions are known. `commands`: settings of the SDK are accepted or refused as docs/COMMANDS.md says; some are read
back or must change the stream. `lag`: a recording, without the SDK; see livox_lag.py.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import contextlib
import ctypes
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import livox_lag
import room
from livox_sdk import HAP, MID360, Sdk, head, kind_of, points_of, sample_of
from receiving import Judged, Result, Watch, clean_up_at_sigterm, comes, repeated, stop_process

RIG = room.SCENE + """\
[[device]]
name = "lidar"
profile = "{profile}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}

[device.link]
{link}

[device.settings]
ptp = "locked"
{settings}
"""
LINKS = {
    MID360: """\
udp = { to = "127.0.0.1:56301", from = "127.0.0.2:56300", imu_port = 56401, state_port = 56201 }
search = "127.0.0.2:56000"
sdk = "127.0.0.2:56100"
""",
    HAP: """\
udp = { to = "127.0.0.1:57000", from = "127.0.0.2:57000", imu_port = 58000, state_port = 56000 }
search = "127.0.0.2:56000"
""",
}
ONE_RAY = 'errors = "none"\nbeam = { shape = "ray", min_range_m = 0.1, sees = { reflectance = 0.0 } }\n'
IMU_M = {MID360: np.array([0.011, 0.02329, -0.04412]), HAP: np.zeros(3)}
SPEED_M_S, RADIUS_M, CENTRE_M = 4.0, 5.0, np.array([1.0, -2.0])
# WGS84 at 33.4712 degrees and 94 m.
GRAVITY_M_S2, STANDARD_M_S2 = 9.7956, 9.80665
# Rounding of each format, seen from a wall: half a step in each axis, or of range and both angles at 40 m; and what the
# truth's straight lines between rows leave.
OFF_THE_WALL_M = {1: 0.0016, 2: 0.0095, 3: 0.0070}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--sdk", required=True, help="the SDK's shared library")
    parser.add_argument("--only", help="checks whose name contains this")
    parser.add_argument("--once", action="store_true", help="in this process, without further attempts")
    arguments = parser.parse_args()
    work = {f"{check.__name__} {model.name}": (check, model)
            for model in (MID360, HAP) for check in (points, delivered, commands, lag)}
    names = [name for name in work if (arguments.only or "") in name]
    if arguments.once:
        code = max(once(name, *work[name], arguments) for name in names)
        # The SDK's threads still run: it crashes now and then when it is told to stop.
        sys.stdout.flush()
        os._exit(code)
    clean_up_at_sigterm()
    return max(apart(name, arguments) for name in names)


def apart(name, arguments):
    """The exit code of a check in a process of its own: the SDK starts once in a process."""
    own = [sys.executable, __file__, "--menura", arguments.menura, "--sdk", arguments.sdk, "--only", name, "--once"]

    def attempt():
        with Watch() as watch:
            process = subprocess.Popen(own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       start_new_session=True)
            try:
                told, _ = process.communicate(timeout=600)
            finally:
                # Should the SDK have crashed, Menura runs on.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
        if code < 0:
            told, code = f"{told}{name}: ended by signal {-code}\n", 2
        return Judged((told, code), code == 0, watch.excuse(0.2))

    told, code = repeated(name, attempt)
    print(told, end="", flush=True)
    return code


def once(name, check, model, arguments):
    result = Result()
    try:
        with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
            if check is lag:
                lag(model, arguments.menura, Path(folder), result)
            else:
                with Bench(model, arguments, folder, ONE_RAY if check is points else "") as bench:
                    check(bench, result)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{name}: {error}")
        return 2
    print(f"{name}: {'; '.join(result.told)}")
    for line in result.failures:
        print(f"  FAILED {line}")
    return 1 if result.failures else 0


class Bench:
    """A unit that runs, with the SDK that has found it."""

    def __init__(self, model, arguments, folder, settings):
        self.model, self.arguments, self.folder = model, arguments, Path(tempfile.mkdtemp(dir=folder))
        self.rig = self.folder / "rig.toml"
        self.rig.write_text(RIG.format(
            start_utc=room.START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=room.WORLD, circle=room.CIRCLE,
            profile=model.profile, mount=list(room.MOUNT_M), yaw=room.MOUNT_YAW_DEG, link=LINKS[model],
            settings=settings))

    def __enter__(self):
        self.errors = open(self.folder / "errors", "w+")
        self.menura = subprocess.Popen([self.arguments.menura, "run", str(self.rig), "--duration", "600s"],
                                       stdout=self.errors, stderr=self.errors)
        try:
            self.sdk = Sdk(self.arguments.sdk, self.folder, self.model)
            if not self.sdk.found.wait(60.0):
                self.errors.seek(0)
                raise subprocess.SubprocessError(f"the SDK finds no unit; menura:\n{self.errors.read()}")
        except (OSError, subprocess.SubprocessError):
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        stop_process(self.menura)
        self.errors.close()

    def record(self, seconds, *more):
        """The folder of a recording of the same rig that lasts `seconds`; the unit ends before."""
        stop_process(self.menura)
        out = self.folder / "out"
        done = subprocess.run([self.arguments.menura, "record", "--force", str(self.rig), "--duration", f"{seconds:.3f}s",
                               "--out", str(out), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise subprocess.SubprocessError(f"menura record failed:\n{done.stdout}")
        return out

    def gather(self, kind, count):
        """`count` packets of points in a format that follow one another, and none before."""
        # The SDK gives up soon on a busy machine; a host asks again.
        if all(self.sdk.command("SetLivoxLidarPclDataType", kind)[0] != 0 for _ in range(3)):
            raise subprocess.SubprocessError(f"no answer to format {kind}")
        def own():
            return [packet for packet in list(self.sdk.points) if kind_of(packet) == kind]
        if not comes(lambda: len(own()) >= count):
            raise subprocess.SubprocessError(f"{len(own())} of {count} packets of format {kind}")
        return own()[:count]


def start_ns():
    return int(room.START_UTC.timestamp()) * 1_000_000_000


def numbers(model, packets):
    """Which packets these are, counted from the first instant: stamps are rounded down."""
    return np.array([round((head(packet)[5] - start_ns()) / model.packet_ns) for packet in packets])


def instants(model, packets):
    """When each point was fired, seconds, and which group of points that fire together it is of."""
    place = np.arange(96) // model.lines
    first = np.array([head(packet)[5] - start_ns() for packet in packets])
    groups = numbers(model, packets)[:, None] * (96 // model.lines) + place[None, :]
    time_ns = first[:, None] + model.group_ns(place)[None, :]
    return time_ns.ravel() / 1e9, groups.ravel()


# The closed form of the maker's table of a Mid-360: horizontal terms (power of the line's place, turns, swings,
# amplitude, phase).
FLAT = [(0, -1, n, a, f) for n, a, f in [
    (0, .84208, -1.5823), (-1, .29500, 1.5687), (1, .14605, -1.5892), (-3, .02147, 1.5687), (3, .00825, -1.5923),
    (-2, .00318, 1.5788), (2, .00318, 1.5398), (-5, .00089, 1.5685), (4, .00051, 1.5389), (-4, .00051, 1.5797),
    (5, .00030, -1.5827)]]
FLAT += [(1, *term) for term in [
    (-2, 0, .02133, 1.5478), (0, 0, .00879, -1.5694), (-2, 1, .00869, 1.5379), (0, -1, .00869, 1.5808),
    (0, -2, .00392, 1.5908), (-2, 3, .00084, 1.5350), (0, -3, .00084, 1.5841), (-2, 2, .00067, -1.6142),
    (0, -4, .00062, 1.5905)]]
FLAT += [(2, -1, 0, .00080, 1.5593), (2, -1, -1, .00032, 1.5695), (2, 1, -2, .00018, 1.6012)]


# That of a HAP: left + i up of every line (turns of the fast and of the slow motion, amplitude), and in proportion to
# the line's place, a quarter turn ahead.
BOTH = [
    (-1, 0, .38013), (1, 0, .26833), (0, 1, .09119), (-3, 0, .03792), (-2, -1, .02946), (2, 1, .01648), (3, 0, .01100),
    (2, -1, -.00761), (0, -1, .00725), (-5, 0, .00614), (-4, -1, .00561), (-2, 1, -.00431), (0, 3, -.00301),
    (-2, -3, .00285), (-3, 2, .00262), (-1, 2, .00249), (2, 3, .00227), (3, -2, .00195), (-1, -2, -.00173),
    (5, 0, .00176), (-3, -2, .00193), (-2, 3, -.00181), (1, -2, .00144), (-8, -1, .00127), (1, 2, -.00104),
    (-7, -2, .00127), (3, 2, .00109), (2, -3, -.00097), (-6, -1, .00088), (-3, -4, .00080), (-5, 2, .00072),
    (8, 1, .00080), (-7, 0, .00084)]
BY_LINE = [(0, 0, .01610), (-2, 0, -.00108), (2, 0, .00089), (-1, 1, -.00028), (1, -1, .00027), (-1, -1, .00026),
           (1, 1, -.00006)]


def aims(model, groups):
    """Unit vectors (N, 3) of points, the lines of each group in their order."""
    t = model.lines / model.points_hz * groups
    s = (model.lines - 1) / 2 - np.arange(len(groups)) % model.lines
    return (mid360_aims if model is MID360 else hap_aims)(t, s)


def hap_aims(t, s):
    a, b = 2 * np.pi * 128.356 * t - .0296, -2 * np.pi * 10.256 * t + 3.1073
    both, by_line = (sum(size * np.exp(1j * (m * a + n * b)) for m, n, size in terms) for terms in (BOTH, BY_LINE))
    flat = both + 1j * by_line * s
    return np.stack([np.sqrt(1 - np.abs(flat)**2), flat.real, flat.imag], -1)


def mid360_aims(t, s):
    a, b = 2 * np.pi * 182.416666667 * t, 2 * np.pi * 10.0 * t
    flat = sum(size * np.exp(1j * (phase + m * a + n * b)) * s**p for p, m, n, size, phase in FLAT)
    up = (.33412 + .37364 * np.cos(b - .0117) + .03156 * np.cos(3 * b - .0080) + .00112 * np.cos(5 * b - .0080)
          + s * (.02828 * np.cos(a + .0109) + .00452 * np.cos(a - 2 * b + .0315) - .00126 * np.cos(a - b + .0215)
                 + .00068 * np.cos(a - 4 * b + .0302)) + .00024 * s**2 * np.cos(b - .0117))
    vector = np.stack([flat.real, flat.imag, up], -1)
    return vector / np.linalg.norm(vector, axis=1, keepdims=True)


def follow(result, what, model, packets):
    """Packets are whole, in their order, and each has its place in time."""
    sequence, times = (np.array([head(packet)[place] for packet in packets]) for place in (2, 5))
    own = numbers(model, packets)
    stamps = [start_ns() + int(number) * 96_000_000_000 // model.points_hz for number in own]
    good = (np.all(np.diff(sequence) % 65536 == 1) and np.all(np.diff(own) == 1) and np.array_equal(times, stamps)
            and all(head(packet)[:2] == (model.interval, 96) and head(packet)[4] == 1 for packet in packets))
    result.expect(f"{what}: {len(packets)} packets in their order", good)


def points(bench, result):
    """Every point of a while in each format, and the inertial samples."""
    taken = {kind: bench.gather(kind, count) for kind, count in ((1, 1200), (2, 300), (3, 300))}
    samples = list(bench.sdk.samples)
    last = max(head(packet)[5] for packets in [*taken.values(), samples] for packet in packets)
    stop_process(bench.menura)
    truth = room.truth_of(bench.arguments.menura, bench.rig, int((last - start_ns()) / 1e9) + 2)
    walls = room.Room(room.SIZE_M)
    for kind, packets in taken.items():
        follow(result, f"format {kind}", bench.model, packets)
        place = points_of(*packets)[0]
        time_s, groups = instants(bench.model, packets)
        range_m = np.linalg.norm(place, axis=1)
        result.expect(f"format {kind}: a return of every pulse", np.all(range_m > 0.1))
        off_m = walls.off_the_walls(room.in_world(truth, time_s, place)).max()
        result.expect(f"format {kind}: on the walls", off_m < OFF_THE_WALL_M[kind], f"{off_m * 1000:.2f} mm off")
        sine = np.linalg.norm(np.cross(place / range_m[:, None], aims(bench.model, groups)), axis=1)
        step_m = {1: 0.0009, 2: 0.009, 3: 0.00018 * range_m}[kind]
        result.expect(f"format {kind}: where the pattern looks", np.all(sine < step_m / range_m + 1e-6),
                      f"{np.degrees(sine.max()):.4f} degrees off")
        # What this check is to notice.
        late = walls.off_the_walls(room.in_world(truth, time_s + 0.005, place)).max()
        result.expect(f"format {kind}: 5 ms late are not noticed", late > OFF_THE_WALL_M[kind])
        result.told.append(f"{len(place)} points of format {kind}, {off_m * 1000:.2f} mm off the walls at the most")
    motion(result, bench.model, truth, samples)


def motion(result, model, truth, samples):
    """Samples are those of the circle, and as noisy as the profile has it."""
    times = np.array([head(packet)[5] - start_ns() for packet in samples])
    measured = np.array([np.concatenate(sample_of(packet)) for packet in samples])
    on_circle(result, "", truth, times, measured, IMU_M[model], np.radians(0.1), 0.2)
    result.told.append(f"{len(samples)} inertial samples")


def on_circle(result, whose, truth, times, measured, imu_m, gyro_std_rad_s, most):
    """Samples (N, 6: rad/s and g) of an IMU at `imu_m` are those of the circle. Their noise is the profile's, with an
    error of at most the share `most`."""
    result.expect(f"{whose}samples each 5 ms", np.all(np.diff(times) == 5_000_000) and np.all(times % 5_000_000 == 0))
    rate, force = measured[:, :3], measured[:, 3:]
    at = functools.partial(room.in_world, truth, times / 1e9)
    place = at(np.broadcast_to(imu_m, (len(times), 3)))
    turn = SPEED_M_S / RADIUS_M
    pull = np.zeros_like(place)
    pull[:, :2] = -turn**2 * (place[:, :2] - CENTRE_M)
    pull[:, 2] = GRAVITY_M_S2
    origin = at(np.zeros((len(times), 3)))
    ahead = [at(np.broadcast_to(axis, (len(times), 3))) - origin for axis in np.eye(3)]
    wanted = np.stack([np.sum(axis * pull, axis=1) for axis in ahead], -1) / STANDARD_M_S2
    for what, off, std in (("rates", rate - [0, 0, turn], gyro_std_rad_s), ("forces", force - wanted, 0.002)):
        mean, spread = np.abs(off.mean(0)).max(), off.std(0)
        result.expect(f"{whose}{what} of the circle", mean < 5 * std / np.sqrt(len(off)) + 2e-4,
                      f"{mean:.5f} off on average")
        result.expect(f"{whose}noise of {what}", np.all(np.abs(spread / std - 1) < most), f"{spread} instead of {std}")


def delivered(bench, result):
    """A unit as it is delivered: point by point what a recording has, and as far off as the profile says."""
    packets = bench.gather(1, 1500)
    follow(result, "as delivered", bench.model, packets)
    last_s = (head(packets[-1])[5] - start_ns()) / 1e9
    out = bench.record(last_s + 0.1, "--truth")
    joined = out / "joined.npz"
    done = subprocess.run([bench.arguments.menura, "join", str(out / "lidar.pcap"), str(out / "truth.mcap"),
                           "--profile", bench.model.profile, "--out", str(joined)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"menura join failed:\n{done.stdout}")
    cloud = np.load(joined)
    first = numbers(bench.model, packets)[0]
    own = (cloud["packet"] >= first) & (cloud["packet"] < first + len(packets))
    place = points_of(*packets)[0]
    place = place[np.any(place != 0, axis=1)]
    same = place.shape == (own.sum(), 3)
    if not result.expect("as many points as the recording", same, f"{len(place)} instead of {own.sum()}"):
        return
    told = np.stack([cloud[axis][own] for axis in "xyz"], -1)
    off_m = np.abs(place - told).max()
    result.expect("the recording's points", off_m < 1e-4, f"{off_m * 1000:.3f} mm off")
    error_m = cloud["range_m"][own] - cloud["true_range_m"][own]
    known = np.isfinite(error_m)
    spread, mean = error_m[known].std(), error_m[known].mean()
    result.expect("errors of ranges are the profile's", 0.017 < spread < 0.026 and abs(mean) < 0.002,
                  f"{spread * 1000:.1f} mm around {mean * 1000:.2f} mm")
    result.told.append(f"{len(place)} points with nine rays are the recording's; ranges err by {spread * 1000:.1f} mm")


def commands(bench, result):
    """What the SDK can set."""
    sdk, model = bench.sdk, bench.model
    result.expect("type, serial and address", sdk.info == (model.number, model.serial, "127.0.0.2"), sdk.info)
    attitude = (ctypes.c_uint8 * 24)(*range(24))
    field = (ctypes.c_int32 * 5)(270, 90, 0, 30, 0)
    pins = (ctypes.c_uint8 * 4)(0, 0, 1, 2)
    done = (0, 0, 0)

    def has(of, key):
        """The answer to a key that only one of the models has."""
        return done if model is of else (0, 0x20, key)

    for name, *arguments, wanted in [
        ("SetLivoxLidarPclDataType", 1, done),
        ("SetLivoxLidarScanPattern", 0, done),
        ("SetLivoxLidarScanPattern", 3, (0, 3, 1)),
        ("SetLivoxLidarInstallAttitude", attitude, done),
        ("SetLivoxLidarFovCfg0", field, has(MID360, 0x15)),
        ("SetLivoxLidarFovCfg1", field, has(MID360, 0x16)),
        ("SetLivoxLidarDetectMode", 1, has(MID360, 0x18)),
        ("SetLivoxLidarFuncIOCfg", pins, has(MID360, 0x19)),
        ("SetLivoxLidarBlindSpot", 100, has(HAP, 0x13)),
        ("SetLivoxLidarDualEmit", True, has(HAP, 2)),
        ("EnableLivoxLidarGlassHeat", done),
        ("StartForcedHeating", has(HAP, 0x1E)),
        ("DisableLivoxLidarImuData", done),
        ("DisableLivoxLidarPointSend", done),
    ]:
        got = sdk.command(name, *arguments)
        result.expect(name, got == wanted, f"{got} instead of {wanted}")

    def is_silent():
        sdk.points.clear(), sdk.samples.clear()
        time.sleep(1.0)
        return not sdk.points and not sdk.samples

    result.expect("nothing is sent", comes(is_silent), f"{len(sdk.points)}, {len(sdk.samples)}")
    for name, *arguments in [("EnableLivoxLidarImuData",), ("EnableLivoxLidarPointSend",)]:
        result.expect(name, sdk.command(name, *arguments) == done)
    result.expect("points again", comes(lambda: len(sdk.points) > 250))
    got, wanted = sdk.command("EnableLivoxLidarFov", 1), has(MID360, 0x17)
    result.expect("EnableLivoxLidarFov", got == wanted, f"{got} instead of {wanted}")
    seen = ""

    def shows_field():
        nonlocal seen
        sdk.points.clear()
        if not comes(lambda: len(sdk.points) > 250):
            return False
        place, reflectivity, _ = points_of(*sdk.points[:250])
        empty = np.all(place == 0, axis=1)
        shown = place[~empty]
        pitch = np.degrees(np.arctan2(shown[:, 2], np.hypot(shown[:, 0], shown[:, 1])))
        # Of the rest a few are pulses without a return.
        outside = np.mean(empty & (reflectivity == 60))
        seen = (f"x from {shown[:, 0].min():.3f}, pitch {pitch.min():.2f} to {pitch.max():.2f}, "
                f"{outside:.3f} outside")
        # Half a step of a point that is near.
        good = np.all(shown[:, 0] > -0.02) and np.all((pitch > -0.1) & (pitch < 30.1))
        return good and 0.6 < outside < 0.9 and np.mean(empty) - outside < 0.05

    if model is MID360:
        result.expect("the field of view", comes(shows_field), seen)
    else:
        repeats(bench, result)
    result.expect("SetLivoxLidarWorkMode 2", sdk.command("SetLivoxLidarWorkMode", 2) == done)
    wanted = {0x8006: b"\x02", 0x0012: bytes(range(24)), 0x8000: model.serial.encode() + b"\0\0"}
    if model is MID360:
        wanted[0x0018] = b"\x01"
    values = {}

    def reads_back():
        nonlocal values
        values = sdk.query()
        return all(values.get(key) == value for key, value in wanted.items())

    result.expect("values read back", comes(reads_back), {key: values.get(key) for key in wanted})
    result.expect("a push", comes(lambda: sdk.pushes) and sdk.pushes[-1].get("sn") == model.serial,
                  sdk.pushes[-1:])
    result.expect("LivoxLidarRequestReboot", sdk.command("LivoxLidarRequestReboot")[:2] == (0, 0))
    result.expect("it is off", comes(lambda: not sdk.query()))
    # The SDK does not ask a HAP how often it was started.
    started = {MID360: (0x8008, (121).to_bytes(4, "little")), HAP: (0x8010, b"\1")}
    key, value = started[model]
    result.expect("it is back", comes(lambda: sdk.query().get(key) == value))
    result.told.append(f"{len(values)} keys read, {len(sdk.pushes)} pushes")


def repeats(bench, result):
    """A HAP's repetitive pattern: after the motor's start every frame looks as the one before."""
    sdk = bench.sdk
    got = sdk.command("SetLivoxLidarScanPattern", 1)
    result.expect("SetLivoxLidarScanPattern 1", got == (0, 0, 0), got)
    frame = bench.model.points_hz // (10 * 96)
    seen = "no points"

    def does():
        nonlocal seen
        if not comes(lambda: len(sdk.points) > 3 * frame):
            return False
        # The newest packets: older ones may be of the other pattern.
        packets = list(sdk.points)[-2 * frame:]
        sdk.points.clear()
        if np.any(np.diff(numbers(bench.model, packets)) != 1):
            return False
        place = points_of(*packets)[0].reshape(2, -1, 3)
        range_m = np.linalg.norm(place, axis=2)
        one, other = place / np.maximum(range_m, 1e-9)[:, :, None]
        both = np.all(range_m > 0, axis=0)
        # Each has the profile's error of the direction, 0.07 degrees either way.
        off_deg = np.degrees(np.linalg.norm(np.cross(one[both], other[both]), axis=1))
        seen = f"{np.median(off_deg):.3f} degrees from frame to frame"
        return both.mean() > 0.5 and np.median(off_deg) < 0.3

    result.expect("frames repeat", comes(does), seen)


def lag(model, menura, folder, result):
    """The lag between points and inertial samples, from a recording of the example's robot."""
    livox_lag.check(model, menura, folder, result)


if __name__ == "__main__":
    sys.exit(main())
