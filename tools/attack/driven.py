"""Two driven robots with two lidars each, one of which is attacked: what both send, count and miss."""

import json
import os
import random
import selectors
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import conversations as say
from bench import free_port
from witness import BUFFER_BYTES, SO_RCVBUFFORCE, SO_RXQ_OVFL

RIG = """\
seed = 7
[world]
scene = "room"
[[world.object]]
name = "cart"
body = "box"
size_m = [1.0, 1.0, 1.0]
trajectory = {{ kind = "feed", listen = "127.0.0.1:{feed}", position_m = [2000.0, 0.0, 0.0], hold_after_ms = 60000 }}
[robot.trajectory]
kind = "drive"
model = "skid-steer"
y_icr_m = 0.45
max_speed_m_s = 0.68
twist = "127.0.0.1:{twist}"
[[device]]
name = "vlp"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 0.7] }}
link = {{ udp = {{ to = "127.0.0.1:{vlp}", position_port = {position} }} }}
[[device]]
name = "xt"
profile = "hesai-xt16"
mount = {{ translation_m = [0.0, 0.0, 0.9] }}
link = {{ udp = {{ to = "127.0.0.1:{xt}" }} }}
"""
LIDARS = ["vlp", "xt"]
TICK_S = 0.02
# Numbers below this are near those of the first poses: none of them is a stray one.
FIRST_STRAY = 120
# The host says nothing at the end of a run, so that all that it said has been heard.
SILENCE_S = 1.0
PATIENCE_S = 60


def come_first():
    """The calling thread goes before ordinary ones, if the system allows it, and not what it starts: a receiver that
    is kept from its core loses what it was sent."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        pass


def large_socket(port):
    """For datagrams to `port`; it tells how many it had no room for."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except PermissionError:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
    receiver.bind(("127.0.0.1", port))
    return receiver


class Sink:
    """Counts the datagrams of a port, and those that its socket had no room for."""

    def __init__(self):
        self.socket = large_socket(0)
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.count = self.lost = 0

    def read(self):
        try:
            while True:
                _, ancillary, _, _ = self.socket.recvmsg(2048, 64)
                self.count += 1
                for _, kind, data in ancillary:
                    if kind == SO_RXQ_OVFL:
                        self.lost = struct.unpack("I", data[:4])[0]
        except BlockingIOError:
            pass


