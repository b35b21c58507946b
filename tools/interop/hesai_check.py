#!/usr/bin/env python3
"""Lets hilspy and hydra4 read Menura's Hesais live, asks them by TCP, and holds every point against the truth.

`points`: a robot drives a circle in the built-in scene `room`, with one ray a pulse and without noise. Every point that
hilspy decodes must be on the wall that its beam meets at its time; hilspy is handed the packets one by one, so that its
socket loses none. `splits`, where hilspy listens to the unit itself: a unit as it is delivered (nine rays a
pulse, the profile's errors) looks at rods before walls; echoes are worked out apart from Menura's code
(`split_beams.py`). `commands`: what a driver sets by TCP shows in the stream. `hydra`: hydra4's points of a PandarXT-32.

hilspy has the same angles for all units of a model; where a unit's own lasers look, its table tells (command 0x05). Of
hilspy come distances, channels, times and azimuths. What it adds to a block's azimuth and time is learnt from a packet
of ours.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import hilspy
import numpy as np

import room
import split_beams
from echoes import Optics
from receiving import Judged, Result, Watch, comes, enlarge_buffer, falls_silent, free_ports, repeated, stop_process
from side_by_side import chosen, side_by_side

RIG = """\
seed = 1
start_utc = {start}
origin = {{ latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }}

[world]
{world}

[robot]
trajectory = {{ kind = "circle", {circle}, speed_m_s = 4.0 }}

[engine]
truth_rate_hz = 1000.0

[[device]]
name = "lidar"
profile = "{profile}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}
link = {{ udp = {{ to = "127.0.0.1:{data}", gps_port = {gps} }}, ptc = "127.0.0.1:{ptc}" }}

