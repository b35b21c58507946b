#!/usr/bin/env python3
"""Lets hosts of Livox's SDK 1 find, set and read a Mid-40, Mid-70, Avia and Horizon of Menura's, and compares the data
with the ground truth.

`points`: a robot drives a circle in the built-in scene `room`, with one ray a pulse and without errors. A host that is
written from the protocol's documents (livox1_host.py) asks each unit for each of its formats. Every point must be on a
wall at its time and in the direction that the closed form of the pattern has then; every inertial sample must be that
of the circle. `commands`: the same host loses and ends connections, and reads what it has set. `avia`, `horizon`,
`mid40`, `mid70`, of which the commit's hash selects one: openpylivoxv2 discovers, connects, sets and records a unit with
nine rays a pulse and the profile's errors. Every point and sample in its files must be that of a recording of the same
rig, whose points `menura join` labels with the ground truth.

Runs in a network namespace of its own (`unshare -rn`), because openpylivoxv2 broadcasts to every network. Exit code 0
when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import contextlib
import functools
import io
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

import room
from captures import datagrams
from livox1_host import DATA_PORT, FORMATS, HEAD, IMU_PORT, LIDAR, Host, frame, head, kind_of, points_of
from livox_check import ONE_RAY, on_circle, start_ns
from receiving import DropCounter, Judged, Result, Watch, comes, enlarge_buffer, excuse_for, repeated, stop_process
from rotation import share_of

RIG = room.SCENE + """\
[[device]]
name = "lidar"
profile = "livox-{model}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}

[device.link]
udp = {{ to = "127.0.0.1:56001", from = "127.0.0.2:65000" }}
sdk1 = "127.0.0.2:65000"

