#!/usr/bin/env python3
"""Real clients drive a robot in a square and read its odometry back, over pseudo-terminals.

- RoboClaw: the maker's library, basicmicro.
- Create 2: pycreate2 (polled) and pyroombaadapter (streamed).
- Sabertooth: pysabertooth. It tells nothing; the robot's speeds are compared.
- Kangaroo and Husky: no driver can be installed; what kangaroo_x2_driver, a ROS 2 KangarooSystem and
  husky_base say is said by this file, with their checksums computed here.

A client that gives up while Menura is behind real time tries again, and so does one that waits in vain for an answer while
this machine gives it no processor.

The robot has no slip. Each client steers by what it reads; the robot is then moved again from the host log of
the run, and the pose that the client has reckoned must be the one that truth.csv ends with. With --self-test the
units count (or drive) 2 % more than the client believes, or a counter is stuck for a second, and every comparison
must fail.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import csv
import math
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import serial
from basicmicro.exceptions import PacketTimeoutError

from receiving import Judged, Watch, repeated
from side_by_side import side_by_side

SIDE_M = 0.6
SPEED_M_S = 0.3
WITHIN_M = 0.02
WITHIN_DEG = 0.5
SPOILT = 1.02
# Longest time for an answer.
ANSWER_S = 10.0

RIG = """
seed = 5
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
[robot.trajectory]
kind = "drive"
model = "skid-steer"
y_icr_m = {y_icr_m}
max_speed_m_s = 1.5
time_constant_ms = 35
[[device]]
name = "base"
profile = "{profile}"
link = {{ pty = "{port}" }}
[device.settings]
baud_rate = {baud}
[device.settings.wheels]
counts_per_m = {counts_per_m}
max_speed_m_s = {max_speed_m_s}
"""


class NoAnswer(Exception):
    """The base has not answered in time."""


def read_whole(line, count):
    data = line.read(count)
    if len(data) < count:
        raise NoAnswer(f"{len(data)} of {count} bytes came within {line.timeout} s")
    return data


class Roboclaw:
    profile, baud, counts_per_m, y_icr_m, most = "basicmicro-roboclaw-2x15a-4.1.34", 115200, 4342.2, 0.45, 2.0

    def __init__(self, port):
        from basicmicro import Basicmicro

        self.unit = Basicmicro(port, self.baud, timeout=1.0)
        self.unit.Open()
        check("RoboClaw's version", self.unit.ReadVersion(0x80), (True, "USB Roboclaw 2x15a v4.1.34\n"))
        check("its battery", self.unit.ReadMainBatteryVoltage(0x80), (True, 241))
        check("its status", self.unit.ReadError(0x80), (True, 0))
        check("its watchdog is set", self.unit.SetTimeout(0x80, 1.0), True)
        check("its watchdog", self.unit.GetTimeout(0x80), (True, 1.0))
        check("encoders are reset", self.unit.ResetEncoders(0x80), True)

    def drive(self, left, right):
        self.unit.SpeedM1M2(0x80, round(left * self.counts_per_m), round(right * self.counts_per_m))

    def odometry(self):
        _, left, right = self.unit.GetEncoders(0x80)
        # The library takes counts as unsigned.
        return [((count + 2**31) % 2**32 - 2**31) / self.counts_per_m for count in (left, right)]

    def close(self):
        self.unit.close()


class Create:
    profile, baud, counts_per_m, y_icr_m, most = "irobot-create2", 115200, 2249.39, 0.1175, 0.5

    def __init__(self, port):
        from pycreate2 import Create2

        self.unit = Create2(port)
        self.unit.start()
        self.unit.safe()
        sensors = self.unit.get_sensors()
        check("Create's mode", sensors.open_interface_mode, 2)
        check("its voltage, mV", sensors.voltage, 16000)
        self.last, self.travel = None, [0.0, 0.0]

    def drive(self, left, right):
        self.unit.drive_direct(round(right * 1e3), round(left * 1e3))

    def counts(self):
        sensors = self.unit.get_sensors()
        return [sensors.encoder_counts_left, sensors.encoder_counts_right]

    def odometry(self):
        now = self.counts()
        if self.last is not None:
            for side in range(2):
                step = (now[side] - self.last[side] + 2**15) % 2**16 - 2**15
                self.travel[side] += step / self.counts_per_m
        self.last = now
        return list(self.travel)

    def close(self):
        self.unit.__del__()
        type(self.unit).__del__ = lambda _: None


class Roomba(Create):
    def __init__(self, port):
        from pyroombaadapter import PyRoombaAdapter

        self.unit = PyRoombaAdapter(port)
        self.unit.data_stream_start(["Left Encoder Counts", "Right Encoder Counts", "OI Mode"])
        check("Roomba's mode", self.read()[2], 2)
        self.last, self.travel = None, [0.0, 0.0]

    def read(self):
        for _ in range(100):
            values = self.unit.data_stream_read()
            if values:
                return values
        raise RuntimeError("the stream does not come")

    def drive(self, left, right):
        self.unit.send_drive_direct(round(right * 1e3), round(left * 1e3))

    def counts(self):
        # What has queued up meanwhile is old.
        values = self.read()
        while self.unit.serial_con.in_waiting >= 12:
            values = self.read()
        return [count % 2**16 for count in values[:2]]

    def close(self):
        self.unit.data_stream_stop()
        self.unit.serial_con.close()
        self.unit.serial_con = None


class Kangaroo:
    """Packets as kangaroo_x2_driver sends them; it reads speeds and positions of both channels."""

    profile, baud, counts_per_m, y_icr_m, most = "dimension-engineering-kangaroo-x2", 38400, 5092.96, 0.45, 0.68

    def __init__(self, port):
        self.line = serial.Serial(port, self.baud, timeout=ANSWER_S)
        check("Kangaroo before its start", self.get("1", 1), (True, 1))
        for channel in "12":
            self.send(0x20, channel, 0)
        self.line.write(b"1,gets\r\n")
        wanted = b"1,S0\r\n"
        check("its speed in text", read_whole(self.line, len(wanted)), wanted)

    @staticmethod
    def crc(data):
        crc = 0x3FFF
        for byte in data:
            crc ^= byte & 0x7F
            for _ in range(7):
                crc = (crc >> 1) ^ 0x22F0 if crc & 1 else crc >> 1
        crc ^= 0x3FFF
        return bytes([crc & 0x7F, crc >> 7])

    @staticmethod
    def packed(number):
        rest, out = abs(number) * 2 + (number < 0), []
        while True:
            out.append(rest & 0x3F)
            rest >>= 6
            if not rest:
                return bytes(out)
            out[-1] |= 0x40

    def send(self, command, channel, flags, data=b""):
        data = bytes([ord(channel), flags]) + data
        packet = bytes([128, command, len(data)]) + data
        self.line.write(packet + self.crc(packet))

    def get(self, channel, kind):
        """Whether it is an error, and the number."""
        self.send(0x23, channel, 0x20, bytes([kind]))
        head = read_whole(self.line, 3)
        rest = read_whole(self.line, head[2] + 2)
        packet = head + rest[:-2]
        if rest[-2:] != self.crc(packet) or packet[:2] != b"\x80\x43" or packet[3] != ord(channel):
            raise RuntimeError(f"Kangaroo's answer is {(head + rest).hex(' ')}")
        packed = sum((byte & 0x3F) << (6 * place) for place, byte in enumerate(packet[6:]))
        return bool(packet[4] & 1), -(packed >> 1) if packed & 1 else packed >> 1

    def drive(self, left, right):
        for channel, speed in (("1", left), ("2", right)):
            self.send(0x24, channel, 0x20, b"\x02" + self.packed(round(speed * self.counts_per_m)))

    def odometry(self):
        answers = [self.get(channel, 1) for channel in "12"]
        if any(is_error for is_error, _ in answers):
            raise RuntimeError(f"Kangaroo reports {answers}")
        return [counts / self.counts_per_m for _, counts in answers]

    def close(self):
        self.line.close()


class Husky:
    """Frames as horizon_legacy sends them. It tells millimetres, whatever its encoders count, so that a
    counter that is stuck for a while is what spoils a run."""

    stuck = 'kind = "encoder-stuck"\nside = "left"\nduration_s = 1.0\nstart_s = 3.0'
    profile, baud, counts_per_m, y_icr_m, most = "clearpath-husky-a200", 115200, 1000.0, 0.535, 1.0

    def __init__(self, port):
        self.line = serial.Serial(port, self.baud, timeout=ANSWER_S)
        self.command(0x0211, struct.pack("<hh", 500, 500))
        self.command(0x0210, struct.pack("<hh", 100, 100))
        check("Husky's information", self.request(0x4001), b"\x04A200\x01" + struct.pack("<I", 42))
        check("its safety flags", self.request(0x4010), b"\x00\x00")
        voltages = struct.unpack("<IBhhhBhhhBhhhh", self.request(0x4004))[2:5]
        check("its voltages, cV", voltages, (2520, 2520, 2520))

    @staticmethod
    def crc(data):
        crc = 0xFFFF
        for byte in data:
            crc ^= byte << 8
            for _ in range(8):
                crc = ((crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
        return struct.pack("<H", crc)

    def send(self, kind, payload):
        length = len(payload) + 11
        frame = struct.pack("<BBBBIBHB", 0xAA, length, length ^ 0xFF, 0, 0, 0, kind, 0x55) + payload
        self.line.write(frame + self.crc(frame))

    def receive(self):
        head = read_whole(self.line, 3)
        if head[0] != 0xAA or head[1] ^ head[2] != 0xFF:
            raise RuntimeError(f"Husky's frame begins with {head.hex(' ')}")
        rest = read_whole(self.line, head[1])
        frame = head + rest
        if self.crc(frame[:-2]) != frame[-2:]:
            raise RuntimeError(f"Husky's checksum is wrong: {frame.hex(' ')}")
        return struct.unpack_from("<H", frame, 9)[0], frame[12:-2]

    def command(self, kind, payload):
        self.send(kind, payload)
        answer = self.receive()
        if answer != (kind, b"\x00\x00"):
            raise RuntimeError(f"Husky acknowledges {kind:04x} with {answer}")

    def request(self, kind):
        self.command(kind, b"\x00\x00")
        answer, payload = self.receive()
        if answer != kind + 0x4000:
            raise RuntimeError(f"Husky answers {kind:04x} with {answer:04x}")
        return payload

    def drive(self, left, right):
        self.command(0x0200, struct.pack("<hhhh", round(left * 100), round(right * 100), 500, 500))

    def odometry(self):
        return [mm * 1e-3 for mm in struct.unpack_from("<Bii", self.request(0x4800))[1:]]

    def close(self):
        self.line.close()


faults = []


def check(what, found, wanted):
    is_good = found == wanted
    print(f"  {'ok ' if is_good else 'BAD'} {what}: {found}")
    if not is_good:
        faults.append(f"{what}: {found}, wanted {wanted}")


class Odometry:
    """The pose from the travel of both sides."""

    def __init__(self, base):
        self.base, self.last = base, base.odometry()
        self.x = self.y = self.yaw = self.way = 0.0

    def read(self):
        now = self.base.odometry()
        left, right = (now[side] - self.last[side] for side in range(2))
        self.last = now
        step, turn = (left + right) / 2, (right - left) / (2 * self.base.y_icr_m)
        self.x += step * math.cos(self.yaw + turn / 2)
        self.y += step * math.sin(self.yaw + turn / 2)
        self.yaw += turn
        self.way += step


def drive_until(base, odometry, treads, is_there):
    """Says the same again every 20 ms, as drivers do, until `is_there()` or 10 s are over."""
    end = time.monotonic() + 10
    while not is_there():
        if time.monotonic() > end:
            raise RuntimeError("the robot does not arrive")
        base.drive(*treads)
        odometry.read()
        time.sleep(0.02)


def square(base):
    odometry = Odometry(base)
    for corner in range(1, 5):
        way = odometry.way + SIDE_M
        drive_until(base, odometry, (SPEED_M_S, SPEED_M_S), lambda: odometry.way >= way)
        yaw = corner * math.pi / 2
        treads = (-SPEED_M_S / 2, SPEED_M_S / 2)
        drive_until(base, odometry, treads, lambda: odometry.yaw >= yaw - 0.05)
    base.drive(0.0, 0.0)
    for _ in range(20):
        odometry.read()
        time.sleep(0.02)
    return odometry


class Behind(Exception):
    """The client gave up, and Menura had too little of the processor to answer in time."""


@contextmanager
def menura_runs(menura, folder, rig):
    port = folder / "base"
    log = open(folder / "log", "w+")
    words = [menura, "run", str(rig), "--host-log", str(folder / "host.log")]
    running = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while not port.exists():
            if running.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise OSError("menura opened no port:\n" + log.read())
            time.sleep(0.05)
        time.sleep(0.5)
        yield str(port)
    except Exception as error:
        log.seek(0)
        said = log.read()
        if " behind" in said:
            raise Behind(f"{type(error).__name__}: {error}") from error
        print(said)
        raise
    finally:
        running.terminate()
        running.wait(timeout=20)
        log.close()


def truth(menura, folder, rig, seconds):
    """The rows of truth.csv of the same run, moved again by its host log."""
    words = [menura, "record", "--force", str(rig), "--host-log", str(folder / "host.log"), "--out", str(folder / "again"),
             "--duration", f"{seconds:.1f}s"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"menura record ended with {done.returncode}:\n{done.stderr}")
    with open(folder / "again" / "truth.csv", newline="", encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]


def yaw_of(row):
    if "yaw_deg" in row:
        return math.radians(row["yaw_deg"])
    x, y, z, w = (row[key] for key in ("qx", "qy", "qz", "qw"))
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def prepared(base, folder, spoil):
    rig = folder / "rig.toml"
    numbers = {"counts_per_m": base.counts_per_m, "max_speed_m_s": base.most}
    stuck = getattr(base, "stuck", None) if spoil else None
    if spoil and not stuck:
        numbers[spoil] *= SPOILT
    text = RIG.format(y_icr_m=base.y_icr_m, profile=base.profile, port=folder / "base", baud=base.baud, **numbers)
    rig.write_text(text + (f'[[fault]]\ndevice = "base"\n{stuck}\n' if stuck else ""))
    return rig


def drives_a_square(menura, make, spoil):
    """Where the client believes the robot to be, and where it is."""
    with tempfile.TemporaryDirectory(prefix="menura-drive-") as name:
        folder = Path(name)
        rig = prepared(make, folder, "counts_per_m" if spoil else None)
        start = time.monotonic()
        with menura_runs(menura, folder, rig) as port:
            base = make(port)
            odometry = square(base)
            base.close()
            seconds = time.monotonic() - start
        last = truth(menura, folder, rig, seconds + 1.0)[-1]
    off_m = math.hypot(odometry.x - last["x_m"], odometry.y - last["y_m"])
    turned = math.degrees(odometry.yaw - yaw_of(last))
    off_deg = (turned + 180) % 360 - 180
    print(f"  reckoned {odometry.x:.3f} {odometry.y:.3f} m {math.degrees(odometry.yaw):.2f} deg after {odometry.way:.2f} m; "
          f"off by {off_m * 1e3:.1f} mm, {off_deg:.3f} deg")
    return off_m <= WITHIN_M and abs(off_deg) <= WITHIN_DEG


class Sabertooth:
    profile, baud, counts_per_m, y_icr_m, most = "dimension-engineering-sabertooth-2x32", 9600, 1000.0, 0.45, 0.68


def drives_at_speed(menura, spoil):
    """Whether the robot moves as pysabertooth says: half of full duty ahead, then a quarter against a quarter."""
    from pysabertooth import Sabertooth as Driver

    with tempfile.TemporaryDirectory(prefix="menura-drive-") as name:
        folder = Path(name)
        rig = prepared(Sabertooth, folder, "max_speed_m_s" if spoil else None)
        start = time.monotonic()
        with menura_runs(menura, folder, rig) as port:
            unit = Driver(port, baudrate=9600, address=128)
            unit.driveBoth(50, 50)
            time.sleep(1.0)
            unit.driveBoth(-25, 25)
            time.sleep(1.0)
            unit.stop()
            time.sleep(0.3)
            said = unit.saber.read(10)
            unit.close()
            # Its destructor would stop the motors of a closed port.
            type(unit).__del__ = lambda _: None
            seconds = time.monotonic() - start
        check("what a Sabertooth says", said, b"")
        rows = truth(menura, folder, rig, seconds + 1.0)
    pairs = list(zip(rows, rows[1:]))
    speeds = [math.hypot(b["x_m"] - a["x_m"], b["y_m"] - a["y_m"]) / (b["time_s"] - a["time_s"]) for a, b in pairs]
    rates = [((yaw_of(b) - yaw_of(a) + math.pi) % (2 * math.pi) - math.pi) / (b["time_s"] - a["time_s"])
             for a, b in pairs]
    # The library sends 63 and 31 of 127.
    wanted = 63 / 127 * Sabertooth.most, 31 / 127 * Sabertooth.most / Sabertooth.y_icr_m
    print(f"  speed {max(speeds):.4f} m/s, wanted {wanted[0]:.4f}; turn {max(rates):.4f} rad/s, wanted {wanted[1]:.4f}")
    return abs(max(speeds) / wanted[0] - 1) < 0.005 and abs(max(rates) / wanted[1] - 1) < 0.005


FAULT = """
[[fault]]
device = "base"
start_s = 0.0
{words}
"""
VERSION = b"USB Roboclaw 2x15a v4.1.34\n\x004j"


def faults_show(menura):
    """What the faults of a base and of its line do to a RoboClaw's answers."""
    def ask(line, question, length):
        line.reset_input_buffer()
        line.write(question)
        start = time.monotonic()
        return line.read(length), time.monotonic() - start

    for words, question, is_so in [
        ('kind = "link-down"', b"\x80\x15", lambda answers: all(answer == b"" for answer, _ in answers)),
        ('kind = "line-noise"\nrate = 0.02', b"\x80\x15",
         lambda answers: any(answer not in (b"", VERSION) for answer, _ in answers)),
        ('kind = "late-replies"\ndelay_ms = 150.0', b"\x80\x15",
         lambda answers: all(answer == VERSION and took >= 0.15 for answer, took in answers)),
        ('kind = "emergency-stop"', b"\x80\x5a", lambda answers: all(a[:4] == b"\0\0\0\1" for a, _ in answers)),
        ('kind = "low-battery"\nbattery_v = 19.5', b"\x80\x18", lambda answers: all(a[:2] == b"\0\xc3" for a, _ in answers)),
        ('kind = "power-cycle"', b"\x80\x15", lambda answers: all(answer == b"" for answer, _ in answers)),
    ]:
        with tempfile.TemporaryDirectory(prefix="menura-drive-") as name:
            folder = Path(name)
            rig = prepared(Roboclaw, folder, None)
            rig.write_text(rig.read_text() + FAULT.format(words=words))
            length = {0x15: len(VERSION), 0x5A: 6, 0x18: 4}[question[1]]
            with menura_runs(menura, folder, rig) as port, serial.Serial(port, Roboclaw.baud, timeout=0.4) as line:
                answers = [ask(line, question, length) for _ in range(5)]
        check(words.split('"')[1], is_so(answers), True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    parser.add_argument("--self-test", action="store_true", help="spoil each run; every comparison must fail")
    parser.add_argument("--only", help="one of the bases, or `faults`")
    words = parser.parse_args()
    makers = {make.__name__.lower(): make for make in (Roboclaw, Create, Roomba, Kangaroo, Husky)}
    names = [*makers, "sabertooth"] + ([] if words.self_test else ["faults"])
    name = words.only
    if name is None:
        return side_by_side(names, 2, main)
    if name not in names:
        parser.error(f"--only takes one of {', '.join(names)}")
    print(name)
    if name == "faults":
        faults_show(words.menura)
    else:
        def attempt(make=makers.get(name)):
            before = len(faults)
            try:
                with Watch() as watch:
                    is_good = (drives_a_square(words.menura, make, words.self_test) if make
                               else drives_at_speed(words.menura, words.self_test))
            # Basicmicro writes a packet byte by byte, and the RoboClaw discards one with a pause of 10 ms.
            except (Behind, NoAnswer, PacketTimeoutError) as error:
                excuse = "Menura was behind real time" if isinstance(error, Behind) else watch.excuse()
                if excuse is None:
                    raise
                # The next attempt checks all of it again.
                del faults[before:]
                return Judged(False, False, f"{excuse} ({error})")
            # A client that reads the counters of its two wheels late reckons a wrong pose.
            return Judged(is_good, is_good, None if words.self_test else watch.excuse())

        is_good = repeated(name, attempt)
        if is_good == words.self_test:
            faults.append(f"{name}: {'a spoilt run was not noticed' if is_good else 'the robot is elsewhere'}")
    for fault in faults:
        print(f"BAD {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
