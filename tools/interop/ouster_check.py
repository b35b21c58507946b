#!/usr/bin/env python3
"""Lets ouster-sdk configure Menura's Ousters and read their streams, and holds every point against the truth.

Menura sends live a robot that drives a circle in the built-in scene `room`, with one ray a pulse and without noise. The
client sets lidar mode and profile over HTTP, waits for the sensor, and takes frames. Every pixel must have a return on
the plane that its beam meets at the time of its column; for ten seconds (`--long`: a minute) not one frame may be
incomplete. IMU packets are held against the circle's motion. Then the client changes window and state: the stream must
follow. Last, a sensor as it is delivered (nine rays a pulse, the profile's errors) looks at rods before walls: both
returns are held against echoes that are worked out apart from Menura's code (`split_beams.py`).

ouster-sdk from 0.16 on refuses firmware before 2.4. Run by the Python of an older one (0.15.1), this program checks a
sensor with firmware 2.0 instead, which is configured by TCP.

Clients of an Ouster take no other port than 80. Where this program may not listen there, it starts itself again in a
network namespace of its own (`unshare -rn`).

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ouster.sdk import core, sensor

import room
import split_beams
from echoes import Optics
from receiving import Judged, Result, falls_silent, free_ports, repeated, stop_process
from rotation import share_of
from side_by_side import chosen, side_by_side

TAI_S = 37
RIG = """\
seed = 1
start_utc = {start}
origin = {{ latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }}

[world]
{world}

[robot]
trajectory = {{ kind = "circle", {circle}, speed_m_s = {speed} }}

[engine]
truth_rate_hz = 1000.0

[[device]]
name = "lidar"
profile = "{profile}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}
link = {{ udp = {{ to = "127.0.0.1:{lidar_port}", from = "{host}:0", imu_port = {imu_port} }}, {controls} }}