[device.settings]
clock_source = "ptp"
ptp = "locked"
serial = "INTEROP1"
azimuth_jitter_centideg = 0.0
return_mode = "{mode}"
{settings}
"""
# The ray sees the walls and nothing else.
ONE_RAY = 'errors = "none"\nbeam = { shape = "ray", min_range_m = 0.3, sees = { reflectance = 0.0 } }\n'
# Cases side by side.
AT_A_TIME = 3
STEP_M = 0.004
# The beams of an XT are so narrow that their rays meet 10 m behind the window, beyond the walls that echoes are worked
# out with. A smaller exit brings that near.
NARROW_EXIT_M = 0.003


@dataclass(frozen=True)
class Model:
    """A product as hilspy calls it, and how its packets are laid out."""

    profile: str
    codec: str
    lasers: int
    blocks: int
    head: str
    block_flag: str
    point: int
    tail: int
    # Firings of a turn at 600 rpm.
    steps: int
    single: tuple
    dual: str
    # From the start of a block to the instant whose azimuth it has.
    azimuth_after_s: float = 0.0


XT_MODES = ("strongest", "last")
MODELS = [
    Model("hesai-xt32", "pandar_xt32", 32, 8, "eeff06010000200800040101", "", 4, 28, 2000, XT_MODES, "last-strongest"),
    Model("hesai-xt16", "pandar_xt16", 16, 8, "eeff06010000100800040101", "", 4, 28, 2000, XT_MODES, "last-strongest"),
    Model("hesai-pandar40p", "pandar_40p", 40, 10, "", "ffee", 3, 22, 1800, XT_MODES, "last-strongest",
          54.67e-6),
    Model("hesai-pandar64", "pandar_64", 64, 6, "eeff400600040000", "", 3, 22, 1800, XT_MODES, "last-strongest",
          54.668e-6),
    Model("hesai-qt64", "pandar_qt64", 64, 4, "eeff03010000400400040101", "", 4, 28, 600, ("first", "last"), "last-first"),
]
# Which echoes the columns near and far of a pair are.
split_beams.WHICH["last-strongest"] = split_beams.WHICH["dual"]
split_beams.WHICH["last-first"] = (split_beams.WHICH["first"][0], split_beams.WHICH["last"][0])
BYTES = {"first": 0x33, "strongest": 0x37, "last": 0x38, "last-strongest": 0x39, "last-first": 0x3B}
NUMBERS = {"last": 0, "strongest": 1, "last-strongest": 2, "first": 3, "last-first": 4}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--only", help="checks whose name contains this")
    arguments = parser.parse_args()
    work = []
    for model in MODELS:
        work += [(points, model, model.single[0]), (points, model, model.dual)]
        work += [(splits, model, model.dual), (splits, model, model.single[1])]
    # The longest ones first.
    work = [(commands, MODELS[0], "last"), (commands, MODELS[2], "strongest"), *work]
    work += [(hydra, MODELS[0], "strongest"), (hydra, MODELS[0], "last-strongest")]
    work = {f"{check.__name__} {model.profile} {mode}": (check, model, mode) for check, model, mode in work}
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


def run(name, check, model, mode, arguments, folder):
    """How much fails in a check of a model."""

    def attempt():
        result = Result()
        with Watch() as watch, Bench(model, mode, arguments, folder, check is splits) as bench:
            check(bench, result)
        return Judged(result, not result.failures, watch.excuse(0.2))

    result = repeated(name, attempt)
    print(f"{name}: {'; '.join(result.told)}", flush=True)
    for line in result.failures:
        print(f"  FAILED {line}")
    return len(result.failures)


class Bench:
    """A unit that runs, with its truth."""

    def __init__(self, model, mode, arguments, folder, is_split):
        self.model, self.mode, self.arguments = model, mode, arguments
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.data, self.gps = free_ports(2)
        self.ptc, = free_ports(1)
        self.place = split_beams.RODS
        if is_split:
            world, circle = self.place.world(self.folder), self.place.circle
            settings = f"beam = {{ exit_width_mm = {NARROW_EXIT_M * 1000} }}\n" if "xt" in model.profile else ""
        else:
            world, circle, settings = room.WORLD, room.CIRCLE, ONE_RAY
        self.rig = self.folder / "rig.toml"
        self.rig.write_text(RIG.format(
            start=room.START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=world, circle=circle, profile=model.profile,
            mount=list(room.MOUNT_M), yaw=room.MOUNT_YAW_DEG, data=self.data, gps=self.gps, ptc=self.ptc,
            mode=mode, settings=settings))

    def __enter__(self):
        self.errors = open(self.folder / "errors", "w+")
        self.menura = subprocess.Popen([self.arguments.menura, "run", str(self.rig), "--duration", "600s"],
                                       stdout=self.errors, stderr=self.errors)
        for _ in range(300):
            if self.menura.poll() is not None:
                self.errors.seek(0)
                raise subprocess.SubprocessError(f"menura run ended:\n{self.errors.read()}")
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self.ptc)) == 0:
                    return self
            time.sleep(0.1)
        self.__exit__()
        raise subprocess.SubprocessError("menura serves no command port")

    def __exit__(self, *_):
        stop_process(self.menura)
        self.errors.close()

    def ask(self, command, payload=b""):
        """Code and payload of the answer to a command."""
        with socket.create_connection(("127.0.0.1", self.ptc), timeout=5) as host:
            host.sendall(b"\x47\x74" + struct.pack(">BBI", command, 0, len(payload)) + payload)
            flag, own, code, length = struct.unpack(">HBBI", exactly(host, 8))
            if (flag, own) != (0x4774, command):
                raise subprocess.SubprocessError(f"the answer to {command:#x} begins with {flag:x} {own:x}")
            return code, exactly(host, length)

    def angles(self):
        """Elevation and azimuth of the unit's own lasers, radians."""
        code, text = self.ask(0x05)
        lines = text.decode("ascii").split("\n")
        if code or lines[0] != "Channel,Elevation,Azimuth" or lines[-1]:
            raise subprocess.SubprocessError(f"no table, code {code}: {lines[:2]}")
        table = np.array([[float(word) for word in line.split(",")] for line in lines[1:-1]])
        if not np.array_equal(table[:, 0], np.arange(1, self.model.lasers + 1)):
            raise subprocess.SubprocessError("channels are not in their order")
        return np.radians(table[:, 1]), np.radians(table[:, 2])

    def listen(self, count, port=None):
        """So many datagrams of a port."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            enlarge_buffer(receiver)
            receiver.bind(("127.0.0.1", port or self.data))
            receiver.settimeout(60.0)
            return [receiver.recv(1 << 16) for _ in range(count)]

    def end(self):
        """Ends the unit, which would else run on beside what is computed."""
        stop_process(self.menura)

    def truth_of(self, seconds):
        """The truth of the first `seconds`."""
        return room.truth_of(self.arguments.menura, self.rig, seconds)


def exactly(host, count):
    got = b""
    while len(got) < count:
        more = host.recv(count - len(got))
        if not more:
            raise subprocess.SubprocessError("the command port was closed")
        got += more
    return got


def packet_of(model, mode):
    """A packet of ours whose blocks look forward and whose distances are 10 m."""
    blocks = b"".join(bytes.fromhex(model.block_flag) + struct.pack("<H", 0)
                      + (struct.pack("<HB", 2500, 50) + b"\xff" * (model.point - 3)) * model.lasers
                      for _ in range(model.blocks))
    date, micros = bytes([room.START_UTC.year - 1900, 6, 1, 12, 0, 0]), struct.pack("<I", 500_000)
    if model.codec == "pandar_40p":
        date = bytes([room.START_UTC.year - 2000]) + date[1:]
    rpm, kind = struct.pack("<H", 600), bytes([BYTES[mode]])
    if model.tail == 22:
        tail = bytes(8) + rpm + micros + kind + b"\x42" + date
    elif model.codec == "pandar_qt64":
        tail = bytes(10) + rpm + micros + kind + b"\x42" + date + bytes(4)
    else:
        tail = bytes(10) + kind + rpm + date + micros + b"\x42" + bytes(4)
    return bytes.fromhex(model.head) + blocks + tail


def heard(model, port, send, count):
    """So many packets as hilspy decodes them, while `send` runs."""
    with hilspy.open(f"udp://127.0.0.1:{port}?listen", f"lidar:{model.codec}", frame="packet") as lidar:
        send()
        found = []
        while len(found) < count:
            message = lidar.recv(timeout=5)
            if message is None:
                raise subprocess.SubprocessError("hilspy hears nothing")
            found.append(message.fields)
    return found


def handed(model, datagrams):
    """The packets of datagrams as hilspy decodes them."""
    port, = free_ports(1)
    found = []
    with (hilspy.open(f"udp://127.0.0.1:{port}?listen", f"lidar:{model.codec}", frame="packet") as lidar,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender):
        for datagram in datagrams:
            sender.sendto(datagram, ("127.0.0.1", port))
            message = lidar.recv(timeout=5)
            if message is None:
                raise subprocess.SubprocessError("hilspy hears nothing")
            found.append(message.fields)
    return found


@dataclass
class Client:
    """What hilspy adds to a block's azimuth, degrees, and to its time, seconds after its first laser, by channel."""

    azimuth_deg: np.ndarray
    late_s: np.ndarray


