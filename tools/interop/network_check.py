#!/usr/bin/env python3
"""Has tools/bench-network give four sensors of a rig addresses of their own and looks, as the robot's
computer, at what they send and answer.

Twice: with the robot in a namespace that bench-network makes, and behind a network interface that is
given to it. Each sensor must send from its own MAC and IP address and port, alone answer ARP for
its address, answer ping, and, being a scanner, a connection. `down` must leave nothing.

Needs root and only the standard library. Exit code 0 when all is well, 1 when a check fails, 2 when
network namespaces cannot be had here.
"""

import argparse
import contextlib
import ctypes
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from receiving import BUFFER_BYTES, Judged, Losses, dropped_in_kernel, enlarge_buffer, repeated

TOOL = Path(__file__).resolve().parent.parent / "bench-network"
NAME = "menura-check"
ROBOT_IP = "192.168.1.50"
BROADCAST_MAC = "ff:ff:ff:ff:ff:ff"

RIG = """\
seed = 1
[world]
scene = "room"
[robot]
trajectory = {{ kind = "still" }}
{devices}"""
DEVICE = """\
[[device]]
name = "{name}"
profile = "{profile}"
mount = {{ translation_m = [0.0, 0.0, 2.0] }}
link = {{ {link} }}
settings = {{ {settings} }}
"""


# A Velodyne's second stream: 512 bytes on port 8308.
POSITION_BYTES = 512


@dataclass(frozen=True)
class Sensor:
    name: str
    profile: str
    address: str
    port: int
    mac: str
    link: str
    # Where its datagrams go, how many a second and with which time to live; a scanner sends none.
    to: tuple = ()
    rate_hz: int = 0
    ttl: int = 0
    settings: str = 'beam = { shape = "ray" }'


def lidar(name, profile, address, mac, to, port=2368, ttl=255, extra="", rate_hz=754):
    link = f'udp = {{ to = "{to[0]}:{to[1]}", from = "{address}:{port}"{extra} }}'
    return Sensor(name, profile, address, port, mac, link, to, rate_hz, ttl)