[device.settings]
ptp = "locked"
broadcast_period_s = 0.1
{settings}
"""
# Longest time that a recording or its labels may take.
RECORD_PATIENCE_S = 600
# How many packets of each format are compared.
PACKETS = 300
# Half a step of each axis, or of range and both angles at 40 m; and what the truth's straight lines between rows leave.
OFF_THE_WALL_M = [0.0016, 0.0070]
# Pulses a second, lines, device type, broadcast code, firmware, the IMU's place, data types by coordinates and return
# mode.
UNITS = {
    "mid40": (100_000, 1, 1, "0TFDG3U99101231", "03.08.0000", None, {None: [0, 1]}),
    "mid70": (100_000, 1, 6, "3GGDJ6K00100121", "10.03.0000", None, {0: [0, 1], 2: [4, 5]}),
    "avia": (240_000, 6, 7, "3JEDHB300100121", "11.10.0000", (-0.04165, -0.02326, 0.0284),
             {1: [2, 3], 2: [4, 5], 3: [7, 8]}),
    "horizon": (240_000, 6, 3, "3WEDH7600101231", "06.09.0000", (-0.05512, -0.02226, 0.0297), {0: [2, 3], 2: [4, 5]}),
}
# The closed forms of the maker's tables: speeds of both prisms in rpm, whether the first group is at a step rather than
# at 0, terms (harmonics of both, amplitude), the height of a line over the next, and terms of that.
PATTERNS = {
    "mid40": (-4664, 7294, 1, [(1, 0, .16412), (0, 1, .16715), (2, -1, -.00294)], 0, []),
    "mid70": (-4664, 7294, 1, [(1, 0, -.28586), (0, 1, -.27332), (2, -1, -.01473), (3, -2, -.00122), (-1, 2, -.00122)],
              0, []),
    "avia": (-2448, 7893, 0, [(1, 0, -.28595), (0, 1, -.27339), (2, -1, -.01476), (3, -2, -.00122), (-1, 2, -.00122)],
             .01627, [(2, 0, -.059), (1, 1, -.033), (1, -1, .033), (0, 2, .017), (-1, 1, .010), (3, -1, -.010)]),
    "horizon": (7352, -619, 1, [(1, 0, -.2331), (-1, 0, -.2236), (0, 1, -.1865), (3, 0, -.01067), (-1, 2, .00453),
                                (1, 2, .00435), (2, 1, -.00373), (-2, 1, -.00373), (5, 0, -.0007), (-3, 0, -.00058)],
                .015435, [(2, 0, -.028), (-2, 0, .028), (0, 2, .019)]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--client", required=True, help="the folder that holds openpylivoxv2")
    parser.add_argument("--only", help="checks whose name contains this")
    parser.add_argument("--all", action="store_true", help="all clients' sessions, not one that the commit's hash selects")
    parser.add_argument("--inside", action="store_true", help="in this network namespace")
    arguments = parser.parse_args()
    arguments.menura = str(Path(arguments.menura).resolve())
    sys.path.append(str(Path(arguments.client).resolve()))
    if not arguments.inside:
        ready = 'ip link set lo up && ip route add default dev lo && exec "$@"'
        words = [sys.executable, *sys.argv, "--inside"]
        return subprocess.run(["unshare", "-rn", "sh", "-c", ready, "sh", *words], timeout=3600).returncode
    checks = [("points", points), ("commands", commands)]
    models = list(SESSIONS) if arguments.all or arguments.only else share_of(list(SESSIONS), len(SESSIONS))
    checks += [(model, functools.partial(client, model)) for model in models]
    checks = [(name, check) for name, check in checks if (arguments.only or "") in name]
    return max(once(name, check, arguments) for name, check in checks)


def once(name, check, arguments):
    def attempt():
        result = Result()
        with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder, Watch() as watch:
            excuse = check(result, arguments, Path(folder))
        return Judged(result, not result.failures, excuse or watch.excuse(0.2))

    try:
        result = repeated(name, attempt)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{name}: {error}")
        return 2
    print(f"{name}: {'; '.join(result.told)}", flush=True)
    for line in result.failures:
        print(f"  FAILED {line}")
    return 1 if result.failures else 0


class Unit:
    """A unit that runs."""

    def __init__(self, arguments, folder, model, settings="", faults=""):
        self.arguments, self.folder, self.model = arguments, folder, model
        self.rig = folder / f"{model}.toml"
        self.write(self.rig, settings, faults)

    def write(self, file, settings, faults=""):
        file.write_text(RIG.format(
            start_utc=room.START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=room.WORLD, circle=room.CIRCLE,
            model=self.model, mount=list(room.MOUNT_M), yaw=room.MOUNT_YAW_DEG, settings=settings) + faults)

    def __enter__(self):
        self.errors = open(self.folder / f"{self.model}.errors", "w+")
        self.menura = subprocess.Popen([self.arguments.menura, "run", str(self.rig), "--duration", "600s"],
                                       stdout=self.errors, stderr=self.errors)
        return self

    def __exit__(self, *_):
        stop_process(self.menura)
        self.errors.close()

    def told(self):
        self.errors.seek(0)
        return self.errors.read()

    def record(self, seconds, settings, *more):
        """The folder of a recording of the same unit that lasts `seconds`."""
        rig, out = self.folder / "record.toml", self.folder / "out"
        self.write(rig, settings)
        done = subprocess.run([self.arguments.menura, "record", "--force", str(rig), "--duration", f"{seconds:.3f}s",
                               "--out", str(out), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=RECORD_PATIENCE_S)
        if done.returncode != 0:
            raise subprocess.SubprocessError(f"menura record failed:\n{done.stdout}")
        return out


def aims(model, pulses):
    """Unit vectors (N, 3) of pulses by their numbers."""
    rate, lines = UNITS[model][:2]
    first, second, shift, common, line_rad, by_line = PATTERNS[model]
    t = (pulses // lines + shift) * lines / rate
    a, b = 2 * np.pi * first / 60 * t, 2 * np.pi * second / 60 * t
    flat = sum(size * np.exp(1j * (m * a + n * b)) for m, n, size in common)
    bent = 1 + sum(size * np.exp(1j * (m * a + n * b)) for m, n, size in by_line)
    flat = flat + 1j * line_rad * ((lines - 1) / 2 - pulses % lines) * bent
    return np.stack([np.sqrt(1 - np.abs(flat) ** 2), flat.real, flat.imag], -1)


def gather(host, kind, count):
    """`count` packets of points of a type that follow one another."""
    def own():
        return [packet for packet in list(host.points) if kind_of(packet) == kind]
    comes(lambda: len(own()) >= count)
    return own()[:count]


def found(host, unit, result):
    """Whether the broadcast of a unit is heard and the unit connects."""
    _, _, device_type, code = UNITS[unit.model][:4]
    if not comes(lambda: host.broadcasts):
        raise subprocess.SubprocessError(f"no broadcast; menura:\n{unit.told()}")
    wanted = (LIDAR, (2, host.broadcasts[0][1][1], (0, 0), code.encode() + bytes([0, device_type, 0, 0])))
    result.expect(f"{unit.model}: broadcast", host.broadcasts[0] == wanted, host.broadcasts[0])
    result.expect(f"{unit.model}: handshake", host.connect() == b"\0")


def points(result, arguments, folder):
    """Every point of a while in each format of each unit, and the inertial samples."""
    missing = 0
    for model, (rate, _, _, _, _, imu_m, kinds) in UNITS.items():
        with Unit(arguments, folder, model, ONE_RAY) as unit, Host() as host:
            found(host, unit, result)
            counter = DropCounter(DATA_PORT, IMU_PORT)
            result.expect(f"{model}: sampling", host.ask((0, 4), b"\1") == b"\0")
            taken = {}
            for mode, pair in kinds.items():
                if mode is not None:
                    # So that each format comes once.
                    result.expect(f"{model}: Cartesian", host.ask((0, 5), b"\0") == b"\0")
                    result.expect(f"{model}: return mode {mode}", host.ask((1, 6), bytes([mode])) == b"\0")
                for coordinates, kind in enumerate(pair):
                    result.expect(f"{model}: coordinates", host.ask((0, 5), bytes([coordinates])) == b"\0")
                    taken[kind] = gather(host, kind, PACKETS)
                    result.expect(f"{model}, type {kind}: {PACKETS} packets", len(taken[kind]) == PACKETS,
                                  len(taken[kind]))
            samples, losses = list(host.samples), counter.losses()
        last = max(head(packet)[3] for packets in [*taken.values(), samples] for packet in packets)
        truth = room.truth_of(arguments.menura, unit.rig, int((last - start_ns()) / 1e9) + 2)
        for kind, packets in taken.items():
            missing += of_format(result, model, rate, kind, packets, truth)
        if imu_m is not None:
            motion(result, model, truth, samples, np.array(imu_m))
        else:
            result.expect(f"{model}: no samples", not samples)
    return excuse_for(missing, losses)


def of_format(result, model, rate, kind, packets, truth):
    """Compares packets of one format with truth and pattern; how many are missing."""
    what, count = f"{model}, type {kind}", FORMATS[kind][0]
    times = np.array([head(packet)[3] - start_ns() for packet in packets])
    pulses = np.rint(times * rate / 1e9).astype(int)
    steps = np.diff(pulses)
    missing = int((steps // count - 1).sum())
    good = (np.all(steps == count) and np.all(pulses * 1_000_000_000 // rate == times)
            and all(head(packet)[:2] == (1 << 13 | 1 << 14, 1) for packet in packets))
    result.expect(f"{what}: {len(packets)} packets in their order", good, f"steps {np.unique(steps)}")
    place, _, tags = points_of(*packets)
    # One ray has one echo.
    result.expect(f"{what}: one return of every pulse", np.all(place[:, 1:] == 0) and np.all(tags[:, 1:] == 0))
    result.expect(f"{what}: the return's number", np.all(tags[:, 0] == (0x10 if kind > 1 else 0)))
    place, numbers = place[:, 0], (pulses[:, None] + np.arange(count)).ravel()
    time_s = (numbers * 1_000_000_000 // rate) / 1e9
    range_m = np.linalg.norm(place, axis=1)
    if not result.expect(f"{what}: a return of every pulse", np.all(range_m > 0.1)):
        return missing
    is_spherical = kind in (1, 3, 5, 8)
    walls, most_m = room.Room(room.SIZE_M), OFF_THE_WALL_M[is_spherical]
    off_m = walls.off_the_walls(room.in_world(truth, time_s, place)).max()
    result.expect(f"{what}: on the walls", off_m < most_m, f"{off_m * 1000:.2f} mm off")
    sine = np.linalg.norm(np.cross(place / range_m[:, None], aims(model, numbers)), axis=1)
    step_m = 0.00018 * range_m if is_spherical else 0.0009
    result.expect(f"{what}: where the pattern looks", np.all(sine < step_m / range_m + 1e-6),
                  f"{np.degrees(sine.max()):.4f} degrees off")
    # What this check is to notice.
    late = walls.off_the_walls(room.in_world(truth, time_s + 0.005, place)).max()
    result.expect(f"{what}: 5 ms late are not noticed", late > most_m)
    result.told.append(f"{len(place)} points of {what}, {off_m * 1000:.2f} mm off the walls")
    return missing


def motion(result, model, truth, samples, imu_m):
    """Samples are those of the circle, and as noisy as the profile has it."""
    times = np.array([head(packet)[3] - start_ns() for packet in samples])
    measured = np.array([struct.unpack_from("<6f", packet, HEAD) for packet in samples])
    on_circle(result, f"{model}: ", truth, times, measured, imu_m, np.radians(0.14), 0.3)
    result.told.append(f"{len(samples)} inertial samples of {model}")


def commands(result, arguments, folder):
    """The connection, and what a host can set and read."""
    faults = """