[device.settings]
timestamp_mode = "TIME_FROM_PTP_1588"
clock = {{ ptp = "locked" }}
{settings}
"""
# The ray sees the walls and nothing else; ranges are rounded to whole millimetres.
ONE_RAY = 'errors = "none"\nbeam = { shape = "ray", min_range_m = 0.3, sees = { reflectance = 0.0 } }\n'
SPEED_M_S, RADIUS_M = 4.0, 5.0
# WGS84's normal gravity at the rig's origin.
GRAVITY_M_S2 = 9.7957
RANGES = [core.ChanField.RANGE, core.ChanField.RANGE2]
IS_OLD_CLIENT = tuple(map(int, version("ouster-sdk").split(".")[:2])) < (0, 16)
# Their names in the older client.
OPERATING_NORMAL, OPERATING_STANDBY = (
    (core.OperatingMode.OPERATING_NORMAL, core.OperatingMode.OPERATING_STANDBY) if IS_OLD_CLIENT
    else (core.OperatingMode.NORMAL, core.OperatingMode.STANDBY))
# Cases side by side: a sensor takes its time to start.
AT_A_TIME = 3
LOW = ("RNG15_RFL8_NIR8", "FUSA_RNG15_RFL8_NIR8_DUAL")


@dataclass(frozen=True)
class Case:
    """One firmware, and what its client sets."""

    profile: str
    mode: str
    udp_profile: str

    @property
    def name(self):
        return f"{self.profile} {self.mode} {self.udp_profile}"


SINGLE, DUAL = "RNG19_RFL8_SIG16_NIR16", "RNG19_RFL8_SIG16_NIR16_DUAL"
CASES = [
    Case("ouster-os1-32-2.5", "512x10", "LEGACY"),
    Case("ouster-os1-32-2.5", "1024x10", SINGLE),
    Case("ouster-os0-32-2.5", "512x20", DUAL),
    Case("ouster-os1-64-2.5", "512x10", LOW[0]),
    Case("ouster-os2-32-3.1", "4096x5", SINGLE),
    Case("ouster-os1-64-3.1", "1024x20", SINGLE),
    Case("ouster-os1-32-3.1", "2048x10", SINGLE),
    Case("ouster-os0-64-3.1", "512x10", LOW[1]),
    Case("ouster-os1-128-3.1", "1024x10", DUAL),
    Case("ouster-os2-128-3.1", "512x10", "LEGACY"),
]
EARLY = [Case("ouster-os1-64-2.0", "1024x10", "LEGACY"), Case("ouster-os1-64-2.0", "512x20", "LEGACY")]
SPLIT = [
    Case("ouster-os1-32-2.5", "512x10", DUAL),
    Case("ouster-os0-32-3.1", "512x10", SINGLE),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--frames", type=int, default=5, help="frames of a case that are compared (default 5)")
    parser.add_argument("--long", action="store_true",
                        help="a minute in which no frame may be incomplete, instead of ten seconds")
    parser.add_argument("--all", action="store_true", help="all cases, not a third of CASES that the commit's hash selects")
    parser.add_argument("--only", help="cases whose name contains this")
    arguments = parser.parse_args()
    if not may_listen():
        return in_a_namespace()
    # The longest ones first.
    some = CASES if IS_OLD_CLIENT or arguments.all or arguments.only else share_of(CASES, 3)
    work = [(steady, CASES[1]), (changes, CASES[1])] + [(points, case) for case in some] + [
        (splits, case) for case in SPLIT]
    if IS_OLD_CLIENT:
        work = [(changes, EARLY[0])] + [(points, case) for case in EARLY]
    work = {f"{check.__name__} {case.name}": (check, case) for check, case in work}
    names = chosen(work, arguments.only)
    if len(names) > 1:
        return side_by_side(names, AT_A_TIME, main)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        for name in names:
            try:
                failures += run(name, *work[name], arguments, Path(folder))
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 2
    return 1 if failures else 0


def may_listen():
    try:
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(("127.91.0.1", 80))
    except PermissionError:
        return False
    return True


def in_a_namespace():
    words = [sys.executable, *sys.argv]
    return subprocess.run(["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]).returncode


def run(name, check, case, arguments, folder):
    """How much fails in a check of a case."""

    def attempt():
        before = dropped()
        with Bench(case, arguments, folder, check is splits) as bench:
            result = Result()
            check(bench, result)
        lost = dropped() - before
        return Judged(result, not result.failures, f"this machine dropped {lost} datagrams" if lost else None)

    result = repeated(name, attempt)
    print(f"{name}: {'; '.join(result.told)}")
    for line in result.failures:
        print(f"  FAILED {line}")
    return len(result.failures)


def dropped():
    """Datagrams that this machine has dropped at full sockets. The client's socket tells nobody of its own, and the
    client keeps other threads waiting itself."""
    names, numbers = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Udp:"))
    return int(numbers[names.index("RcvbufErrors")])


class Bench:
    """A sensor that runs, with its truth."""

    def __init__(self, case, arguments, folder, is_split):
        self.case, self.arguments = case, arguments
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.host = f"127.91.{os.getpid() % 250}.{2 + os.getpid() // 250 % 250}"
        self.lidar_port, self.imu_port = free_ports(2)
        self.place = split_beams.RODS
        if is_split:
            world, circle, settings = self.place.world(self.folder), self.place.circle, ""
        else:
            world, circle, settings = room.WORLD, room.CIRCLE, ONE_RAY
        self.rig = self.folder / "rig.toml"
        self.rig.write_text(RIG.format(
            start=room.START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=world, circle=circle, speed=SPEED_M_S,
            profile=case.profile, mount=list(room.MOUNT_M), yaw=room.MOUNT_YAW_DEG, host=self.host,
            lidar_port=self.lidar_port, imu_port=self.imu_port, settings=settings,
            controls=f'web = "{self.host}:80"' + (f', commands = "{self.host}:7501"' if IS_OLD_CLIENT else "")))

    def __enter__(self):
        self.errors = open(self.folder / "errors", "w+")
        self.menura = subprocess.Popen([self.arguments.menura, "run", str(self.rig), "--duration", "600s"],
                                       stdout=self.errors, stderr=self.errors)
        for _ in range(300):
            if self.menura.poll() is not None:
                self.errors.seek(0)
                raise subprocess.SubprocessError(f"menura run ended:\n{self.errors.read()}")
            with socket.socket() as trial:
                if trial.connect_ex((self.host, 80)) == 0:
                    return self
            time.sleep(0.1)
        self.__exit__()
        raise subprocess.SubprocessError("menura serves no port 80")

    def __exit__(self, *_):
        stop_process(self.menura)
        self.errors.close()

    def configure(self, **changes):
        """Sets the case's mode and profile, and `changes`, as a client does."""
        config = core.SensorConfig()
        config.lidar_mode = (core.LidarMode.from_string if IS_OLD_CLIENT else core.LidarMode)(self.case.mode)
        if not IS_OLD_CLIENT:
            config.udp_profile_lidar = getattr(core.UDPProfileLidar, self.case.udp_profile)
        config.udp_port_lidar, config.udp_port_imu = self.lidar_port, self.imu_port
        config.operating_mode = OPERATING_NORMAL
        for key, value in changes.items():
            setattr(config, key, value)
        sensor.set_config(self.host, config, udp_dest_auto=True)

    def frames(self, count):
        """So many frames that follow one another, and what the sensor says of itself."""
        if IS_OLD_CLIENT:
            source = sensor.SensorScanSource(self.host, lidar_port=self.lidar_port, imu_port=self.imu_port)
        else:
            source = sensor.SensorFrameSetSource(self.host, lidar_port=self.lidar_port, imu_port=self.imu_port)
        try:
            info = source.sensor_info[0]
            taken = []
            for frames in source:
                taken += [frame for frame in frames if frame is not None]
                if len(taken) > count:
                    break
        finally:
            source.close()
        # The first may have begun before the client listened.
        return info, taken[1:]

    def truth_of(self, seconds):
        """The truth of the first `seconds`; the sensor ends before, and would else run on beside what is computed."""
        stop_process(self.menura)
        return room.truth_of(self.arguments.menura, self.rig, seconds)


