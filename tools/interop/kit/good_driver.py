#!/usr/bin/env python3
"""Plain good drivers of products that no real driver at hand reads, or not all cases: what the sensor says, as the kit's JSON.

    good_driver.py hdl64e PORT SENSOR CALIBRATION
    good_driver.py xt32 PORT SENSOR PTC
    good_driver.py helios PORT SENSOR DIFOP_PORT
    good_driver.py mid360 PORT SENSOR
    good_driver.py avia PORT SENSOR SDK1
    good_driver.py lms291 TTY
    good_driver.py utm30lx TTY
    good_driver.py lms111 HOST PORT
    good_driver.py vn100 TTY
    good_driver.py roboclaw TTY

Each is as short as it can be and still do what a suite calls good: it checks what it reads, drops what is not whole,
opens its port again, and begins anew with a sensor that says nothing. examples/bad_driver.py is the one for VLP-16s and
receivers.
"""
import calendar
import json
import math
import os
import re
import select
import socket
import struct
import sys
import termios
import time
import zlib

SILENT_S = 1.2
LMS_RATES = (9600, 38400, 9600, 19200)
# A scan takes 0.8 s at 9600 baud, and the first one that is heard is half a one.
LMS_PATIENCE_S = {9600: 2.0, 19200: 1.2, 38400: 0.8}


