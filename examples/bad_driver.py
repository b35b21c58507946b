#!/usr/bin/env python3
"""A small driver for a VLP-16 or an NMEA GNSS receiver, with seventeen faults that can be switched on one at a time.

    menura test lidar -- python3 examples/bad_driver.py --port {udp_port} --sensor {sensor_ip}
    menura test lidar -- python3 examples/bad_driver.py --port {udp_port} --sensor {sensor_ip} --fault zero-range
    menura test gnss -- python3 examples/bad_driver.py --tty {pty}

Without a fault it passes every case of `menura test`. Each fault is one that real drivers had; docs/DRIVER-TESTS.md
says which cases find it. The driver prints lines of JSON, which the kit reads without an adapter: `points` for each
rotation, one column in eleven, and `fix` for each valid position. Needs only Python.
"""
import argparse
import calendar
import json
import math
import os
import select
import socket
import struct
import sys
import termios
import time

FAULTS = {
    "short-packet": "crashes on a packet that is cut short",
    "azimuth-wrap": "interpolates azimuths across 360 degrees as if there were no wrap",
    "gives-up": "stops permanently when no data arrive for a second",
    "zero-range": "keeps points of range 0, which means no return",
    "hour-wrap": "does not expect timestamps to restart from 0 each hour",
    "leak": "keeps every packet for ever",
    "restart": "treats all packets as late after the sensor's clock has restarted",
    "any-source": "accepts packets from any address",
    "first-mode": "drops packets whose return mode differs from that of the first packet",
    "product-byte": "ignores the byte that identifies the product",
    "wall-clock": "measures time-outs with the computer's clock, which can be set",
    "talker": "accepts the talker GN alone",
    "no-checksum": "does not check the checksums of sentences",
    "hemisphere": "ignores the letters for south and west",
    "empty-field": "crashes on a sentence with empty fields",
    "flat-height": "reports the height of a two-dimensional fix",
    "leap-second": "crashes on the second 60",
}
FULL_HOUR_US = 3_600_000_000
# When this driver was written, in seconds of Unix time.
WRITTEN = calendar.timegm((2026, 1, 1, 0, 0, 0))
# VLP-16: directions and vertical offsets of its lasers, its product byte, and the mode byte of dual returns.
ELEVATIONS_DEG = (-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15)
HEIGHTS_M = tuple(h / 1000 for h in (11.2, -0.7, 9.7, -2.2, 8.1, -3.7, 6.6, -5.1, 5.1, -6.6, 3.7, -8.1, 2.2, -9.7, 0.7, -11.2))
LASERS = tuple(
    (math.cos(math.radians(e)), math.sin(math.radians(e)), h) for e, h in zip(ELEVATIONS_DEG, HEIGHTS_M)
)
PRODUCT, DUAL = 0x22, 0x39
PACKET_BYTES, BLOCKS = 1206, 12
SEQUENCE_US, LASER_US = 55.296, 2.304
# Largest azimuth step, hundredths of a degree. A wider step is the end of a field of view.
WIDEST_STEP = 300
EVERY_COLUMN = 11


def send_event(event, **fields):
    try:
        print(json.dumps({"event": event, **fields}), flush=True)
    except BrokenPipeError:
        sys.exit()


class Vlp16:
    def __init__(self, fault):
        self.fault, self.points, self.column = fault, [], 0
        self.last_azimuth, self.last_us, self.hours, self.step = None, None, 0, 0
        self.kept, self.refused, self.first_mode, self.next_tell_s = [], False, None, 0.0

    def packet(self, data):
        if len(data) != PACKET_BYTES and self.fault != "short-packet":
            return
        # A truncated packet raises an exception here if its length was not checked.
        stamp_us, mode, product = struct.unpack_from("<IBB", data, PACKET_BYTES - 6)
        if product != PRODUCT and self.fault != "product-byte":
            if not self.refused:
                send_event("message", text=f"product {product:#04x} is not a VLP-16")
                self.refused = True
            return
        if stamp_us >= FULL_HOUR_US:
            return
        if self.fault == "leak":
            self.kept.append(data * 10)
        if self.last_us is not None:
            back_us = self.last_us - stamp_us
            if back_us > FULL_HOUR_US / 2:
                self.hours += self.fault != "hour-wrap"
            elif self.fault == "restart" and back_us > 0:
                return
        self.last_us = stamp_us
        blocks = [struct.unpack_from("<HH", data, 100 * i) for i in range(BLOCKS)]
        if any(flag != 0xEEFF or azimuth >= 36000 for flag, azimuth in blocks):
            return
        if self.first_mode is None:
            self.first_mode = mode
        if mode != self.first_mode and self.fault == "first-mode":
            return
        each = 2 if mode == DUAL else 1
        for i in range(0, BLOCKS, each):
            self.block(data, i, each, blocks)

    def block(self, data, i, each, blocks):
        azimuth = blocks[i][1]
        halves = 2
        if i + each < BLOCKS:
            step = blocks[i + each][1] - azimuth
            if self.fault != "azimuth-wrap":
                step %= 36000
            if step <= WIDEST_STEP:
                self.step = step
            else:
                # The field of view ends here: the second half of the block can be on either side of the gap.
                halves = 1
        if self.last_azimuth is not None and azimuth < self.last_azimuth:
            self.turn_ends()
        self.last_azimuth = azimuth
        for copy in range(each):
            for half in range(halves):
                self.column += 1
                if self.column % EVERY_COLUMN == 0:
                    self.sequence(data, 100 * (i + copy) + 4 + 48 * half, azimuth, half)

    def sequence(self, data, offset, azimuth, half):
        ranges = struct.unpack_from("<" + "HB" * 16, data, offset)[::2]
        for laser, (raw, (flat, up, height)) in enumerate(zip(ranges, LASERS)):
            if raw == 0 and self.fault != "zero-range":
                continue
            part = (half * SEQUENCE_US + laser * LASER_US) / (2 * SEQUENCE_US)
            angle = math.radians((azimuth + self.step * part) / 100)
            distance = raw * 0.002
            across = distance * flat
            self.points.append((
                round(across * math.cos(angle), 3), round(-across * math.sin(angle), 3),
                round(distance * up + (height if raw else 0), 3),
            ))

    def turn_ends(self):
        if self.fault == "wall-clock":
            # The intended limit is fifty rotations per second.
            if time.time() < self.next_tell_s:
                self.points = []
                return
            self.next_tell_s = time.time() + 0.02
        send_event("points", stamp_s=self.hours * 3600 + self.last_us / 1e6, points=self.points)
        self.points = []