def beams_of(info, columns):
    """Where the beams of a frame begin, and their unit directions, (rows, columns, 3), sensor frame; worked out from
    the metadata as the manual has it."""
    angle = 2 * np.pi * (1 - np.arange(columns) / columns)
    origin_m = info.lidar_origin_to_beam_origin_mm / 1000
    turned = angle[None] - np.radians(np.asarray(info.beam_azimuth_angles))[:, None]
    up = np.radians(np.asarray(info.beam_altitude_angles))[:, None]
    direction = np.stack([np.cos(turned) * np.cos(up), np.sin(turned) * np.cos(up),
                          np.broadcast_to(np.sin(up), turned.shape)], -1)
    begin = origin_m * np.stack([np.cos(angle), np.sin(angle), np.zeros(columns)], -1)
    begin = np.broadcast_to(begin[None], direction.shape)
    half_turn = np.array([-1.0, -1.0, 1.0])
    height = np.array([0.0, 0.0, np.asarray(info.lidar_to_sensor_transform)[2, 3] / 1000])
    return begin * half_turn + height, direction * half_turn, origin_m


def seconds(stamps):
    return (np.asarray(stamps, dtype=np.int64) - (int(room.START_UTC.timestamp()) + TAI_S) * 10**9) / 1e9


def points(bench, result):
    """Every point of some frames, and the IMU."""
    bench.configure()
    info, frames = bench.frames(bench.arguments.frames)
    result.expect("complete frames", all(frame.complete() for frame in frames),
                  f"{sum(not frame.complete() for frame in frames)} of {len(frames)} are not")
    numbers = [frame.frame_id for frame in frames]
    result.expect("frames follow one another", np.all(np.diff(numbers) == 1), f"{numbers}")
    columns = frames[0].w
    begin, direction, origin_m = beams_of(info, columns)
    lut = core.XYZLut(info)
    times = [seconds(frame.timestamp) for frame in frames]
    samples = inertial_packets(bench)
    truth = bench.truth_of(float(np.ceil(max(np.max(time_s) for time_s in times) + 0.5)))
    step_m = 0.008 if bench.case.udp_profile in LOW else 0.001
    worst_m, worst_sdk_m, count = 0.0, 0.0, 0
    # Half a step, and what the ray caster's single precision and the truth's straight lines between rows leave.
    limit_m = 0.0005 + 0.0006
    for frame, time_s in zip(frames, times):
        time_of = np.broadcast_to(time_s[None], (frame.h, columns)).ravel()
        wanted_m = room.to_walls(truth, time_of, begin.reshape(-1, 3), direction.reshape(-1, 3)) + origin_m
        range_m = frame.field(RANGES[0]).astype(float).ravel() / 1000
        result.expect("a return of every pixel", np.all(range_m > 0), f"{np.count_nonzero(range_m == 0)} without")
        worst_m = max(worst_m, range_error_m(range_m, wanted_m, step_m))
        own = begin + direction * (range_m.reshape(frame.h, columns) - origin_m)[..., None]
        worst_sdk_m = max(worst_sdk_m, np.max(np.abs(lut(frame) - own)))
        if bench.case.udp_profile in (DUAL, LOW[1]):
            second = frame.field(RANGES[1])
            result.expect("one surface has one return", not second.any(), f"{np.count_nonzero(second)} more")
        count += range_m.size
    result.expect("ranges", worst_m <= limit_m, f"{worst_m * 1000:.3f} mm off")
    # What this check is to notice.
    image = range_m.reshape(frame.h, columns)
    one = range_m.copy()
    one[len(one) // 3] += 2 * step_m
    wrong = {"one range two steps up": one, "columns one on": np.roll(image, 1, axis=1).ravel(),
             "rows one down": np.roll(image, 1, axis=0).ravel()}
    for what, changed in wrong.items():
        result.expect(f"{what}: not noticed", range_error_m(changed, wanted_m, step_m) > limit_m)
    result.expect("the client's points", worst_sdk_m <= 1e-6, f"{worst_sdk_m * 1000:.5f} mm off")
    result.told.append(f"{len(frames)} frames of {frames[0].h} x {columns}, {count} points, worst "
                       f"{worst_m * 1000:.2f} mm")
    inertial(samples, result)


def range_error_m(range_m, wanted_m, step_m):
    """The most that ranges are off. Those of low bandwidth are cut to whole steps, others are rounded."""
    if step_m < 0.008:
        return np.max(np.abs(range_m - wanted_m))
    error = np.abs(range_m - np.floor(wanted_m / step_m) * step_m)
    # Near a step the last bits decide.
    is_near = np.abs(wanted_m / step_m - np.round(wanted_m / step_m)) < 0.08
    return np.max(np.where(is_near, np.minimum(error, np.abs(error - step_m)), error))


def inertial_packets(bench):
    """Some IMU packets."""
    source = sensor.SensorPacketSource(bench.host, lidar_port=bench.lidar_port, imu_port=bench.imu_port)
    packets = []
    try:
        for _, packet in source:
            if isinstance(packet, core.ImuPacket):
                packets.append(packet)
            if len(packets) == 50:
                break
    finally:
        source.close()
    return packets


def inertial(packets, result):
    """IMU packets against the circle's motion."""
    at = np.array([packet.sys_ts() for packet in packets], dtype=np.int64)
    result.expect("IMU packets 10 ms apart", np.all(np.diff(at) == 10_000_000), f"{np.diff(at)}")
    read = np.array([motion(packet) for packet in packets])
    rate = SPEED_M_S / RADIUS_M
    # The robot heads along the circle, whose centre is to its left; the mount turns with it.
    place = np.array(room.MOUNT_M) - [0.0, RADIUS_M, 0.0]
    x, y = -rate**2 * place[:2]
    yaw = np.radians(room.MOUNT_YAW_DEG)
    wanted = np.array([x * np.cos(yaw) + y * np.sin(yaw), y * np.cos(yaw) - x * np.sin(yaw), GRAVITY_M_S2, 0, 0, rate])
    error = np.abs(read.mean(axis=0) - wanted)
    # Noise of 0.003 g and 0.08 deg/s over 50 samples, and the IMU's place, centimetres from the sensor's origin.
    limit = np.array([0.03, 0.03, 0.03, 0.001, 0.001, 0.001])
    result.expect("the IMU", np.all(error <= limit), f"means are off by {np.round(error, 4).tolist()}")
    result.told.append(f"{len(packets)} IMU packets")


def motion(packet):
    """Acceleration and angular rate, m/s^2 and rad/s."""
    if not IS_OLD_CLIENT:
        return [*np.ravel(packet.accel()), *np.ravel(packet.gyro())]
    acceleration = np.array([packet.la_x(), packet.la_y(), packet.la_z()]) * 9.80665
    # The older client does not tell rates: the last twelve bytes.
    return [*acceleration, *np.radians(np.frombuffer(bytes(packet.buf)[36:48], "<f4"))]


def changes(bench, result):
    """Window, standby and back, phase lock: what the client sets must show in the stream."""
    bench.configure(azimuth_window=(90_000, 270_000))
    info, frames = bench.frames(5)
    first, last = info.format.column_window
    result.expect("the column window", (first, last) == (256, 768), f"{(first, last)}")
    for frame in frames:
        seen = np.flatnonzero(frame.status & 1)
        result.expect("columns within the window only", np.array_equal(seen, np.arange(first, last + 1)), f"{seen}")
        result.expect("a windowed frame is complete", frame.complete((first, last)))
    before = info.init_id
    bench.configure(azimuth_window=(0, 360_000), phase_lock_enable=True, phase_lock_offset=90_000)
    info, frames = bench.frames(40)
    # Firmware 2.0 has none.
    result.expect("a new initialization id", IS_OLD_CLIENT or info.init_id != before)
    # The rotor is a quarter of a turn before the connector at each tenth of a second.
    at = seconds(frames[-1].timestamp)[3 * frames[-1].w // 4]
    off_s = (at * 10 + 0.5) % 1 / 10 - 0.05
    result.expect("the phase", abs(off_s) < 2e-5, f"{off_s * 1e6:.1f} us")
    bench.configure(operating_mode=OPERATING_STANDBY)
    result.expect("silence in standby", falls_silent(bench.lidar_port))
    try:
        sensor.set_config(bench.host, wrong_config(), udp_dest_auto=True)
        result.failures.append("a window without a column was taken")
    except RuntimeError:
        pass
    bench.configure()
    _, frames = bench.frames(3)
    result.expect("it runs again", all(frame.complete() for frame in frames))
    result.told.append("window, phase, standby, refusal")


def wrong_config():
    config = core.SensorConfig()
    config.azimuth_window = (1, 2)
    return config


def steady(bench, result):
    """Not one incomplete frame for a while."""
    bench.configure()
    count = 600 if bench.arguments.long else 100
    _, frames = bench.frames(count)
    bad = sum(not frame.complete() for frame in frames)
    gaps = np.count_nonzero(np.diff([frame.frame_id for frame in frames]) != 1)
    result.expect("complete frames", bad == 0 and gaps == 0, f"{bad} incomplete, {gaps} missing of {len(frames)}")
    result.told.append(f"{len(frames)} frames, all complete")


def splits(bench, result):
    """Both returns of beams that are split, as a sensor is delivered."""
    bench.configure()
    info, frames = bench.frames(3)
    frame = frames[-1]
    begin, direction, origin_m = beams_of(info, frame.w)
    time_s = np.broadcast_to(seconds(frame.timestamp)[None], (frame.h, frame.w))
    truth = bench.truth_of(float(np.ceil(np.max(time_s) + 0.5)))
    optics = Optics(bench.case.profile)
    pulses = np.arange(0, frame.h * frame.w, 5)
    wanted = split_beams.expected(split_beams.world_of(bench.place, optics), optics, truth,
                                  time_s.ravel()[pulses] * 1e6, begin.reshape(-1, 3)[pulses],
                                  direction.reshape(-1, 3)[pulses])
    returns = 2 if bench.case.udp_profile == DUAL else 1
    read = np.stack([frame.field(field).astype(float).ravel()[pulses] / 1000 for field in RANGES[:returns]], -1)
    read = np.where(read > 0, read - origin_m, np.nan)
    # Strongest first, of as many echoes as there are.
    order = np.argsort(-wanted.echoes.signal, axis=1, kind="stable")[:, :returns]
    row = np.arange(len(pulses))[:, None]
    signal, range_m = wanted.echoes.signal[row, order], wanted.echoes.range_m[row, order]
    there = signal > 0
    sure = wanted.is_sure
    odd = np.any(np.isfinite(read) != there, axis=1) & sure
    with np.errstate(divide="ignore", invalid="ignore"):
        std = np.hypot(optics.range_std_m(signal), 0.001 / np.sqrt(12))
        error = np.where(there & np.isfinite(read), (read - range_m) / std, 0.0)
    wild = np.any(np.abs(error) > 5.5, axis=1) & sure
    share = 0.004
    for what, wrong in ("returns where there are echoes", odd), ("ranges of the echoes", wild):
        many = np.count_nonzero(wrong)
        result.expect(what, many <= share * np.count_nonzero(sure) + 1, f"{many} of {np.count_nonzero(sure)} pulses")
    usual = error[(there & np.isfinite(read) & (np.abs(error) < 5.5)) & sure[:, None]]
    result.expect("ranges spread as the profile says", abs(np.std(usual) - 1) < 0.06, f"{np.std(usual):.3f}")
    two = np.mean(there.all(axis=1)) if returns == 2 else 0.0
    result.expect("the scene splits beams", returns == 1 or two > 0.01, f"{two:.2%}")
    result.told.append(f"{np.count_nonzero(sure)} pulses, {two:.1%} with two returns, spread {np.std(usual):.3f}")


if __name__ == "__main__":
    sys.exit(main())