[[fault]]
device = "lidar"
kind = "abnormal-status"
part = "temperature"
level = "warning"
start_s = 0.0
"""
    with Unit(arguments, folder, "avia", ONE_RAY, faults) as unit, Host() as host:
        found(host, unit, result)
        mounting, address = bytes(range(24)), socket.inet_aton("192.168.1.9")
        mask = bytes([255, 255, 255, 0])
        for what, command, data, wanted in [
            ("information", (0, 2), b"", b"\0\x0b\x0a\0\0"),
            ("static address", (0, 8), b"\1" + address + mask + address, b"\0"),
            ("address", (0, 9), b"", b"\0\1" + address + mask + address),
            ("mounting", (1, 1), mounting, b"\0"),
            ("mounting reads back", (1, 2), b"", b"\0" + mounting),
            ("rain and fog are a Mid-40's", (1, 3), b"\1", b"\1"),
            ("the fan is a Horizon's", (1, 4), b"\1", b"\1"),
            ("triple return", (1, 6), b"\3", b"\0"),
            ("return mode reads back", (1, 7), b"", b"\0\3"),
            ("a return mode that there is not", (1, 6), b"\4", b"\1"),
            ("IMU off", (1, 8), b"\0", b"\0"),
            ("IMU reads back", (1, 9), b"", b"\0\0"),
            ("UTC without a pulse", (1, 0xA), struct.pack("<BBBBI", 26, 7, 5, 10, 0), b"\1"),
            ("high sensitivity", (0, 0xB), struct.pack("<HHB", 1, 1, 1), b"\0\0\0\0"),
            ("high sensitivity reads back", (0, 0xC), b"\1\1\0", b"\0\0\0\0" + struct.pack("<HHB", 1, 1, 1)),
            ("a parameter that there is not", (0, 0xC), b"\1\x09\0", b"\1\x09\0\1"),
            ("all parameters reset", (0, 0xD), b"\0\0\0\0", b"\0\0\0\0"),
            ("standby", (1, 0), b"\3", b"\0"),
            ("the hub's command", (2, 0), b"", b"\1"),
        ]:
            answer = host.ask(command, data)
            result.expect(what, answer == wanted, answer)
        result.expect("standby shows", comes(lambda: host.states and host.states[-1][1] == 3), host.states[-1:])
        result.expect("power saving", host.ask((1, 0), b"\2") == b"\0")
        time.sleep(0.1)
        result.expect("the motor starts", host.ask((1, 0), b"\1") == b"\2")
        result.expect("progress", comes(lambda: any(s[1] == 0 and 0 < s[3] <= 100 for s in host.states)), host.states)
        result.expect("it works", comes(lambda: host.states[-1][1] == 1), host.states[-1:])
        status = struct.pack("<I", 1 << 30 | 1 << 13 | 1 << 14 | 1)
        result.expect("abnormal status", comes(lambda: host.messages) and host.messages[-1] == ((0, 7), status),
                      host.messages[-1:])
        result.expect("sampling", host.ask((0, 4), b"\1") == b"\0")
        result.expect("points", comes(lambda: len(host.points) > 100))
        # A second host at another address.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second:
            second.bind(("127.0.0.9", 0))
            second.settimeout(10.0)
            second.sendto(handshake_of_another(), LIDAR)
            result.expect("a second host is refused", second.recv(64)[11] == 1)
        host.broadcasts.clear()
        host.is_beating.clear()
        result.expect("a silent host is forgotten", comes(lambda: host.broadcasts))
        count = len(host.points)
        time.sleep(0.5)
        result.expect("its points end", len(host.points) == count)
        result.expect("commands without a connection", host.ask((0, 2), patience_s=1.0) is None)
        result.expect("a handshake as a command", host.connect(kind=0) == b"\0")
        result.expect("reboot", host.ask((0, 0xA), b"\0\0") == b"\0")
        host.is_beating.clear()
        host.broadcasts.clear()
        result.expect("it broadcasts when it is back", comes(lambda: host.broadcasts))
        result.expect("again connected", host.connect() == b"\0")
        result.expect("it starts", comes(lambda: host.states[-1][1] == 0), host.states[-1:])
        result.expect("return mode is kept", host.ask((1, 7)) == b"\0\3")
        host.broadcasts.clear()
        result.expect("disconnect", host.ask((0, 6)) == b"\0")
        result.expect("it broadcasts again", comes(lambda: host.broadcasts))
        result.told.append(f"{len(host.states)} heartbeats, {len(host.messages)} status messages")


def handshake_of_another():
    return frame(0, 1, (0, 1), socket.inet_aton("127.0.0.9") + struct.pack("<HHH", 1, 2, 3))


class Client:
    """openpylivoxv2, and what it prints."""

    PORTS = (60001, 50001, 40001)

    def __init__(self, result):
        from openpylivoxv2 import openpylivoxv2
        self.result, self.lidar = result, openpylivoxv2(True)

    def do(self, name, *arguments, fails=False):
        """Calls a method; it says that it failed only if it should."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            value = getattr(self.lidar, name)(*arguments)
        text = said.getvalue()
        has_failed = any(word in text for word in ("FAILED", "incorrect", "ERROR", "Not connected", "ISSUE"))
        self.result.expect(f"{name}{arguments}", has_failed == fails, text)
        return value, text


