"""A host of Livox's SDK 1 that shares no code with Menura: frames, the connection, packets.

Written from Livox's documents of the protocol. Needs NumPy.
"""

import socket
import struct
import threading
import time

import numpy as np

from receiving import enlarge_buffer

HOST, LIDAR = "127.0.0.1", ("127.0.0.2", 65000)
BROADCAST_PORT, DATA_PORT, COMMAND_PORT, IMU_PORT = 55000, 56001, 55501, 56002
HEAD = 18
XYZ, ANGLES = ("xyz", "<i4", 3), [("theta", "<u2"), ("phi", "<u2")]
REST, TAG = ("reflectivity", "u1"), ("tag", "u1")


def returns(count, *fields):
    return ("returns", np.dtype(list(fields)), count)


# Pulses of a packet, and what a pulse has, by the data type.
FORMATS = {
    0: (100, [returns(1, XYZ, REST)]),
    1: (100, [("depth", "<u4"), *ANGLES, REST]),
    2: (96, [returns(1, XYZ, REST, TAG)]),
    3: (96, [("depth", "<u4"), *ANGLES, REST, TAG]),
    4: (48, [returns(2, XYZ, REST, TAG)]),
    5: (48, [*ANGLES, returns(2, ("depth", "<u4"), REST, TAG)]),
    7: (30, [returns(3, XYZ, REST, TAG)]),
    8: (30, [*ANGLES, returns(3, ("depth", "<u4"), REST, TAG)]),
}
FORMATS = {kind: (count, np.dtype(fields)) for kind, (count, fields) in FORMATS.items()}


def crc(data, polynomial, register):
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
    return register


def frame(kind, sequence, command, data=b""):
    """A frame: `kind` 0 command, 1 answer, 2 message; `command` is set and number."""
    head = struct.pack("<BBHBH", 0xAA, 1, 15 + len(data), kind, sequence)
    body = head + struct.pack("<H", crc(head, 0x8408, 0x4C49)) + bytes(command) + data
    return body + struct.pack("<I", crc(body, 0xEDB88320, 0x564F580A ^ 0xFFFFFFFF) ^ 0xFFFFFFFF)


def parsed(bytes_):
    """Kind, sequence, command and data of a frame whose checksums are right."""
    kind, sequence = struct.unpack_from("<BH", bytes_, 4)
    command, data = tuple(bytes_[9:11]), bytes_[11:-4]
    if frame(kind, sequence, command, data) != bytes_:
        raise ValueError(f"not a frame: {bytes_.hex()}")
    return kind, sequence, command, data


def head(packet):
    """Status, time type, data type and time (ns) of a packet."""
    version, _slot, _id, status, clock, kind = struct.unpack_from("<BBBxIBB", packet)
    if version != 5:
        raise ValueError(f"version {version}")
    return status, clock, kind, struct.unpack_from("<Q", packet, 10)[0]


def kind_of(packet):
    return packet[9]


def points_of(*packets):
    """Positions (pulse, return, xyz) in metres, reflectivities and tags (pulse, return); all packets are of one data
    type."""
    kind, = {kind_of(packet) for packet in packets}
    count, dtype = FORMATS[kind]
    raw = np.frombuffer(b"".join(packet[HEAD:] for packet in packets), dtype)
    if len(raw) != count * len(packets):
        raise ValueError(f"{len(raw)} pulses of type {kind}")
    each = raw["returns"] if "returns" in dtype.names else raw[:, None]
    if kind in (0, 2, 4, 7):
        place = each["xyz"] * 0.001
    else:
        theta, phi = np.radians(raw["theta"] / 100), np.radians(raw["phi"] / 100)
        along = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
        place = along[:, None, :] * (each["depth"] * 0.001)[..., None]
    tags = each["tag"] if "tag" in each.dtype.names else np.zeros(each.shape, np.uint8)
    return place, each["reflectivity"], tags


class Host:
    """Listens for broadcasts, connects when it is told to, and keeps the connection by heartbeats."""

    def __init__(self):
        self.broadcasts, self.points, self.samples, self.messages, self.states = [], [], [], [], []
        self.answers, self.sequence, self.lock = {}, 0, threading.Lock()
        self.over, self.is_beating = threading.Event(), threading.Event()
        self.sockets = {}
        for what, address in [("broadcast", ("0.0.0.0", BROADCAST_PORT)), ("command", (HOST, COMMAND_PORT)),
                              ("points", (HOST, DATA_PORT)), ("imu", (HOST, IMU_PORT))]:
            own = self.sockets[what] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            enlarge_buffer(own)
            own.bind(address)
            own.settimeout(0.1)
        self.threads = [threading.Thread(target=self.listen, args=(what,)) for what in self.sockets]
        self.threads.append(threading.Thread(target=self.beat))
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        for own in self.sockets.values():
            own.close()

    def listen(self, what):
        while not self.over.is_set():
            try:
                data, sender = self.sockets[what].recvfrom(2048)
            except TimeoutError:
                continue
            if what == "points":
                self.points.append(data)
            elif what == "imu":
                self.samples.append(data)
            elif what == "broadcast":
                self.broadcasts.append((sender, parsed(data)))
            else:
                kind, sequence, command, body = parsed(data)
                if kind == 2:
                    self.messages.append((command, body))
                elif command == (0, 3):
                    self.states.append(struct.unpack("<BBBI", body))
                else:
                    self.answers[sequence] = command, body

    def send(self, command, data=b"", kind=0):
        with self.lock:
            self.sequence = self.sequence % 0xFFFF + 1
            self.sockets["command"].sendto(frame(kind, self.sequence, command, data), LIDAR)
            return self.sequence

    def beat(self):
        while not self.over.wait(0.8):
            if self.is_beating.is_set():
                self.send((0, 3))

    def ask(self, command, data=b"", kind=0, patience_s=10.0):
        """The answer's data; None if none comes."""
        sequence, end = self.send(command, data, kind), time.monotonic() + patience_s
        while time.monotonic() < end:
            if sequence in self.answers:
                answered, body = self.answers.pop(sequence)
                return body if answered == command else None
            time.sleep(0.005)
        return None

    def connect(self, kind=1):
        """Sends the handshake, as the maker's SDK does as an answer; the lidar's answer."""
        ports = struct.pack("<HHH", DATA_PORT, COMMAND_PORT, IMU_PORT)
        answer = self.ask((0, 1), socket.inet_aton(HOST) + ports, kind)
        self.is_beating.set()
        return answer