def client_of(model, mode):
    port, = free_ports(1)

    def send():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(packet_of(model, mode), ("127.0.0.1", port))

    fields, = heard(model, port, send, 1)
    one = slice(0, model.lasers)
    channel = np.asarray(fields["channel"])[one]
    if not np.array_equal(channel, np.arange(model.lasers)):
        raise subprocess.SubprocessError(f"hilspy's channels are {channel}")
    azimuth = (np.asarray(fields["azimuth"], dtype=float)[one] + 180) % 360 - 180
    times = np.asarray(fields["time"], dtype=float)[one]
    return Client(azimuth, times - times.min())


@dataclass
class Points:
    """What hilspy has decoded of some packets, point by point."""

    channel: np.ndarray
    # Where the block looks when its first laser fires, degrees; a whole number of steps, as there is no jitter. How far
    # from there its own azimuth puts it; and when that laser fires, seconds since the start.
    block_deg: np.ndarray
    off_deg: np.ndarray
    block_s: np.ndarray
    time_s: np.ndarray
    range_m: np.ndarray
    intensity: np.ndarray
    which: np.ndarray
    place: np.ndarray


def decoded(model, client, packets):
    # hilspy takes a Pandar64's years to count from 2000; the profile's count from 1900, as those of a capture.
    year = room.START_UTC.year + (100 if model.codec == "pandar_64" else 0)
    start = room.START_UTC.replace(year=year).timestamp()

    def column(name):
        return np.concatenate([np.asarray(fields[name], dtype=float) for fields in packets])

    base = np.concatenate([np.full(len(fields["x"]), fields["timestamp"] - start) for fields in packets])
    channel = column("channel").astype(int)
    time_s = base + column("time")
    told_deg = np.round(column("azimuth") - client.azimuth_deg[channel], 2) - 3600.0 * model.azimuth_after_s
    step_deg = 360.0 / model.steps
    steps = np.round(told_deg / step_deg)
    return Points(channel, steps % model.steps * step_deg, told_deg - steps * step_deg,
                  time_s - client.late_s[channel], time_s, column("distance"), column("intensity"),
                  column("return").astype(int), np.stack([column(name) for name in "xyz"], -1))


