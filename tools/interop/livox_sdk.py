"""The maker's own SDK 2 by ctypes: the shared library of the package py-livox2.

Its Python module needs another NumPy than the other checks, and cannot receive pushes; the library can.
"""

import ctypes
import json
import struct
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

POINTS = {1: np.dtype([("xyz", "<i4", 3), ("reflectivity", "u1"), ("tag", "u1")]),
          2: np.dtype([("xyz", "<i2", 3), ("reflectivity", "u1"), ("tag", "u1")]),
          3: np.dtype([("depth", "<u4"), ("theta", "<u2"), ("phi", "<u2"), ("reflectivity", "u1"), ("tag", "u1")])}
HEAD = 36
DATA = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_void_p, ctypes.c_void_p)
PUSH = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_char_p, ctypes.c_void_p)
CHANGE = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
DONE = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
PORTS = ["cmd_data_port", "push_msg_port", "point_data_port", "imu_data_port", "log_data_port"]


@dataclass(frozen=True)
class Model:
    """What the SDK and the checks know of a model."""
    # The SDK's key in its file, and the number of the product.
    name: str
    number: int
    profile: str
    serial: str
    # Ports in the order of PORTS.
    own: tuple
    hosts: tuple
    lines: int
    points_hz: int

    def group_ns(self, group):
        """When a group of points is fired after the first one of all, ns: lines fire together."""
        return group * self.lines * 1_000_000_000 // self.points_hz

    @property
    def packet_ns(self):
        return 96_000_000_000 / self.points_hz

    @property
    def interval(self):
        """What heads say from the first point to the last, tenths of a microsecond."""
        return 95 * 10_000_000 // self.points_hz


MID360 = Model("MID360", 9, "livox-mid360", "47MDL8C0010101", tuple(range(56100, 56600, 100)),
               tuple(range(56101, 56601, 100)), 4, 200_000)
HAP_PORTS = (56000, 56000, 57000, 58000, 59000)
HAP = Model("HAP", 10, "livox-hap", "47HDK8C0010101", HAP_PORTS, HAP_PORTS, 6, 452_000)


class Sdk:
    """The SDK at `host`, which looks for a unit of `model` at `lidar`."""

    def __init__(self, library, folder, model, lidar="127.0.0.2", host="127.0.0.1"):
        self.sdk = ctypes.CDLL(str(library))
        self.handle = struct.unpack("<I", bytes(int(part) for part in lidar.split(".")))[0]
        self.points, self.samples, self.pushes, self.found = [], [], [], threading.Event()
        self.info = None
        # The SDK may answer after this process has stopped waiting: what it calls must still exist.
        self.answers = []
        file = Path(folder) / "sdk.json"
        file.write_text(json.dumps({model.name: {
            "lidar_net_info": dict(zip(PORTS, model.own, strict=True)),
            "host_net_info": [{"host_ip": host, "lidar_ip": [lidar], **dict(zip(PORTS, model.hosts, strict=True))}]}}))
        self.calls = {
            "SetLivoxLidarInfoChangeCallback": CHANGE(self.changed),
            "SetLivoxLidarPointCloudCallBack": DATA(lambda handle, kind, data, _: self.take(self.points, data)),
            "SetLivoxLidarImuDataCallback": DATA(lambda handle, kind, data, _: self.take(self.samples, data)),
            "SetLivoxLidarInfoCallback": PUSH(lambda handle, kind, text, _: self.pushes.append(json.loads(text))),
        }
        self.sdk.DisableLivoxSdkConsoleLogger()
        if not self.sdk.LivoxLidarSdkInit(str(file).encode(), b"", None):
            raise OSError("the SDK does not start")
        for name, call in self.calls.items():
            getattr(self.sdk, name)(call, None)

    def changed(self, handle, info, _):
        if handle == self.handle and info:
            raw = ctypes.string_at(info, 33)
            self.info = (raw[0], raw[1:17].split(b"\0")[0].decode(), raw[17:].split(b"\0")[0].decode())
            self.found.set()

    @staticmethod
    def take(into, data):
        length = struct.unpack("<H", ctypes.string_at(data + 1, 2))[0]
        into.append(ctypes.string_at(data, length))

    def command(self, name, *arguments):
        """Status, code and key of the lidar's answer to a command."""
        answered, got = threading.Event(), []

        def done(status, _handle, response, _data):
            raw = ctypes.string_at(response, 3) if response else b"\0\0\0"
            got.append((status, raw[0], struct.unpack("<H", raw[1:])[0]))
            answered.set()

        call = DONE(done)
        self.answers.append(call)
        status = getattr(self.sdk, name)(self.handle, *arguments, call, None)
        if status != 0:
            return status, None, None
        answered.wait(60.0)
        return got[0] if got else (None, None, None)

    def query(self):
        """All that the SDK asks a lidar for: bytes by key."""
        answered, got = threading.Event(), {}

        def done(status, _handle, response, _data):
            if response and status == 0:
                count = struct.unpack("<H", ctypes.string_at(response + 1, 2))[0]
                at = response + 3
                for _ in range(count):
                    key, length = struct.unpack("<HH", ctypes.string_at(at, 4))
                    got[key] = ctypes.string_at(at + 4, length)
                    at += 4 + length
            answered.set()

        call = DONE(done)
        self.answers.append(call)
        self.sdk.QueryLivoxLidarInternalInfo(self.handle, call, None)
        answered.wait(5.0)
        return got


def head(packet):
    """Interval (0.1 us), count, sequence, data type, time type and time (ns) of a packet."""
    _, _, interval, count, sequence, _, kind, clock = struct.unpack_from("<BHHHHBBB", packet)
    return interval, count, sequence, kind, clock, struct.unpack_from("<Q", packet, 28)[0]


def kind_of(packet):
    return packet[10]


def times_ns(packets):
    """The times of packets, ns."""
    return np.frombuffer(b"".join(packet[28:HEAD] for packet in packets), "<u8").astype(int)


def points_of(*packets):
    """Positions (N, 3) in metres, reflectivities and tags; all packets are of one data type."""
    kind, = {kind_of(packet) for packet in packets}
    raw = np.frombuffer(b"".join(packet[HEAD:] for packet in packets), POINTS[kind])
    if kind == 3:
        theta, phi = np.radians(raw["theta"] / 100), np.radians(raw["phi"] / 100)
        along = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
        place = along * (raw["depth"] / 1000)[:, None]
    else:
        place = raw["xyz"] * (0.001 if kind == 1 else 0.01)
    return place, raw["reflectivity"], raw["tag"]


def sample_of(packet):
    """Angular rate (rad/s) and acceleration (g)."""
    raw = np.frombuffer(packet, "<f4", 6, HEAD)
    return raw[:3], raw[3:]
