"""Receives the stream of a lidar that nobody attacks, in a process of its own, and holds it against
a recording of the same rig."""

import hashlib
import socket
import struct
import subprocess
import sys
from pathlib import Path

# Linux: 64-bit time stamps of CLOCK_REALTIME; datagrams that did not fit into the socket's buffer.
SO_TIMESTAMPNS = 35
SO_RXQ_OVFL = 40
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 64 << 20
ROW = struct.Struct("<qI16s")
PCAP_NS_MAGIC = 0xA1B23C4D
HEADERS = 14 + 20 + 8


def digest(payload):
    return hashlib.blake2b(payload, digest_size=16).digest()


class Witness:
    """Listens from now on; `rows` are arrival (ns, clock of the day), losses of this socket so far, and
    a digest of each datagram."""

    def __init__(self, address, file):
        self.file = Path(file)
        self.process = subprocess.Popen([sys.executable, __file__, address, str(file)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.rows = list(ROW.iter_unpack(self.file.read_bytes()))

    def abandon(self):
        self.process.kill()
        self.process.wait()


def listen(address, file):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except PermissionError:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    listener.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
    listener.bind((address, 0))
    listener.settimeout(0.2)
    print(listener.getsockname()[1], flush=True)
    import select
    with open(file, "wb") as out:
        while True:
            try:
                payload, ancillary, _, _ = listener.recvmsg(2048, 128)
            except TimeoutError:
                if select.select([sys.stdin], [], [], 0)[0]:
                    return
                continue
            arrival_ns, lost = 0, 0
            for _, kind, data in ancillary:
                if kind == SO_TIMESTAMPNS:
                    seconds, ns = struct.unpack("qq", data[:16])
                    arrival_ns = seconds * 1_000_000_000 + ns
                elif kind == SO_RXQ_OVFL:
                    lost = struct.unpack("I", data[:4])[0]
            out.write(ROW.pack(arrival_ns, lost, digest(payload)))


def recorded(pcap, length):
    """Due time (ns) and digest of each datagram of `length` bytes in a recording."""
    data = Path(pcap).read_bytes()
    if struct.unpack_from("<I", data)[0] != PCAP_NS_MAGIC:
        raise ValueError(f"{pcap} is no capture with nanoseconds")
    frames, at = [], 24
    while at < len(data):
        seconds, ns, size, _ = struct.unpack_from("<IIII", data, at)
        payload = data[at + 16 + HEADERS:at + 16 + size]
        if len(payload) == length:
            frames.append((seconds * 1_000_000_000 + ns, digest(payload)))
        at += 16 + size
    return frames


def compare(rows, frames):
    """Of each received datagram its lateness in ns, or None if it is not the one that is due, and how many
    datagrams are missing before it."""
    place_of = {found: place for place, (_, found) in enumerate(frames)}
    result, expected = [], 0
    for arrival_ns, _, found in rows:
        place = place_of.get(found)
        if place is None or place < expected:
            result.append((arrival_ns, None, 0))
            continue
        result.append((arrival_ns, arrival_ns - frames[place][0], place - expected))
        expected = place + 1
    zero = min((late for _, late, _ in result if late is not None), default=0)
    return [(arrival, None if late is None else late - zero, gap) for arrival, late, gap in result]


if __name__ == "__main__":
    listen(sys.argv[1], sys.argv[2])
