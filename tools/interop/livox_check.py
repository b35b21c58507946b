#!/usr/bin/env python3
"""Lets Livox-SDK2, the maker's own client, find, set and read a Mid-360 of Menura's, and compares the data that it
delivers with the ground truth.

`points`: a robot drives a circle in the built-in scene `room`, with one ray a pulse and without errors. Every point in
each of the three formats must be on a wall at its time and in the direction that the pattern has then, which is worked
out here from the closed form; every inertial sample must be that of the circle. `delivered`: nine rays a pulse and the
profile's errors; each point that the SDK hands on must be that of a recording of the same rig, whose true ranges and
directions are known. `commands`: settings of the SDK are accepted or refused as docs/COMMANDS.md says; some are read back
or must change the stream.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import room
from livox_sdk import Sdk, head, points_of, sample_of
from receiving import Judged, Result, Watch, comes, repeated

RIG = room.SCENE + """\
[[device]]
name = "lidar"
profile = "livox-mid360"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}

[device.link]
udp = {{ to = "127.0.0.1:56301", from = "127.0.0.2:56300", imu_port = 56401, state_port = 56201 }}
search = "127.0.0.2:56000"
sdk = "127.0.0.2:56100"

[device.settings]
ptp = "locked"
{settings}
"""
ONE_RAY = 'errors = "none"\nbeam = { shape = "ray", min_range_m = 0.1, sees = { reflectance = 0.0 } }\n'
GROUP_NS = 20_000
LINES = 4
IMU_M = np.array([0.011, 0.02329, -0.04412])
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
    checks = [check for check in (points, delivered, commands) if (arguments.only or "") in check.__name__]
    if arguments.once:
        return max(once(check, arguments) for check in checks)
    return max(apart(check, arguments) for check in checks)


def apart(check, arguments):
    """The exit code of a check in a process of its own: the SDK starts once in a process."""
    own = [sys.executable, __file__, "--menura", arguments.menura, "--sdk", arguments.sdk,
           "--only", check.__name__, "--once"]

    def attempt():
        with Watch() as watch:
            done = subprocess.run(own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return Judged(done, done.returncode == 0, watch.excuse(0.2))

    done = repeated(check.__name__, attempt)
    print(done.stdout, end="", flush=True)
    return done.returncode


def once(check, arguments):
    result = Result()
    try:
        with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
            with Bench(arguments, folder, ONE_RAY if check is points else "") as bench:
                check(bench, result)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{check.__name__}: {error}")
        return 2
    print(f"{check.__name__}: {'; '.join(result.told)}")
    for line in result.failures:
        print(f"  FAILED {line}")
    return 1 if result.failures else 0


class Bench:
    """A unit that runs, with the SDK that has found it."""

    def __init__(self, arguments, folder, settings):
        self.arguments, self.folder = arguments, Path(tempfile.mkdtemp(dir=folder))
        self.rig = self.folder / "rig.toml"
        self.rig.write_text(RIG.format(
            start_utc=room.START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=room.WORLD, circle=room.CIRCLE,
            mount=list(room.MOUNT_M), yaw=room.MOUNT_YAW_DEG, settings=settings))

    def __enter__(self):
        self.errors = open(self.folder / "errors", "w+")
        self.menura = subprocess.Popen([self.arguments.menura, "run", str(self.rig), "--duration", "600s"],
                                       stdout=self.errors, stderr=self.errors)
        self.sdk = None
        try:
            self.sdk = Sdk(self.arguments.sdk, self.folder)
            if not self.sdk.found.wait(60.0):
                self.errors.seek(0)
                raise subprocess.SubprocessError(f"the SDK finds no unit; menura:\n{self.errors.read()}")
        except (OSError, subprocess.SubprocessError):
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.sdk:
            self.sdk.close()
        self.menura.terminate()
        self.menura.wait()
        self.errors.close()

    def record(self, seconds, *more):
        """The folder of a recording of the same rig that lasts `seconds`."""
        out = self.folder / "out"
        done = subprocess.run([self.arguments.menura, "record", "--force", str(self.rig), "--duration", f"{seconds}s",
                               "--out", str(out), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise subprocess.SubprocessError(f"menura record failed:\n{done.stdout}")
        return out

    def gather(self, kind, count):
        """`count` packets of points in a format that follow one another, and none before."""
        if self.sdk.command("SetLivoxLidarPclDataType", kind)[0] != 0:
            raise subprocess.SubprocessError(f"no answer to format {kind}")
        def own():
            return [packet for packet in list(self.sdk.points) if head(packet)[3] == kind]
        comes(lambda: len(own()) >= count)
        return own()[:count]


def start_ns():
    return int(room.START_UTC.timestamp()) * 1_000_000_000


def instants(packets):
    """When each point was fired, seconds, and which group of four it is of."""
    first = np.array([head(packet)[5] - start_ns() for packet in packets])
    groups = first[:, None] // GROUP_NS + np.arange(96)[None, :] // LINES
    return groups.ravel() * GROUP_NS / 1e9, groups.ravel()


# The closed form of the maker's table: horizontal terms (power of the line's place, turns, swings, amplitude, phase).
FLAT = [(0, -1, n, a, f) for n, a, f in [
    (0, .84208, -1.5823), (-1, .29500, 1.5687), (1, .14605, -1.5892), (-3, .02147, 1.5687), (3, .00825, -1.5923),
    (-2, .00318, 1.5788), (2, .00318, 1.5398), (-5, .00089, 1.5685), (4, .00051, 1.5389), (-4, .00051, 1.5797),
    (5, .00030, -1.5827)]]
FLAT += [(1, *term) for term in [
    (-2, 0, .02133, 1.5478), (0, 0, .00879, -1.5694), (-2, 1, .00869, 1.5379), (0, -1, .00869, 1.5808),
    (0, -2, .00392, 1.5908), (-2, 3, .00084, 1.5350), (0, -3, .00084, 1.5841), (-2, 2, .00067, -1.6142),
    (0, -4, .00062, 1.5905)]]
FLAT += [(2, -1, 0, .00080, 1.5593), (2, -1, -1, .00032, 1.5695), (2, 1, -2, .00018, 1.6012)]


def aims(groups):
    """Unit vectors (N, 3) of points, the lines of each group in their order."""
    t = groups * 20e-6
    s = 1.5 - np.arange(len(groups)) % LINES
    a, b = 2 * np.pi * 182.416666667 * t, 2 * np.pi * 10.0 * t
    flat = sum(size * np.exp(1j * (phase + m * a + n * b)) * s**p for p, m, n, size, phase in FLAT)
    up = (.33412 + .37364 * np.cos(b - .0117) + .03156 * np.cos(3 * b - .0080) + .00112 * np.cos(5 * b - .0080)
          + s * (.02828 * np.cos(a + .0109) + .00452 * np.cos(a - 2 * b + .0315) - .00126 * np.cos(a - b + .0215)
                 + .00068 * np.cos(a - 4 * b + .0302)) + .00024 * s**2 * np.cos(b - .0117))
    vector = np.stack([flat.real, flat.imag, up], -1)
    return vector / np.linalg.norm(vector, axis=1, keepdims=True)


def follow(result, what, packets):
    """Packets are whole, in their order, and each 480 us after the one before."""
    numbers, times = (np.array([head(packet)[place] for packet in packets]) for place in (2, 5))
    good = (np.all(np.diff(numbers) % 65536 == 1) and np.all(np.diff(times) == 480_000)
            and all(head(packet)[:2] == (4750, 96) and head(packet)[4] == 1 for packet in packets))
    result.expect(f"{what}: {len(packets)} packets in their order", good)


def points(bench, result):
    """Every point of a while in each format, and the inertial samples."""
    taken = {kind: bench.gather(kind, count) for kind, count in ((1, 1200), (2, 300), (3, 300))}
    samples = list(bench.sdk.samples)
    last = max(head(packet)[5] for packets in [*taken.values(), samples] for packet in packets)
    out = bench.record(int((last - start_ns()) / 1e9) + 2)
    truth = room.Truth(out / "truth.csv")
    walls = room.Room(room.SIZE_M)
    for kind, packets in taken.items():
        follow(result, f"format {kind}", packets)
        place = np.concatenate([points_of(packet)[0] for packet in packets])
        time_s, groups = instants(packets)
        range_m = np.linalg.norm(place, axis=1)
        result.expect(f"format {kind}: a return of every pulse", np.all(range_m > 0.1))
        off_m = walls.off_the_walls(room.in_world(truth, time_s, place)).max()
        result.expect(f"format {kind}: on the walls", off_m < OFF_THE_WALL_M[kind], f"{off_m * 1000:.2f} mm off")
        sine = np.linalg.norm(np.cross(place / range_m[:, None], aims(groups)), axis=1)
        step_m = {1: 0.0009, 2: 0.009, 3: 0.00018 * range_m}[kind]
        result.expect(f"format {kind}: where the pattern looks", np.all(sine < step_m / range_m + 1e-6),
                      f"{np.degrees(sine.max()):.4f} degrees off")
        # What this check is to notice.
        late = walls.off_the_walls(room.in_world(truth, time_s + 0.005, place)).max()
        result.expect(f"format {kind}: 5 ms late are not noticed", late > OFF_THE_WALL_M[kind])
        result.told.append(f"{len(place)} points of format {kind}, {off_m * 1000:.2f} mm off the walls at the most")
    motion(result, truth, samples)


def motion(result, truth, samples):
    """Samples are those of the circle, and as noisy as the profile has it."""
    times = np.array([head(packet)[5] - start_ns() for packet in samples])
    result.expect("samples each 5 ms", np.all(np.diff(times) == 5_000_000) and np.all(times % 5_000_000 == 0))
    rate, force = (np.array([sample_of(packet)[part] for packet in samples]) for part in (0, 1))
    time_s = times / 1e9
    place = room.in_world(truth, time_s, np.broadcast_to(IMU_M, (len(times), 3)))
    turn = SPEED_M_S / RADIUS_M
    pull = np.zeros_like(place)
    pull[:, :2] = -turn**2 * (place[:, :2] - CENTRE_M)
    pull[:, 2] = GRAVITY_M_S2
    ahead = [room.in_world(truth, time_s, np.broadcast_to(axis, (len(times), 3)))
             - room.in_world(truth, time_s, np.zeros((len(times), 3))) for axis in np.eye(3)]
    wanted = np.stack([np.sum(axis * pull, axis=1) for axis in ahead], -1) / STANDARD_M_S2
    for what, off, std in (("rates", rate - [0, 0, turn], np.radians(0.1)), ("forces", force - wanted, 0.002)):
        mean, spread = np.abs(off.mean(0)).max(), off.std(0)
        result.expect(f"{what} of the circle", mean < 5 * std / np.sqrt(len(off)) + 2e-4, f"{mean:.5f} off on average")
        result.expect(f"noise of {what}", np.all(np.abs(spread / std - 1) < 0.2), f"{spread} instead of {std}")
    result.told.append(f"{len(samples)} inertial samples")


def delivered(bench, result):
    """A unit as it is delivered: point by point what a recording has, and as far off as the profile says."""
    packets = bench.gather(1, 1500)
    follow(result, "as delivered", packets)
    last_s = (head(packets[-1])[5] - start_ns()) / 1e9
    out = bench.record(int(last_s) + 2, "--truth")
    joined = out / "joined.npz"
    done = subprocess.run([bench.arguments.menura, "join", str(out / "lidar.pcap"), str(out / "truth.mcap"),
                           "--profile", "livox-mid360", "--out", str(joined)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"menura join failed:\n{done.stdout}")
    cloud = np.load(joined)
    first = (head(packets[0])[5] - start_ns()) // 480_000
    own = (cloud["packet"] >= first) & (cloud["packet"] < first + len(packets))
    place = np.concatenate([points_of(packet)[0] for packet in packets])
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
    sdk = bench.sdk
    result.expect("type, serial and address", sdk.info == (9, "47MDL8C0010101", "127.0.0.2"), sdk.info)
    attitude = (ctypes.c_uint8 * 24)(*range(24))
    field = (ctypes.c_int32 * 5)(270, 90, 0, 30, 0)
    pins = (ctypes.c_uint8 * 4)(0, 1, 2, 3)
    for name, *arguments, wanted in [
        ("SetLivoxLidarPclDataType", 1, (0, 0, 0)),
        ("SetLivoxLidarScanPattern", 0, (0, 0, 0)),
        ("SetLivoxLidarScanPattern", 1, (0, 3, 1)),
        ("SetLivoxLidarInstallAttitude", attitude, (0, 0, 0)),
        ("SetLivoxLidarFovCfg0", field, (0, 0, 0)),
        ("SetLivoxLidarFovCfg1", field, (0, 0, 0)),
        ("SetLivoxLidarDetectMode", 1, (0, 0, 0)),
        ("SetLivoxLidarFuncIOCfg", pins, (0, 0, 0)),
        ("SetLivoxLidarBlindSpot", 100, (0, 0x20, 0x13)),
        ("SetLivoxLidarDualEmit", True, (0, 0x20, 2)),
        ("EnableLivoxLidarGlassHeat", (0, 0, 0)),
        ("StartForcedHeating", (0, 0, 0)),
        ("DisableLivoxLidarImuData", (0, 0, 0)),
        ("DisableLivoxLidarPointSend", (0, 0, 0)),
    ]:
        got = sdk.command(name, *arguments)
        result.expect(name, got == wanted, f"{got} instead of {wanted}")

    def is_silent():
        sdk.points.clear(), sdk.samples.clear()
        time.sleep(1.0)
        return not sdk.points and not sdk.samples

    result.expect("nothing is sent", comes(is_silent), f"{len(sdk.points)}, {len(sdk.samples)}")
    for name, *arguments in [("EnableLivoxLidarImuData",), ("EnableLivoxLidarPointSend",), ("EnableLivoxLidarFov", 1)]:
        result.expect(name, sdk.command(name, *arguments) == (0, 0, 0))
    result.expect("points again", comes(lambda: len(sdk.points) > 250))
    seen = ""

    def shows_field():
        nonlocal seen
        sdk.points.clear()
        if not comes(lambda: len(sdk.points) > 250):
            return False
        place, reflectivity, _ = (np.concatenate(part) for part in zip(*map(points_of, sdk.points[:250]), strict=True))
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

    result.expect("the field of view", comes(shows_field), seen)
    result.expect("SetLivoxLidarWorkMode 2", sdk.command("SetLivoxLidarWorkMode", 2) == (0, 0, 0))
    wanted = {0x8006: b"\x02", 0x0018: b"\x01", 0x0012: bytes(range(24)), 0x8000: b"47MDL8C0010101\0\0"}
    values = {}

    def reads_back():
        nonlocal values
        values = sdk.query()
        return all(values.get(key) == value for key, value in wanted.items())

    result.expect("values read back", comes(reads_back), {key: values.get(key) for key in wanted})
    result.expect("a push", comes(lambda: sdk.pushes) and sdk.pushes[-1].get("sn") == "47MDL8C0010101",
                  sdk.pushes[-1:])
    result.expect("LivoxLidarRequestReboot", sdk.command("LivoxLidarRequestReboot")[:2] == (0, 0))
    time.sleep(0.5)
    result.expect("it is off", not sdk.query())
    result.expect("it is back", comes(lambda: sdk.query().get(0x8008) == (121).to_bytes(4, "little")))
    result.told.append(f"{len(values)} keys read, {len(sdk.pushes)} pushes")


if __name__ == "__main__":
    sys.exit(main())