# How much of each format is captured. The recording that it is compared with begins at the run's start, so that captures
# come early and are short.
CAPTURE_S = 0.5
# Data type, settings of a recording, and commands before.
SESSIONS = {
    "avia": [(2, "", []), (4, 'return_mode = "dual"', [("setLidarReturnMode", 2)])],
    "horizon": [(2, 'return_mode = "first"', [("setLidarReturnMode", 0)])],
    # The data after standby must be those of a unit that was never in standby.
    "mid40": [(0, "", []), (1, 'coordinates = "spherical"', [("lidarStandBy",), ("lidarSpinUp",), ("setSphericalCS",)])],
    # Not two returns, because packets of 48 pulses after ones of 100 do not begin where a recording's do.
    "mid70": [(0, "", []), (1, 'coordinates = "spherical"', [("setSphericalCS",)])],
}


def client(model, result, arguments, folder):
    """openpylivoxv2 with a unit as it is delivered: what it writes is what a recording has."""
    # The client broadcasts to this port and takes its own broadcast for a lidar's answer unless another socket has it.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held, Unit(arguments, folder, model) as unit:
        held.bind(("0.0.0.0", 56000))
        heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with heard:
            heard.bind(("0.0.0.0", 55000))
            heard.settimeout(60.0)
            try:
                heard.recv(64)
            except TimeoutError:
                raise subprocess.SubprocessError(f"no broadcast; menura:\n{unit.told()}") from None
        back = os.getcwd()
        os.chdir(folder)
        try:
            return session(model, result, arguments, unit)
        finally:
            os.chdir(back)