class Driven:
    """A run of the rig, its host, and whoever attacks it."""

    def __init__(self, menura, folder, seconds, dice=None):
        self.seconds, self.dice = seconds, dice
        self.sinks = {name: Sink() for name in [*LIDARS, "position"]}
        ports = {name: sink.port for name, sink in self.sinks.items()}
        ports |= {name: free_port("127.0.0.1", socket.SOCK_DGRAM) for name in ("feed", "twist")}
        self.to_feed, self.to_twist = (("127.0.0.1", ports[name]) for name in ("feed", "twist"))
        # As the report counts a feed's datagrams.
        self.fed = dict.fromkeys(("poses", "refused", "strangers", "outdated", "strays", "missing", "holds",
                                  "clock_jumps"), 0)
        self.hostile_orders = 0
        folder = Path(folder)
        folder.mkdir()
        rig, self.report, log = folder / "rig.toml", folder / "report.json", folder / "log.txt"
        rig.write_text(RIG.format(**ports))
        command = [menura, "run", rig, "--duration", f"{seconds}s", "--report", self.report]
        self.log = log
        self.over = threading.Event()
        with open(log, "wb") as out:
            self.process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out)
        self.threads = [threading.Thread(target=work) for work in (self.listen, self.host)]
        for thread in self.threads:
            thread.start()

    def listen(self):
        come_first()
        selector = selectors.DefaultSelector()
        for sink in self.sinks.values():
            selector.register(sink.socket, selectors.EVENT_READ, sink)
        while True:
            # Not a wake-up for each datagram: the machine is the robots'.
            time.sleep(0.01)
            ready = selector.select(0.1)
            for key, _ in ready:
                key.data.read()
            if not ready and self.over.is_set():
                return

    def host(self):
        """Drives and feeds fifty times a second from the first packet on."""
        come_first()
        until = time.monotonic() + PATIENCE_S
        while not self.sinks["xt"].count:
            if self.process.poll() is not None or time.monotonic() > until:
                return
            time.sleep(0.005)
        next_s = time.monotonic()
        end_s = next_s + self.seconds - SILENCE_S
        with (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
              socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as strange):
            while next_s < end_s:
                turn = 0.6 if int(2 * next_s) % 2 else -0.3
                own.sendto(struct.pack("<4sIIdd", b"MNDR", 1, 0, 0.3, turn), self.to_twist)
                self.fed["poses"] += 1
                own.sendto(pose(self.fed["poses"]), self.to_feed)
                if self.dice and self.fed["poses"] > FIRST_STRAY:
                    self.attack(own, strange)
                next_s += TICK_S
                time.sleep(max(0.0, next_s - time.monotonic()))

    def attack(self, own, strange):
        """One datagram to the feed that is no next pose, and ten orders that are none, or perhaps."""
        dice, number = self.dice, self.fed["poses"]
        kind = dice.choice(("refused", "strangers", "outdated", "strays"))
        match kind:
            case "refused":
                sizes = [0, 1, 127, 129, 1500, 9000, 65507]
                own.sendto(dice.choice([dice.randbytes(dice.choice(sizes)), b"MNFE" + pose(number + 1)[4:]]), self.to_feed)
            case "strangers":
                strange.sendto(pose(number + 1), self.to_feed)
            case "outdated":
                own.sendto(pose(number - dice.randrange(50)), self.to_feed)
            case "strays":
                own.sendto(pose(dice.choice([0, 2**63, 2**64 - 1, number + 10**6])), self.to_feed)
        self.fed[kind] += 1
        order = struct.pack("<4sIIdd", b"MNDR", 1, dice.randrange(5), dice.choice([0.0, 1e308, float("nan")]), 0.1)
        for _ in range(10):
            data = dice.choice([dice.randbytes(dice.choice([0, 1, 27, 28, 29, 1500])), say.mutated(dice, [order])])
            strange.sendto(data[:1500], self.to_twist)
            self.hostile_orders += 1

    def end(self):
        """Waits for the run's end; its report, or None."""
        try:
            self.process.wait(self.seconds + PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.over.set()
        for thread in self.threads:
            thread.join()
        for sink in self.sinks.values():
            sink.socket.close()
        if self.process.returncode != 0 or b"panicked" in self.log.read_bytes():
            return None
        return json.loads(self.report.read_text())

    def judge(self, report, name):
        """What was found, and whether it holds."""
        if report is None:
            yield False, f"{name}: exit code {self.process.returncode}: {self.log.read_text(errors='replace')[-500:]}"
            return
        for device in report["devices"]:
            lidar, sink = device["name"], self.sinks[device["name"]]
            packets, wanted = device["packets"], device["nominal_rate_hz"] * self.seconds
            lost = device["dropped"] + device["send_errors"]
            # One more of each port, because the rates are no whole numbers. Two timers request a VLP-16's position packets; if
            # they coincide, which is random, one packet is sent.
            others = sum(port["packets"] for port in device["ports"][1:])
            is_exact = abs(packets - wanted) <= 1 + len(device["ports"]) + 0.005 * others
            yield is_exact and lost == 0, f"{name}: {lidar}: {packets} packets of {wanted:.0f}, {lost} lost"
            sent = device["ports"][0]["packets"]
            yield sink.count + sink.lost == sent, (
                f"{name}: {lidar}: {sink.count} of {sent} datagrams arrived, and the receiver lost {sink.lost}")
            yield "order_to_wire_us" in device, f"{name}: {lidar}: packets show the host's orders"
        found = {key: report["feeds"][0][key] for key in self.fed}
        yield found == self.fed, f"{name}: feed: {words(found)}" + ("" if found == self.fed else f"; sent: {words(self.fed)}")


def pose(number):
    data = bytearray(say.pose(number))
    struct.pack_into("<Q", data, 16, time.monotonic_ns())
    return bytes(data)


def words(counts):
    return ", ".join(f"{count} {key}" for key, count in counts.items())


def misses(report):
    """Of both lidars, in words."""
    packets, missed, not_ready = (
        sum(device[key] for device in report["devices"]) for key in ("packets", "misses", "not_ready"))
    return f"{1e5 * missed / max(1, packets):.1f} misses per 100,000 packets ({missed} of {packets}, {not_ready} not ready)"


def pair(menura, folder, seconds, seed):
    """Two such rigs beside one another, one of which is attacked: what was found, and whether it holds."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    rigs = {"attacked robot": random.Random(seed), "robot beside it": None}
    # The ports of the second are free when the first has taken its own.
    runs = {}
    for name, dice in rigs.items():
        runs[name] = Driven(menura, folder / name.replace(" ", "-"), seconds, dice)
        wait_for_start(runs[name])
    reports = {name: run.end() for name, run in runs.items()}
    for name, run in runs.items():
        yield from run.judge(reports[name], name)
    told = [f"{name}: {misses(report)}" for name, report in reports.items() if report]
    orders = runs["attacked robot"].hostile_orders
    yield True, "; ".join(told) + f"; {orders} hostile orders, load {os.getloadavg()[0]:.1f}"


def wait_for_start(run):
    until = time.monotonic() + PATIENCE_S
    while not run.sinks["xt"].count and run.process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