def tell(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


# Datagrams.

def datagrams(port, sensor, patience_s=1.0):
    """Datagrams of the sensor; `None` when none has come for a while."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.bind(("", port))
    link.settimeout(patience_s)
    tell("ready")
    while True:
        try:
            data, (source, _) = link.recvfrom(2048)
        except socket.timeout:
            yield None
            continue
        if source == sensor:
            yield data


class Turns:
    """Collects points and tells them when a turn is over. Those of a part of the packets will do, and take less time."""

    def __init__(self, every):
        self.points, self.last, self.every, self.count = [], 0, every, 0

    def packet(self, azimuth, stamp_s):
        """Begins a packet; whether its points are among those that are told."""
        if azimuth < self.last:
            tell("points", stamp_s=stamp_s, points=self.points)
            self.points = []
        self.last = azimuth
        self.count += 1
        return self.count % self.every == 0


class Hours:
    """Makes one time of microseconds past the hour."""

    def __init__(self):
        self.last_us, self.hours = 0, 0

    def stamp_s(self, micros):
        if micros < self.last_us - 1_800_000_000:
            self.hours += 1
        self.last_us = micros
        return self.hours * 3600 + micros / 1e6


class Hdl64eCalibration:
    """Compares the lasers of a calibration file with those that the status bytes of the packets tell."""

    def __init__(self, lasers):
        self.angles = {place: round(math.degrees(laser["vert_correction"]) * 100) for place, laser in lasers.items()}
        self.forget()

    def forget(self):
        """Another unit may answer from now on."""
        self.is_of_unit, self.stream, self.left = None, b"", 0

    def status(self, kind, value):
        """Takes the last two bytes of a packet. A cycle has nine live values, of which V is the last, and then seven bytes of a
        stream. In the stream, a laser has 28 bytes: its number, its vertical angle in hundredths of a degree, and others."""
        is_stream, digit = kind not in b"HMSDNYGTV", b"1234567"[7 - self.left:][:1]
        if is_stream != bool(digit) or (kind in b"1234567" and kind != digit[0]):
            # A packet is missing or out of order.
            self.stream, self.left = b"", 0
        elif is_stream:
            self.stream, self.left = self.stream + bytes([value]), self.left - 1
        if kind == ord("V"):
            self.left = 7
        for at in range(0, len(self.stream) - 56, 7):
            first, second, third = self.stream[at::28][:3]
            if first in self.angles and second == first + 1 and third == first + 2:
                told, = struct.unpack_from("<h", self.stream, at + 1)
                self.is_of_unit, self.stream = abs(told - self.angles[first]) <= 1, b""
                return


def hdl64e(port, sensor, calibration):
    import yaml

    with open(calibration) as file:
        lasers = {laser["laser_id"]: laser for laser in yaml.safe_load(file)["lasers"]}
    turns, hours, checked = Turns(37), Hours(), Hdl64eCalibration(lasers)
    for data in datagrams(int(port), sensor):
        if data is None:
            checked.forget()
            continue
        if len(data) != 1206:
            continue
        if checked.is_of_unit is None:
            checked.status(*data[1204:])
        if not checked.is_of_unit:
            continue
        first, = struct.unpack_from("<H", data, 2)
        micros, = struct.unpack_from("<I", data, 1200)
        if micros >= 3_600_000_000 or first >= 36000 or not turns.packet(first, hours.stamp_s(micros)):
            continue
        for i in range(12):
            flag, azimuth = struct.unpack_from("<HH", data, 100 * i)
            if flag not in (0xEEFF, 0xDDFF) or azimuth >= 36000:
                break
            raws = struct.unpack_from("<" + "HB" * 32, data, 100 * i + 4)[::2]
            for place, raw in enumerate(raws):
                if raw == 0:
                    continue
                laser = lasers[place + 32 * (flag == 0xDDFF)]
                angle = math.radians(azimuth / 100) - laser["rot_correction"]
                up, side = laser["vert_correction"], laser.get("horiz_offset_correction", 0.0)
                distance = raw * 0.002 + laser["dist_correction"]
                sin, cos = math.sin(angle), math.cos(angle)
                flat = distance * math.cos(up)
                turns.points.append((
                    round(flat * cos + side * sin, 3), round(-flat * sin + side * cos, 3),
                    round(distance * math.sin(up) + laser["vert_offset_correction"], 3),
                ))


def exactly(link, count):
    data = b""
    while len(data) < count:
        more = link.recv(count - len(data))
        if not more:
            raise OSError("the command port was closed")
        data += more
    return data


def angles(ptc):
    """Elevation and azimuth of each laser, radians, by command 0x05."""
    host, port = ptc.rsplit(":", 1)
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=2) as link:
                link.sendall(b"\x47\x74\x05\x00\x00\x00\x00\x00")
                length, = struct.unpack_from(">I", exactly(link, 8), 4)
                rows = exactly(link, length).decode("ascii").split("\n")[1:]
                return [[math.radians(float(word)) for word in row.split(",")[1:3]] for row in rows if row]
        except OSError:
            time.sleep(0.2)


def xt32(port, sensor, ptc):
    lasers, turns = None, Turns(17)
    for data in datagrams(int(port), sensor):
        if data is None:
            # It may be another unit that comes back.
            lasers = None
            continue
        if len(data) != 1080 or data[:4] != b"\xee\xff\x06\x01" or data[6:8] != b"\x20\x08" or data[9] != 4:
            continue
        year, month, day, hour, minute, second, micros = struct.unpack_from("<6BI", data, 12 + 8 * 130 + 13)
        if not 1 <= month <= 12 or micros >= 1_000_000:
            continue
        if lasers is None:
            lasers = angles(ptc)
        stamp_s = calendar.timegm((1900 + year, month, day, hour, minute, second)) + micros / 1e6
        first, = struct.unpack_from("<H", data, 12)
        if first >= 36000 or not turns.packet(first, stamp_s):
            continue
        for i in range(8):
            azimuth, = struct.unpack_from("<H", data, 12 + 130 * i)
            if azimuth >= 36000:
                break
            raws = struct.unpack_from("<" + "HBB" * 32, data, 12 + 130 * i + 2)[::3]
            for raw, (up, aside) in zip(raws, lasers):
                if raw == 0:
                    continue
                angle, distance = math.radians(azimuth / 100) + aside, raw * 0.004
                flat = distance * math.cos(up)
                # Hesai's azimuth 0 is the kit's forward.
                turns.points.append((
                    round(flat * math.cos(angle), 3), round(-flat * math.sin(angle), 3),
                    round(distance * math.sin(up), 3),
                ))


class HeliosState:
    """What the packets of state say of one unit: whether firings have two returns, and where its lasers look."""

    def __init__(self, port, sensor):
        self.link, self.sensor = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), sensor
        self.link.bind(("", port))
        self.link.setblocking(False)
        self.forget()

    def forget(self):
        self.is_dual, self.lasers = False, None

    def look(self):
        while True:
            try:
                data, (source, _) = self.link.recvfrom(2048)
            except BlockingIOError:
                return
            if source != self.sensor or len(data) != 1248 or data[:8] != bytes.fromhex("a5ff005a11115555"):
                continue
            signs = [data[468 + 3 * i] for i in range(64)]
            if max(signs) > 1 or data[300] not in (0, 4, 5, 6):
                continue
            deg = [(-1) ** sign * struct.unpack_from(">H", data, 469 + 3 * i)[0] / 100 for i, sign in enumerate(signs)]
            self.is_dual = data[300] == 0
            self.lasers = [(math.radians(up), math.radians(aside)) for up, aside in zip(deg[:32], deg[32:])]


def helios(port, sensor, difop):
    state, turns = HeliosState(int(difop), sensor), Turns(29)
    for data in datagrams(int(port), sensor):
        if data is None:
            # It may be another unit that comes back.
            state.forget()
            continue
        state.look()
        if state.lasers is None or len(data) != 1248 or data[:4] != b"\x55\xaa\x05\x5a" or data[31] != 6:
            continue
        stamp_s = int.from_bytes(data[20:26], "big") + int.from_bytes(data[26:30], "big") / 1e6
        azimuths = [struct.unpack_from(">H", data, 44 + 100 * i)[0] for i in range(12)]
        if any(data[42 + 100 * i:44 + 100 * i] != b"\xff\xee" for i in range(12)) or max(azimuths) >= 36000:
            continue
        if not turns.packet(azimuths[0], stamp_s):
            continue
        for i, azimuth in enumerate(azimuths):
            other = azimuths[i + 2 if state.is_dual else i + 1] if i < 10 else azimuth + 20
            step = (other - azimuth) % 36000
            # A greater step leads across a sector in which lasers do not fire.
            step = step if step <= 100 else 20
            raws = struct.unpack_from(">" + "HB" * 32, data, 46 + 100 * i)[::2]
            for laser, (raw, (up, aside)) in enumerate(zip(raws, state.lasers)):
                if raw == 0:
                    continue
                rotor = math.radians((azimuth + step * 1.73 * laser / 55.56) / 100)
                distance = raw * 0.0025
                flat = distance * math.cos(up)
                turns.points.append((
                    round(flat * math.cos(rotor + aside) + 0.03498 * math.cos(rotor), 3),
                    round(-flat * math.sin(rotor + aside) - 0.03498 * math.sin(rotor), 3), round(distance * math.sin(up), 3),
                ))


class Frames:
    """Collects the points of a Livox and tells them each tenth of a second. Those of a part of the packets will do."""

    def __init__(self):
        self.points, self.frame, self.count = [], None, 0

    def packet(self, stamp_s):
        """Begins a packet; whether its points are among those that are told."""
        frame = int(stamp_s * 10)
        if self.frame not in (None, frame):
            tell("points", stamp_s=stamp_s, points=self.points)
            self.points = []
        self.frame = frame
        self.count += 1
        return self.count % 17 == 0

    def add(self, place, unit):
        if any(place):
            self.points.append(tuple(round(axis * unit, 3) for axis in place))


def livox_place(distance, theta, phi):
    """The place of a spherical point: its distance, and hundredths of a degree from the zenith and to the left."""
    down, left = math.radians(theta / 100), math.radians(phi / 100)
    return distance * math.sin(down) * math.cos(left), distance * math.sin(down) * math.sin(left), distance * math.cos(down)


# Places of the data types, and bytes of a point: millimetres, centimetres, and millimetres with two angles.
LIVOX_POINTS = {1: ("<iii", 14), 2: ("<hhh", 8), 3: ("<IHH", 10)}


def mid360(port, sensor):
    frames = Frames()
    for data in datagrams(int(port), sensor):
        if data is None or len(data) < 36 or data[0] != 0 or int.from_bytes(data[1:3], "little") != len(data):
            continue
        kind, stamp_ns = data[10], int.from_bytes(data[28:36], "little")
        form, size = LIVOX_POINTS.get(kind, ("", 0))
        if len(data) != 36 + 96 * size or zlib.crc32(data[28:]) != int.from_bytes(data[24:28], "little"):
            continue
        if frames.packet(stamp_ns / 1e9):
            for at in range(36, len(data), size):
                place = struct.unpack_from(form, data, at)
                frames.add(livox_place(*place) if kind == 3 else place, 0.01 if kind == 2 else 0.001)


def sdk1_frame(command, data=b""):
    """A command of Livox's SDK 1 by its set and number."""
    head = struct.pack("<BBHBH", 0xAA, 1, 15 + len(data), 0, 0)
    crc = 0x4C49
    for byte in head:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x8408 if crc & 1 else crc >> 1
    body = head + struct.pack("<H", crc) + bytes(command) + data
    return body + struct.pack("<I", zlib.crc32(body, 0x564F580A))


# Pulses of a packet, bytes of a pulse, and its returns by the data type; odd types of two and three returns are spherical.
SDK1_POINTS = {2: (96, 14, 1), 3: (96, 10, 1), 4: (48, 28, 2), 5: (48, 16, 2), 7: (30, 42, 3), 8: (30, 22, 3)}


def sdk1_places(kind, data):
    count, size, returns = SDK1_POINTS[kind]
    for at in range(18, len(data), size):
        if kind in (2, 4, 7):
            yield from (struct.unpack_from("<iii", data, at + 14 * n) for n in range(returns))
        elif kind == 3:
            yield livox_place(*struct.unpack_from("<IHH", data, at))
        else:
            angles = struct.unpack_from("<HH", data, at)
            yield from (livox_place(*struct.unpack_from("<I", data, at + 4 + 6 * n), *angles) for n in range(returns))


def avia(port, sensor, sdk1):
    host, command_port = sdk1.rsplit(":", 1)
    commands, beat_s, heard_s, frames = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0.0, -1e9, Frames()
    commands.bind(("127.0.0.1", 0))
    # Points and inertial samples come to one port, where their types tell them apart.
    ports = struct.pack("<HHH", int(port), commands.getsockname()[1], int(port))
    connection = [((0, 1), socket.inet_aton("127.0.0.1") + ports), ((0, 4), b"\1")]
    for data in datagrams(int(port), sensor, 0.3):
        now_s = time.monotonic()
        if now_s > beat_s + 0.8:
            # One that says nothing has restarted, or was not there.
            for command, body in connection if now_s > heard_s + 1.0 else [((0, 3), b"")]:
                commands.sendto(sdk1_frame(command, body), (host, int(command_port)))
            beat_s = now_s
        if data is None or len(data) < 18 or data[0] != 5:
            continue
        kind, clock = data[9], data[8]
        count, size, _ = SDK1_POINTS.get(kind, (0, 0, 0))
        if count == 0 or len(data) != 18 + count * size or clock not in (0, 1, 3, 4):
            continue
        heard_s, stamp_s = now_s, int.from_bytes(data[10:18], "little") / 1e9
        if clock == 3:
            year, month, day, hour, micros = struct.unpack_from("<BBBBI", data, 10)
            if not 1 <= month <= 12:
                continue
            stamp_s = calendar.timegm((2000 + year, month, day, hour, 0, 0)) + micros / 1e6
        if frames.packet(stamp_s):
            for place in sdk1_places(kind, data):
                frames.add(place, 0.001)


# Serial lines.

class Line:
    """A serial port, opened anew when it goes."""

    def __init__(self, path):
        self.path, self.port, self.baud = path, None, None
        # Whether the port has gone since it was opened.
        self.is_lost = False

    def open(self, baud):
        """Opens the port at a rate; waits until it is there."""
        self.baud = baud
        self.close()
        while self.port is None:
            try:
                port = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.1)
                continue
            try:
                mode = termios.tcgetattr(port)
                mode[0] = mode[1] = mode[3] = 0
                mode[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
                mode[4] = mode[5] = getattr(termios, f"B{baud}")
                termios.tcsetattr(port, termios.TCSANOW, mode)
                self.port, self.is_lost = port, False
            except termios.error:
                os.close(port)
                time.sleep(0.1)

    def close(self):
        if self.port is not None:
            os.close(self.port)
            self.port = None

    def read(self, timeout_s):
        """What has come; nothing if nothing has, and the port is opened anew if it is gone."""
        if self.port is None:
            self.open(self.baud)
        try:
            if not select.select([self.port], [], [], timeout_s)[0]:
                return b""
            data = os.read(self.port, 4096)
        except OSError:
            data = b""
        if data == b"":
            self.close()
            self.is_lost = True
            time.sleep(0.1)
        return data

    def write(self, data):
        try:
            if self.port is not None:
                os.write(self.port, data)
        except OSError:
            self.close()


def lms_crc(data):
    crc = before = 0
    for byte in data:
        crc = ((crc << 1) ^ 0x8005) & 0xFFFF if crc & 0x8000 else crc << 1
        crc ^= before << 8 | byte
        before = byte
    return struct.pack("<H", crc)


def lms_telegrams(buffer):
    """Whole telegrams, and what is left."""
    found = []
    while True:
        begin = buffer.find(b"\x02\x80")
        if begin < 0:
            return found, buffer[-1:]
        buffer = buffer[begin:]
        if len(buffer) < 4:
            return found, buffer
        length, = struct.unpack_from("<H", buffer, 2)
        if not 1 <= length <= 820:
            buffer = buffer[1:]
        elif len(buffer) < length + 6:
            # It may be none, or be cut: the next one may stand in it.
            later = buffer.find(b"\x02\x80", 1)
            if later < 0 or len(buffer) < 2000:
                return found, buffer
            buffer = buffer[later:]
        elif lms_crc(buffer[:length + 4]) == buffer[length + 4:length + 6]:
            found.append(buffer[4:length + 4])
            buffer = buffer[length + 6:]
        else:
            buffer = buffer[1:]


# Values, degrees of the whole scan and of a step.
LMS_SCANS = {181: (180, 1.0), 361: (180, 0.5), 101: (100, 1.0), 201: (100, 0.5), 401: (100, 0.25)}


def lms_scan(telegram):
    info, = struct.unpack_from("<H", telegram, 1)
    count, unit = info & 0x3FF, info >> 14
    if count not in LMS_SCANS or unit > 1 or info & 0x2000 or len(telegram) < 4 + 2 * count:
        return None
    status = telegram[-1]
    if status & 7 >= 3 or status & 0x40:
        return None
    wide, step = LMS_SCANS[count]
    points = []
    for i, value in enumerate(struct.unpack_from(f"<{count}H", telegram, 3)):
        value &= 0x1FFF
        if value >= 0x1FF7:
            continue
        angle, distance = math.radians(i * step - wide / 2), value * (0.001 if unit else 0.01)
        points.append((round(distance * math.cos(angle), 3), round(distance * math.sin(angle), 3), 0.0))
    return points


def lms291(tty):
    line, place = Line(tty), 0
    start = b"\x02\x00\x02\x00\x20\x24"
    start += lms_crc(start)
    tell("ready")
    while True:
        baud = LMS_RATES[place]
        line.open(baud)
        buffer, told, came, asked, count = b"", time.monotonic(), time.monotonic(), 0.0, 0
        while not line.is_lost:
            data, now = line.read(0.1), time.monotonic()
            came, count = (now, count + len(data)) if data else (came, count)
            found, buffer = lms_telegrams(buffer + data)
            for telegram in found:
                told, count = now, 0
                points = lms_scan(telegram) if telegram[0] == 0xB0 else None
                if points is not None:
                    tell("points", points=points)
            # A line that is silent is asked; one that says nothing whole has another rate.
            if now - max(came, asked) > 0.7:
                line.write(start)
                asked = now
            if count > 100 and now - told > LMS_PATIENCE_S[baud]:
                break
        # What comes back has its usual rate, most often.
        place = 0 if line.is_lost else (place + 1) % len(LMS_RATES)


def scip_sum(text):
    return chr((sum(text.encode("latin-1")) & 0x3F) + 0x30)


def utm30lx(tty):
    line, buffer, heard = Line(tty), b"", -1e9
    command, last_ms, wraps = "MD0000108001000", 0, 0
    line.open(115200)
    tell("ready")
    while True:
        if time.monotonic() - heard > SILENT_S:
            # It is idle, or was switched off, or has failed: from the beginning.
            for text in ("QT\n", "SCIP2.0\n", "RS\n", f"{command}\n"):
                line.write(text.encode())
                time.sleep(0.02)
            heard = time.monotonic()
        buffer += line.read(0.1)
        *messages, buffer = buffer.split(b"\n\n")
        for message in messages:
            echo, *rest = message.decode("latin-1").lstrip("\n").split("\n")
            if not echo.endswith(command[1:13] + "00") or not rest or rest[0] != "99b":
                continue
            if any(len(row) < 2 or scip_sum(row[:-1]) != row[-1] for row in rest[1:]):
                continue
            heard = time.monotonic()
            data = "".join(row[:-1] for row in rest[2:])
            if len(rest[1]) != 5 or len(data) != 3 * 1081:
                continue

            def decode(text):
                number = 0
                for letter in text:
                    number = number << 6 | ord(letter) - 0x30
                return number

            stamp_ms = decode(rest[1][:4])
            wraps += stamp_ms < last_ms - (1 << 23)
            last_ms = stamp_ms
            points = []
            for step in range(0, 1081, 4):
                distance = decode(data[3 * step:3 * step + 3]) / 1000
                if distance >= 0.02:
                    angle = math.radians((step - 540) * 0.25)
                    points.append((round(distance * math.cos(angle), 3), round(distance * math.sin(angle), 3), 0.0))
            tell("points", stamp_s=(wraps * (1 << 24) + stamp_ms) / 1000, points=points)


def lms111(host, port):
    tell("ready")
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=1.0) as link:
                link.settimeout(SILENT_S)
                for text in ("sMN SetAccessMode 03 F4724744", "sMN LMCstartmeas", "sMN Run", "sEN LMDscandata 1"):
                    link.sendall(f"\x02{text}\x03".encode())
                buffer = b""
                while True:
                    data = link.recv(65536)
                    if not data:
                        break
                    *telegrams, buffer = (buffer + data).split(b"\x03")
                    for telegram in telegrams:
                        cola_scan(telegram.lstrip(b"\x02").decode("latin-1").split())
        except OSError:
            time.sleep(0.2)