def session(model, result, arguments, unit):
    _, _, _, code, firmware, imu_m, _ = UNITS[model]
    own, missing = Client(result), 0
    count, _ = own.do("connect", "127.0.0.1", LIDAR[0], *Client.PORTS)
    lidar = own.lidar
    result.expect("discovered and connected", (count, lidar._isConnected) == (1, True))
    result.expect("serial and firmware", (lidar.serialNumber(), lidar.firmware()) == (code[:14], firmware),
                  (lidar.serialNumber(), lidar.firmware()))
    own.do("setCartesianCS")
    for socket_ in (lidar._dataSocket, lidar._imuSocket):
        enlarge_buffer(socket_)
    counter = DropCounter(Client.PORTS[0], Client.PORTS[2])
    for kind, _, sets in SESSIONS[model]:
        for name, *rest in sets:
            own.do(name, *rest)
        own.do("dataStart_RT_B")
        own.do("saveDataToFile", f"type{kind}.bin", 0.0, CAPTURE_S)
        result.expect(f"type {kind}: captured", comes(lidar.doneCapturing))
        codes, _ = own.do("lidarStatusCodes")
        result.expect("status", codes[0] == 0, codes)
        own.do("dataStop")
    losses = counter.losses()
    for name, *rest in [("setExtrinsicTo", 1, 2, 3, 0.5, 0.25, 4.0), ("readExtrinsic",), ("lidarStandBy",), ("lidarSpinUp",)]:
        own.do(name, *rest)
    result.expect("mounting reads back", lidar.extrinsicParameters()[:3] == [1, 2, 3], lidar.extrinsicParameters())
    own.do("setRainFogSuppression", True, fails=model != "mid40")
    own.do("setRainFogSuppression", False, fails=model != "mid40")
    own.do("setFan", True, fails=model != "horizon")
    own.do("setIMUdataPush", True, fails=imu_m is None)
    if imu_m is not None:
        _, text = own.do("getIMUdataPush")
        result.expect("IMU", "IMU push state: 1" in text, text)
    own.do("lidarSpinDown")
    own.do("disconnect")
    result.expect("disconnected", not lidar._isConnected)
    # It would else run on beside what is computed.
    stop_process(unit.menura)
    for kind, settings, _ in SESSIONS[model]:
        missing += compare(model, result, arguments, unit, kind, settings)
    return excuse_for(missing, losses)