def lidar(options):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.bind(("", options.port))
    link.settimeout(1.0)
    send_event("ready")
    driver = Vlp16(options.fault)
    heard = False
    while True:
        try:
            data, (source, _) = link.recvfrom(2048)
        except socket.timeout:
            if heard and options.fault == "gives-up":
                # Like a driver whose reader thread has ended: the process continues without output.
                time.sleep(1e6)
            continue
        if options.sensor and source != options.sensor and options.fault != "any-source":
            continue
        heard = True
        driver.packet(data)


class Nmea:
    def __init__(self, fault):
        self.fault, self.buffer = fault, b""
        # Altitude from the latest GGA; two-dimensional fix from the latest GSA.
        self.altitude_m, self.is_flat = None, False

    def feed(self, data):
        self.buffer = (self.buffer + data)[-4096:]
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            self.line(line.strip(b"\r"))

    def line(self, line):
        start = line.rfind(b"$")
        if start < 0 or line[-3:-2] != b"*":
            return
        body, check = line[start + 1:-3], line[-2:]
        total = 0
        for byte in body:
            total ^= byte
        if self.fault != "no-checksum" and f"{total:02X}".encode() != check.upper():
            return
        try:
            fields = body.decode("ascii").split(",")
        except UnicodeDecodeError:
            return
        kind = fields[0][2:]
        if kind == "GSA" and len(fields) > 2:
            self.is_flat = fields[2] == "2"
        if kind == "GGA" and len(fields) > 9:
            try:
                self.altitude_m = float(fields[9]) if fields[6] != "0" else None
            except ValueError:
                self.altitude_m = None
        if kind != "RMC" or len(fields) < 10:
            return
        if self.fault == "talker" and fields[0] != "GNRMC":
            return
        if self.fault == "empty-field":
            # The exception for an empty field is not caught.
            self.position(fields)
        elif fields[2] == "A":
            try:
                self.position(fields)
            except (ValueError, IndexError):
                pass

    def position(self, fields):
        def degrees(text, whole):
            return int(text[:whole]) + float(text[whole:]) / 60

        lat, lon = degrees(fields[3], 2), degrees(fields[5], 3)
        if self.fault != "hemisphere":
            lat, lon = (-lat if fields[4] == "S" else lat), (-lon if fields[6] == "W" else lon)
        day, month, year = (int(fields[9][i:i + 2]) for i in (0, 2, 4))
        hour, minute, second = int(fields[1][:2]), int(fields[1][2:4]), float(fields[1][4:])
        if second >= 60 and self.fault == "leap-second":
            sys.exit("second must be in 0..59")
        stamp = calendar.timegm((2000 + year, month, day, hour, minute, 0)) + second
        # A date before this driver was written: the week number of GPS has wrapped, after 1024 weeks.
        if stamp < WRITTEN:
            stamp += 1024 * 7 * 86_400
        # In a two-dimensional fix, the receiver sends a height that it has not measured.
        has_height = self.altitude_m is not None and (not self.is_flat or self.fault == "flat-height")
        height = {"altitude_m": self.altitude_m} if has_height else {}
        send_event("fix", lat_deg=lat, lon_deg=lon, stamp_s=stamp, **height)


def opened(path):
    """The port in raw mode, or `None` if it cannot be opened."""
    try:
        port = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        mode = termios.tcgetattr(port)
        mode[0] = mode[1] = mode[3] = 0
        mode[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
        mode[4] = mode[5] = getattr(termios, f"B{BAUD}")
        termios.tcsetattr(port, termios.TCSANOW, mode)
    except termios.error:
        os.close(port)
        return None
    return port


BAUD = 38400


def receiver(options):
    driver = Nmea(options.fault)
    port = None
    send_event("ready")
    while True:
        if port is None:
            port = opened(options.tty)
            if port is None:
                time.sleep(0.1)
                continue
        try:
            data = os.read(port, 4096) if select.select([port], [], [], 1.0)[0] else None
        except OSError:
            data = b""
        if data == b"":
            # Unplugged: the port has to be opened again when it returns.
            os.close(port)
            port = None
            time.sleep(0.1)
        elif data:
            driver.feed(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, help="the UDP port of a VLP-16")
    parser.add_argument("--sensor", help="the sensor's address; packets from other addresses are ignored")
    parser.add_argument("--tty", help="the serial port of a GNSS receiver at 38400 baud")
    parser.add_argument("--fault", choices=FAULTS, help="; ".join(f"{k}: {v}" for k, v in FAULTS.items()))
    options = parser.parse_args()
    try:
        receiver(options) if options.tty else lidar(options)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