SENSORS = [
    lidar("front", "velodyne-vlp16-3.0", "192.168.1.201", "60:76:88:a8:01:c9", ("255.255.255.255", 2368)),
    lidar("rear", "velodyne-vlp16-3.0", "192.168.1.202", "60:76:88:a8:01:ca", ("192.168.1.255", 2369)),
    lidar("the-one-on-the-roof", "velodyne-vlp16-3.0", "192.168.1.203", "60:76:88:a8:01:cb",
          (ROBOT_IP, 2370), extra=', interface = "roof"'),
    lidar("old", "velodyne-hdl64e-s1", "192.168.3.43", "60:76:88:a8:03:2b", ("192.168.3.255", 2368), 443,
          128, rate_hz=2600),
    Sensor("scanner", "sick-lms111", "192.168.1.1", 2111, "02:4d:45:a8:01:01",
           'tcp = ["192.168.1.1:2111", "192.168.1.1:2112"]'),
]
SECONDS = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    arguments = parser.parse_args()
    before = traces()
    failures = []
    try:
        with tempfile.TemporaryDirectory(prefix="menura-network-") as folder:
            rig = Path(folder) / "rig.toml"
            devices = "".join(DEVICE.format(**vars(sensor)) for sensor in SENSORS)
            rig.write_text(RIG.format(devices=devices))
            for what, bench in ("two namespaces", own_robot), ("an interface", robot_behind_an_interface):
                found = bench(arguments.menura, rig)
                left = traces() - before
                found += [f"left behind: {', '.join(sorted(left))}"] if left else []
                found += [f"gone: {', '.join(sorted(before - traces()))}"] if before - traces() else []
                print(f"{what}: {len(SENSORS)} sensors, {len(found)} faults")
                failures += [f"{what}: {fault}" for fault in found]
            failures += refusals(Path(folder))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"network_check: {error}", file=sys.stderr)
        return 2
    for fault in failures:
        print(f"  FAILED {fault}")
    print("network_check:", f"{len(failures)} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


def run(*words, may_fail=False):
    done = subprocess.run([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0 and not may_fail:
        raise subprocess.SubprocessError(f"{' '.join(map(str, words))}: {done.stdout.strip()}")
    return done


def traces():
    """Names of what bench-network might leave: interfaces, namespaces, rules."""
    interfaces = [line.split()[1] for line in run("ip", "-o", "link").stdout.splitlines()]
    return {*interfaces, *run("ip", "netns").stdout.splitlines(), *run("ip", "rule").stdout.splitlines()}


def own_robot(menura, rig):
    failures = []
    for _ in range(2):
        run(TOOL, "up", rig, "--name", NAME)
    try:
        failures += look(menura, rig, f"{NAME}-robot", "sensors")
        sleeper = subprocess.Popen(["ip", "netns", "exec", f"{NAME}-sensors", "sleep", "60"])
        time.sleep(0.3)
        if run(TOOL, "down", "--name", NAME, may_fail=True).returncode != 1:
            failures.append("it goes down under a program that runs in it")
        sleeper.kill()
        sleeper.wait()
    finally:
        for _ in range(2):
            run(TOOL, "down", "--name", NAME)
    return failures


def robot_behind_an_interface(menura, rig):
    far = f"{NAME}-far"
    run("ip", "netns", "add", far)
    try:
        run("ip", "link", "add", "mncheck0", "type", "veth", "peer", "name", "mncheck1", "netns", far)
        for address in (f"{ROBOT_IP}/24", "192.168.3.100/24"):
            run("ip", "-n", far, "address", "add", address, "broadcast", "+", "dev", "mncheck1")
        run("ip", "-n", far, "link", "set", "mncheck1", "up")
        run("ip", "link", "set", "mncheck0", "up")
        for _ in range(3):
            run(TOOL, "up", rig, "--on", "mncheck0", "--name", NAME)
        try:
            return look(menura, rig, far, "mncheck1")
        finally:
            run(TOOL, "down", "--name", NAME)
    finally:
        run("ip", "link", "delete", "mncheck0", may_fail=True)
        run("ip", "netns", "delete", far)


def refusals(folder):
    """What does not fit is told, and nothing is made."""
    front = SENSORS[0]
    for link, reason in [
        (f'udp = {{ to = "{ROBOT_IP}:2368" }}', 'the factory\'s is "192.168.1.201:2368"'),
        ('udp = { to = "127.0.0.1:2368" }', "no sensor has an address of its own"),
        ('udp = { to = "192.168.1.255:2368", from = "224.0.0.1:2368" }', "cannot be a sensor's own address"),
        (front.link + f' }}\n[[device]]\nname = "second"\nlink = {{ {front.link}', "both have 192.168.1.201"),
    ]:
        rig = folder / "refused.toml"
        rig.write_text(RIG.format(devices=DEVICE.format(**{**vars(front), "link": link})))
        done = run(TOOL, "up", rig, "--name", NAME, may_fail=True)
        if done.returncode != 2 or reason not in done.stdout:
            yield f"{link}: {done.returncode}, {done.stdout.strip()}"
    done = run(TOOL, "up", rig, "--on", "no-such-nic", may_fail=True)
    if done.returncode != 2:
        yield f"--on no-such-nic: {done.returncode}, {done.stdout.strip()}"


@contextlib.contextmanager
def inside(namespace):
    """Sockets that are made within belong to the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as home, open(f"/run/netns/{namespace}") as other:
        if libc.setns(other.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        try:
            yield
        finally:
            libc.setns(home.fileno(), 0)


def look(menura, rig, namespace, interface):
    """What is wrong, seen from an interface of the robot's namespace; again if this machine lost frames."""
    return repeated(interface, lambda: look_once(menura, rig, namespace, interface))


def look_once(menura, rig, namespace, interface):
    with inside(namespace):
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        enlarge_buffer(wire, BUFFER_BYTES)
        wire.bind((interface, 0))
        pinger = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        client = socket.socket()
        own_mac = Path(f"/sys/class/net/{interface}/address")
    own_mac = run("ip", "netns", "exec", namespace, "cat", own_mac).stdout.strip()
    failures, dropped_before = [], dropped_in_kernel()
    with subprocess.Popen(["ip", "netns", "exec", f"{NAME}-sensors", menura, "run", rig, "--duration",
                           f"{SECONDS}s"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            failures += connect(client, running)
            for sensor in SENSORS:
                for address in sensor.address, f"{sensor.address.rpartition('.')[0]}.77":
                    wire.send(arp_request(own_mac, address))
                pinger.sendto(struct.pack(">BBHHH", 8, 0, 0xF7FF - SENSORS.index(sensor), 0, SENSORS.index(sensor)),
                              (sensor.address, 0))
            said, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    if running.returncode != 0:
        raise subprocess.SubprocessError(f"menura ended with {running.returncode}:\n{said}")
    # SOL_PACKET, PACKET_STATISTICS: frames that came, and of these dropped.
    _, dropped = struct.unpack("II", wire.getsockopt(263, 6, 8))
    losses = Losses(dropped, dropped_in_kernel() - dropped_before)
    frames = list(received(wire))
    wire.close()
    for sensor in SENSORS:
        failures += [f"{sensor.name}: {fault}" for fault in judge(sensor, frames, own_mac)]
    strangers = {frame.told for frame in frames if frame.is_arp_reply and frame.told.endswith(".77")}
    if strangers:
        failures.append(f"ARP is answered for addresses that nobody has: {strangers}")
    return Judged(failures, not failures, str(losses) if losses.all else None)


def connect(client, running):
    """The scanner answers a connection, as it does once Menura listens."""
    scanner = SENSORS[-1]
    deadline = time.monotonic() + 60
    client.settimeout(10)
    while time.monotonic() < deadline and running.poll() is None:
        if client.connect_ex((scanner.address, scanner.port)) == 0:
            client.send(b"\x02sRN DeviceIdent\x03")
            return [] if client.recv(100).startswith(b"\x02sRA DeviceIdent") else ["scanner: another answer"]
        time.sleep(0.05)
    return ["scanner: no connection"]


def arp_request(mac, address):
    mac = bytes.fromhex(mac.replace(":", ""))
    return (b"\xff" * 6 + mac + b"\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01" + mac
            + socket.inet_aton(ROBOT_IP) + bytes(6) + socket.inet_aton(address))


@dataclass
class Frame:
    to_mac: str
    from_mac: str
    # IPv4: addresses, ports (of ICMP: type), time to live, don't-fragment, payload after UDP's header.
    source: str = ""
    destination: str = ""
    protocol: int = 0
    ports: tuple = ()
    ttl: int = 0
    dont_fragment: bool = False
    payload_bytes: int = 0
    # ARP: whose address is told.
    is_arp_reply: bool = False
    told: str = ""


def received(wire):
    wire.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            data, about = wire.recvfrom(2000)
            if about[2] != socket.PACKET_OUTGOING:
                yield parse(data)


def parse(data):
    to_mac, from_mac = (data[at:at + 6].hex(":") for at in (0, 6))
    frame = Frame(to_mac, from_mac)
    kind, body = data[12:14], data[14:]
    if kind == b"\x08\x06":
        frame.is_arp_reply, frame.told = body[7] == 2, socket.inet_ntoa(body[14:18])
    elif kind == b"\x08\x00":
        frame.source, frame.destination = (socket.inet_ntoa(body[at:at + 4]) for at in (12, 16))
        frame.protocol, frame.ttl, frame.dont_fragment = body[9], body[8], bool(body[6] & 0x40)
        rest = body[(body[0] & 15) * 4:]
        frame.ports = struct.unpack(">HH", rest[:4]) if frame.protocol != socket.IPPROTO_ICMP else (rest[0],)
        frame.payload_bytes = struct.unpack(">H", rest[4:6])[0] - 8
    return frame


def judge(sensor, frames, own_mac):
    """What is wrong with what one sensor said."""
    mine = [frame for frame in frames if frame.source == sensor.address]
    if {frame.from_mac for frame in mine} != {sensor.mac}:
        yield f"its frames come from {sorted({frame.from_mac for frame in mine})}, not {sensor.mac}"
    others = {frame.source or frame.told for frame in frames if frame.from_mac == sensor.mac} - {sensor.address}
    if others:
        yield f"its MAC address speaks for {sorted(others)}, too"
    answers = [frame.from_mac for frame in frames if frame.is_arp_reply and frame.told == sensor.address]
    if not answers or set(answers) != {sensor.mac}:
        yield f"ARP is answered by {answers}"
    pongs = [frame for frame in mine if frame.protocol == socket.IPPROTO_ICMP and frame.ports == (0,)]
    if len(pongs) != 1:
        yield f"{len(pongs)} answers to a ping"
    sent = [frame for frame in mine if frame.protocol == socket.IPPROTO_UDP]
    datagrams = [frame for frame in sent if frame.payload_bytes != POSITION_BYTES]
    if abs(len(datagrams) - sensor.rate_hz * SECONDS) > sensor.rate_hz * SECONDS * 0.05:
        yield f"{len(datagrams)} datagrams in {SECONDS} s"
    if not datagrams:
        return
    to_ip, to_port = sensor.to
    to_mac = own_mac if to_ip == ROBOT_IP else BROADCAST_MAC
    seen = {(frame.to_mac, frame.destination, frame.ports, frame.payload_bytes, frame.ttl) for frame in sent}
    expected = {(to_mac, to_ip, (sensor.port, to_port), 1206, sensor.ttl)}
    if "vlp16" in sensor.profile:
        expected.add((to_mac, to_ip, (8308, 8308), POSITION_BYTES, 64))
    if seen != expected:
        yield f"it sends {seen}, not {expected}"


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("network_check: network namespaces need root", file=sys.stderr)
        sys.exit(2)
    sys.exit(main())