def compare(model, result, arguments, unit, kind, settings):
    """Compares the client's files with a recording, and that with the truth; how many packets are missing."""
    rate = UNITS[model][0]
    count, dtype = FORMATS[kind]
    step_ns = count * 1_000_000_000 // rate
    row = np.dtype([("bytes", f"V{dtype.itemsize}"), ("time_s", "<f8")])
    file = Path(f"type{kind}.bin").read_bytes()
    firmware_type, data_type = struct.unpack_from("<hh", file, 13)
    result.expect("the file's head", (file[:13], firmware_type, data_type) == (b"openpylivoxv2", 1, kind))
    rows = np.frombuffer(file[17:], row)
    if not result.expect(f"type {kind}: points", len(rows) > 1000, len(rows)):
        return 0
    # Times of packets are rounded to microseconds; points of one are within its step.
    numbers = np.floor((rows["time_s"] - start_ns() / 1e9) * 1e9 / step_ns + 2e-3).astype(int)
    imu = np.dtype([("bytes", "V24"), ("time_s", "<f8")])
    inertial = np.zeros(0, imu)
    if UNITS[model][5] is not None:
        inertial = np.frombuffer(Path(f"type{kind}_IMU.bin").read_bytes()[17:], imu)
    last_s = np.concatenate([rows["time_s"], inertial["time_s"]]).max() - start_ns() / 1e9
    out = unit.record(last_s + 0.1, settings, "--truth")
    recorded, samples = {}, {}
    for _, packet in datagrams(out / "lidar.pcap"):
        _, _, own, time_ns = head(packet)
        (samples if own == 6 else recorded)[time_ns - start_ns()] = packet
    whole = 0
    distinct, firsts = np.unique(numbers, return_index=True)
    result.expect(f"type {kind}: points in their order", np.all(np.diff(numbers) >= 0))
    for number, own in zip(distinct, np.split(rows["bytes"], firsts[1:]), strict=True):
        raw = np.frombuffer(recorded[number * step_ns], dtype, offset=HEAD)
        # The client leaves out points whose left is 0, or whose depth is.
        shown = raw["depth"] != 0 if kind == 1 else raw["returns"]["xyz"][:, 0, 1] != 0
        whole += raw[shown].tobytes() == own.tobytes()
    distinct = len(distinct)
    result.expect(f"type {kind}: every packet is the recording's", whole == distinct, f"{whole} of {distinct}")
    missing = int(numbers.max() - numbers.min() + 1 - distinct)
    result.expect(f"type {kind}: no packet is missing", missing == 0, missing)
    truth = labelled(result, arguments, out, model, kind, recorded)
    told = f"{len(rows)} pulses of type {kind} are the recording's, whose {truth}"
    if UNITS[model][5] is not None:
        at = np.rint((inertial["time_s"] - start_ns() / 1e9) * 200).astype(int) * 5_000_000
        good = sum(samples[time_ns][HEAD:] == one.tobytes() for time_ns, one in zip(at, inertial["bytes"], strict=True))
        result.expect("inertial samples are the recording's", good == len(inertial) > 80, f"{good} of {len(inertial)}")
        told += f"; {good} inertial samples"
    result.told.append(told)
    return missing