def cola_scan(words):
    if words[:2] != ["sSN", "LMDscandata"] or "DIST1" not in words or words[6] == "1":
        return
    at = words.index("DIST1")
    factor, = struct.unpack(">f", bytes.fromhex(words[at + 1].zfill(8)))
    first, = struct.unpack(">i", bytes.fromhex(words[at + 3].zfill(8)))
    step, count = int(words[at + 4], 16), int(words[at + 5], 16)
    points = []
    for i, word in enumerate(words[at + 6:at + 6 + count]):
        distance = int(word, 16) * factor / 1000
        if distance > 0:
            # Its 90 degrees are forward.
            angle = math.radians((first + i * step) / 10000 - 90)
            points.append((round(distance * math.cos(angle), 3), round(distance * math.sin(angle), 3), 0.0))
    tell("points", points=points)


# What stands where in the sentences that have force and rate of the unit's own axes: force, rate.
VN_FIELDS = {"VNYMR": (6, 9), "VNQMR": (7, 10), "VNMAR": (3, 6), "VNIMU": (3, 6), "VNACC": (0, None), "VNGYR": (None, 0)}


def vn100(tty):
    line, buffer = Line(tty), b""
    tell("ready")
    while True:
        for baud in (115200, 9600, 57600):
            line.open(baud)
            heard = time.monotonic()
            while time.monotonic() - heard < SILENT_S and not line.is_lost:
                buffer += line.read(0.1)
                *rows, buffer = buffer.split(b"\n")
                buffer = buffer[-1000:]
                for row in rows:
                    if vn_sentence(row.strip(b"\r")):
                        heard = time.monotonic()
            if line.is_lost:
                break