def beams(channel, block_deg, late_s, angles):
    """Unit directions of beams, sensor frame: the unit's own angles, and where the rotor was when the laser fired,
    `late_s` after its block began."""
    up, across = (angle[channel] for angle in angles)
    turned = np.radians(block_deg + 3600.0 * late_s[channel]) + across
    return np.stack([np.cos(turned) * np.cos(up), -np.sin(turned) * np.cos(up), np.sin(up)], -1)


# Half a step, and what single precision, the truth's straight lines between rows and hilspy's times leave.
LIMIT_M = STEP_M / 2 + 0.0008


def points(bench, result):
    """Every point of more than a turn."""
    model = bench.model
    client, angles = client_of(model, bench.mode), bench.angles()
    per_packet = model.blocks // (2 if "-" in bench.mode else 1)
    # hilspy's own socket loses packets while it decodes, so that it is handed what another one has heard.
    datagrams = bench.listen(int(1.2 * model.steps / per_packet))
    bench.end()
    packets = handed(model, datagrams)
    found = decoded(model, client, packets)
    covered = len(np.unique(found.block_deg))
    result.expect("the mode", all(fields["rpm"] == 600 for fields in packets), f"{packets[0]['rpm']} rpm")
    result.expect("as many points as were fired", len(found.range_m) == len(packets) * model.blocks * model.lasers,
                  f"{len(found.range_m)}")
    off_deg = np.max(np.abs(found.off_deg))
    result.expect("azimuths to a hundredth of a degree", off_deg <= 0.0051, f"{off_deg:.4f} degrees off")
    truth = bench.truth_of(float(np.ceil(np.max(found.time_s) + 0.5)))
    direction = beams(found.channel, found.block_deg, client.late_s, angles)
    wanted_m = room.to_walls(truth, found.time_s, np.zeros(3), direction)
    worst_m = np.max(np.abs(found.range_m - wanted_m))
    result.expect("ranges", worst_m <= LIMIT_M, f"{worst_m * 1000:.2f} mm off")
    # hilspy's own points: the model's angles, and no turning within a block.
    along = found.place / np.linalg.norm(found.place, axis=1, keepdims=True)
    off_deg = np.degrees(np.max(np.linalg.norm(along - direction, axis=1)))
    result.expect("hilspy's own points", off_deg < 1.0, f"{off_deg:.2f} degrees off")
    length_m = np.max(np.abs(np.linalg.norm(found.place, axis=1) - found.range_m))
    result.expect("their distances", length_m < 1e-4, f"{length_m} m")
    result.expect("a whole turn", covered == model.steps, f"{covered} azimuths")
    # What this check is to notice.
    one = found.range_m.copy()
    one[len(one) // 3] += 2 * STEP_M
    shifted = np.roll(found.range_m, model.lasers * (2 if "-" in bench.mode else 1))
    for what, wrong in {"one range two steps up": one, "firings one on": shifted,
                        "channels one on": np.roll(found.range_m, 1)}.items():
        result.expect(f"{what}: not noticed", np.max(np.abs(wrong - wanted_m)) > LIMIT_M)
    # A part of the points that has all lasers.
    some = slice(None, None, 17)
    direction = beams(found.channel[some], found.block_deg[some], 0 * client.late_s, angles)
    early = room.to_walls(truth, found.block_s[some], np.zeros(3), direction)
    result.expect("lasers that fire at once: not noticed", np.max(np.abs(found.range_m[some] - early)) > LIMIT_M)
    result.told.append(f"{len(found.range_m)} points, worst {worst_m * 1000:.2f} mm, hilspy's own angles up to "
                       f"{off_deg:.2f} degrees off")


def splits(bench, result):
    """What comes of beams that are split, of a unit as it is delivered."""
    model = bench.model
    client, angles = client_of(model, bench.mode), bench.angles()
    returns = 2 if "-" in bench.mode else 1
    packets = heard(model, bench.data, lambda: None, int(1.1 * model.steps * returns / model.blocks))
    bench.end()
    found = decoded(model, client, packets)
    truth = bench.truth_of(float(np.ceil(np.max(found.time_s) + 0.5)))
    # A firing's points have one block time; where nothing came back there may be no point.
    order = np.argsort(found.block_s, kind="stable")
    firing = np.empty(len(order), int)
    firing[order] = np.cumsum(np.diff(found.block_s[order], prepend=found.block_s[order[0]]) > 10e-6)
    first = np.unique(firing, return_index=True)[1]
    range_m = np.full((len(first), model.lasers, returns), np.nan)
    intensity = np.zeros(range_m.shape)
    seen = found.range_m > 0
    at = firing[seen], found.channel[seen], found.which[seen]
    range_m[at], intensity[at] = found.range_m[seen], found.intensity[seen]
    pulses = np.arange(0, len(first) * model.lasers, max(1, len(first) * model.lasers // 9000))
    range_m, intensity = (of.reshape(-1, returns)[pulses] for of in (range_m, intensity))
    first, laser = first[pulses // model.lasers], pulses % model.lasers
    block_s, block_deg = found.block_s[first], found.block_deg[first]
    if returns == 2:
        result.expect("both returns or none", np.array_equal(*np.isfinite(range_m).T))
        apart = np.isfinite(range_m).all(axis=1) & (range_m[:, 0] != range_m[:, 1])
        farther = range_m[apart, 0] > range_m[apart, 1]
        wanted = model.profile not in ("hesai-xt32", "hesai-qt64")
        result.expect("the profile's order of two returns", np.all(farther == wanted),
                      f"{np.count_nonzero(farther)} of {len(farther)} have the farther one first")
        by_range = np.argsort(range_m, axis=1, kind="stable")
        range_m, intensity = (np.take_along_axis(of, by_range, 1) for of in (range_m, intensity))
    optics = Optics(model.profile)
    if "xt" in model.profile:
        optics.apex_m *= NARROW_EXIT_M / optics.exit_m
        optics.exit_m = NARROW_EXIT_M
    direction = beams(laser, block_deg, client.late_s, angles)
    wanted = split_beams.expected(split_beams.world_of(bench.place, optics), optics, truth,
                                  (block_s + client.late_s[laser]) * 1e6, np.zeros_like(direction), direction)
    read = split_beams.Read(range_m, intensity)

    def compare(read):
        return split_beams.Comparison(optics, bench.mode, laser, STEP_M).run(wanted, read)

    comparison = compare(read)
    result.failures += comparison.failures
    result.told += comparison.told
    unnoticed = split_beams.self_test(compare, read)
    result.expect("spoilt returns are noticed", not unnoticed, ", ".join(unnoticed))


def commands(bench, result):
    """What a driver sets shows in the stream."""
    model = bench.model

    def stream(count=50):
        return bench.listen(count)

    def azimuths(packet):
        size = len(bytes.fromhex(model.block_flag)) + 2 + model.lasers * model.point
        at = len(bytes.fromhex(model.head)) + len(bytes.fromhex(model.block_flag))
        return [struct.unpack_from("<H", packet, at + block * size)[0] for block in range(model.blocks)]

    code, inventory = bench.ask(0x07)
    result.expect("the inventory", (code, len(inventory)) == (0, 120) and inventory.startswith(b"INTEROP1\0"))
    code, configuration = bench.ask(0x08)
    result.expect("the configuration", (code, len(configuration)) == (0, 47), f"{code}, {len(configuration)}")
    result.expect("where it sends", configuration[12:20] == bytes([127, 0, 0, 1]) + struct.pack(">HH", bench.data, bench.gps),
                  configuration[12:20].hex())
    code, status = bench.ask(0x09)
    result.expect("the status", (code, len(status)) == (0, 54) and struct.unpack_from(">H", status, 4)[0] == 600)
    # A return mode, a range, another port, and back.
    code, _ = bench.ask(0x1E, bytes([NUMBERS["last-strongest"]]))
    size = len(bytes.fromhex(model.head)) + model.blocks * (len(bytes.fromhex(model.block_flag)) + 2
                                                             + model.lasers * model.point)
    place = size + (14 if model.tail == 22 else 10)
    result.expect("the return mode", code == 0 and comes(lambda: all(packet[place] == 0x39 for packet in stream())))
    result.expect("an unknown mode is refused", bench.ask(0x1E, bytes([9]))[0] == 1)
    code, _ = bench.ask(0x22, struct.pack(">BHH", 0, 900, 1800))
    result.expect("the range", code == 0 and comes(lambda: all(
        8700 <= azimuth <= 18300 for packet in stream(300) for azimuth in azimuths(packet))))
    bench.ask(0x22, struct.pack(">BHH", 0, 0, 3600))
    other, = free_ports(1)
    code, _ = bench.ask(0x20, bytes([127, 0, 0, 1]) + struct.pack(">HH", other, bench.gps))
    result.expect("the destination", code == 0 and len(bench.listen(20, other)) == 20)
    bench.ask(0x20, bytes([127, 0, 0, 1]) + struct.pack(">HH", bench.data, bench.gps))
    gps = bench.listen(1, bench.gps)[0]
    result.expect("a GPS packet", len(gps) == 512 and gps[:2] == b"\xff\xee", gps[:20].hex())
    # Where the rotor is when a second begins.
    code, _ = bench.ask(0x18, struct.pack(">BH", 1, 90))
    result.expect("the sync angle", code == 0 and comes(lambda: all(
        phase_error_deg(model, azimuths(packet), packet, size) < 0.5 for packet in stream())))
    bench.ask(0x18, struct.pack(">BH", 0, 0))
    code, _ = bench.ask(0x17, struct.pack(">H", 1200))
    result.expect("the speed", code == 0 and comes(lambda: 36000 * 2 // model.steps in {
        np.diff(azimuths(packet)).max() for packet in stream()}))
    result.expect("a wrong speed is refused", bench.ask(0x17, struct.pack(">H", 601))[0] == 1)
    code, _ = bench.ask(0x1C, b"\x01")
    result.expect("silence in standby", code == 0 and falls_silent(bench.data))
    bench.ask(0x1C, b"\x00")
    result.expect("it sends again", len(stream()) == 50)
    result.expect("an unknown command is refused", bench.ask(0xA9)[0] == 5)
    result.told.append("mode, range, destination, phase, speed, standby, refusals")


def phase_error_deg(model, azimuths, packet, size):
    """How far the rotor is from 90 degrees at a whole second and 3600 degrees a second, by a packet's timestamp; roughly,
    as a timestamp is some firings off the first block."""
    micros = struct.unpack_from("<I", packet, size + (10 if model.tail == 22 else 19))[0]
    last = azimuths[-1] / 100
    wanted = 90 + micros * 1e-6 * 3600
    return abs((last - wanted + 180) % 360 - 180)


def hydra(bench, result):
    """hydra4's points of a PandarXT-32, with the unit's own table. Its times are not used: it adds microseconds to
    seconds."""
    # Only here: they take a while to load.
    from hydra4.decoders import PandarXT32
    from hydra4.msgs import pandar_msgs__msg__PandarPacket
    angles = bench.angles()
    table = bench.folder / "unit.csv"
    table.write_bytes(bench.ask(0x05)[1])
    decoder = PandarXT32(table, 0.0, 300.0)
    packets = bench.listen(320)
    bench.end()
    returns = 2 if "-" in bench.mode else 1
    places, times, late = [], [], []
    for packet in packets:
        date, micros = packet[1065:1071], struct.unpack_from("<I", packet, 1071)[0]
        stamp_s = date[4] * 60 + date[5] + micros * 1e-6 - (room.START_UTC.minute * 60 + room.START_UTC.second)
        message = pandar_msgs__msg__PandarPacket(None, np.frombuffer(packet, np.uint8), len(packet))
        for number, block in enumerate(decoder(message)):
            place = number * returns
            for point in block.points:
                laser = point[4]
                places.append(point[:3])
                times.append(stamp_s + 1e-6 * (5.632 - 50 * ((7 - place) // returns) + 0.368 + 1.512 * laser))
                late.append(1.512e-6 * laser)
    places, times = np.array(places), np.array(times)
    result.expect("as many points as were fired", len(places) == len(packets) * 256 // returns, f"{len(places)}")
    truth = bench.truth_of(float(np.ceil(times.max() + 0.5)))
    # To forward and left, and turned on as far as the rotor did until the laser fired.
    turn = -np.radians(3600.0 * np.array(late))
    x, y = places[:, 1], -places[:, 0]
    turned = np.stack([x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn), places[:, 2]], -1)
    range_m = np.linalg.norm(turned, axis=1)

    def worst(range_m):
        direction = turned / np.linalg.norm(turned, axis=1)[:, None]
        return np.max(np.abs(range_m - room.to_walls(truth, times, np.zeros(3), direction)))

    result.expect("points on the walls", worst(range_m) <= LIMIT_M, f"{worst(range_m) * 1000:.2f} mm off")
    spoilt = range_m.copy()
    spoilt[len(spoilt) // 2] += 2 * STEP_M
    result.expect("a spoilt point: not noticed", worst(spoilt) > LIMIT_M)
    result.told.append(f"{len(places)} points, worst {worst(range_m) * 1000:.2f} mm")


if __name__ == "__main__":
    sys.exit(main())