def labelled(result, arguments, out, model, kind, recorded):
    """Every point of a recording has its truth, and errs as the profile says."""
    joined = out / "joined.npz"
    done = subprocess.run([arguments.menura, "join", str(out / "lidar.pcap"), str(out / "truth.mcap"), "--profile",
                           f"livox-{model}", "--out", str(joined)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RECORD_PATIENCE_S)
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"menura join failed:\n{done.stdout}")
    cloud = np.load(joined)
    place = points_of(*recorded.values())[0].reshape(-1, 3)
    place = place[np.any(place != 0, axis=1)]
    told = np.stack([cloud[axis] for axis in "xyz"], -1)
    same = place.shape == told.shape
    if result.expect(f"type {kind}: as many points with truth", same, f"{len(told)} of {len(place)}"):
        off_m = np.abs(place - told).max()
        result.expect(f"type {kind}: the points that have truth", off_m < 1e-4, f"{off_m * 1000:.3f} mm off")
    error_m = cloud["range_m"] - cloud["true_range_m"]
    known = np.isfinite(error_m)
    spread, mean = error_m[known].std(), error_m[known].mean()
    result.expect(f"type {kind}: errors of ranges are the profile's", 0.017 < spread < 0.026 and abs(mean) < 0.002,
                  f"{spread * 1000:.1f} mm around {mean * 1000:.2f} mm")
    return f"{len(told)} points err by {spread * 1000:.1f} mm"


if __name__ == "__main__":
    try:
        CODE = main()
    except Exception:
        traceback.print_exc()
        CODE = 1
    sys.stdout.flush()
    # Threads of a client that has failed would keep this process.
    os._exit(CODE)