def vn_sentence(row):
    """Tells what a sentence says; whether it is one."""
    found = re.fullmatch(rb".*\$(VN[A-Z]{3},[^$*]*)\*([0-9A-F]{2})", row)
    if found is None:
        return False
    check = 0
    for byte in found[1]:
        check ^= byte
    if check != int(found[2], 16):
        return False
    name, *fields = found[1].decode("latin-1").split(",")
    force_at, rate_at = VN_FIELDS.get(name, (None, None))
    try:
        values = [float(field) for field in fields] if name in VN_FIELDS else []
    except ValueError:
        return True
    told = {}
    if force_at is not None:
        told["force_m_s2"] = values[force_at:force_at + 3]
    if rate_at is not None:
        told["rate_rad_s"] = values[rate_at:rate_at + 3]
    if told:
        tell("imu", **told)
    return True


def roboclaw_crc(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def roboclaw(tty):
    line, ask = Line(tty), bytes([0x80, 78])
    line.open(38400)
    tell("ready")
    while True:
        # What is left of an answer that came late would be taken for the next one's.
        while line.read(0.0):
            pass
        line.write(ask)
        answer, until = b"", time.monotonic() + 0.2
        while len(answer) < 10 and time.monotonic() < until:
            answer += line.read(0.02)
        if len(answer) == 10 and roboclaw_crc(ask + answer[:8]) == int.from_bytes(answer[8:], "big"):
            left, right = struct.unpack(">ii", answer[:8])
            tell("base", left_counts=left, right_counts=right)
        time.sleep(0.02)


if __name__ == "__main__":
    products = {p.__name__: p for p in (hdl64e, xt32, helios, mid360, avia, lms291, utm30lx, lms111, vn100, roboclaw)}
    if len(sys.argv) < 3 or sys.argv[1] not in products:
        sys.exit(__doc__)
    try:
        products[sys.argv[1]](*sys.argv[2:])
    except (KeyboardInterrupt, BrokenPipeError):
        pass
