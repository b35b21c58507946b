#!/usr/bin/env python3
"""Has Debian's linuxptp be the PTP master of an emulated Ouster and a Hesai, and read what they say of it.

The master is `ptp4l` with software stamps on one end of a veth pair, in a network namespace; the lidars have two
addresses on the other end, in another. Menura's clock is the master's, so that how far off the lidars' clocks are shows
in their packets: the stamp of each against its arrival. Twice the lidars must listen, lock, and be where their data sets
say that they are: `pmc` reads these from both, HTTP from the Ouster, PTC from the Hesai. In between the master is gone
for a while: they must say so and hold over, with an oscillator that is off by 10 parts per million. Then forged and
broken messages come by the thousand, and both must stay locked. Faults that begin meanwhile (`menura fault`) must show in
data sets and stamps. A recording repeats what they heard. Last, Menura is the master of its own lidars and of `ptp4l`.

Needs root, linuxptp, iproute2 and only the standard library. Exit code 0 when all is well, 1 when a check fails, 2 when
Menura or the master did not run or namespaces cannot be had here.
"""

import argparse
import contextlib
import datetime
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from network_check import inside, run

NAME = "menura-ptp"
MASTER, SENSORS = f"{NAME}-master", f"{NAME}-sensors"
MASTER_IP, OUSTER_IP, HESAI_IP, OWN_IP = "10.77.0.1", "10.77.0.2", "10.77.0.3", "10.77.0.4"
OUSTER_PORT, HESAI_PORT = 7502, 2368
RIG = f"""\
seed = 1
[world]
scene = "room"
[robot]
trajectory = {{ kind = "still" }}

[[device]]
name = "ouster"
profile = "ouster-os1-64-3.1"
mount = {{ translation_m = [0.0, 0.0, 2.0] }}
link = {{ udp = {{ to = "{MASTER_IP}:{OUSTER_PORT}", from = "{OUSTER_IP}:0", imu_port = 7503 }}, web = "{OUSTER_IP}:80" }}
settings = {{ lidar_mode = "512x10", timestamp_mode = "TIME_FROM_PTP_1588", clock = {{ ptp = "wire", \
drift_ppm = 10.0 }}, beam = {{ shape = "ray" }} }}

[[device]]
name = "hesai"
profile = "hesai-xt32"
mount = {{ translation_m = [0.0, 0.0, 3.0] }}
link = {{ udp = {{ to = "{MASTER_IP}:{HESAI_PORT}", from = "{HESAI_IP}:10000", gps_port = 10110 }}, \
ptc = "{HESAI_IP}:9347" }}
settings = {{ clock_source = "ptp", ptp = "wire", clock = {{ drift_ppm = -10.0 }}, beam = {{ shape = "ray" }} }}
"""
PTP4L = """\
[global]
time_stamping software
priority1 10
tx_timestamp_timeout 50
uds_address {uds}
"""
SLAVE4L = """\
[global]
time_stamping software
slaveOnly 1
free_running 1
tx_timestamp_timeout 50
uds_address {uds}
"""
# PTP's time scale minus UTC.
TAI_AHEAD_US = 37e6
# From the last firing of a packet to its arrival: the product's own delay, and that of this machine.
LATEST_US, EARLIEST_US = 3000, -100
# What software stamps of a busy machine may be off.
OFFSET_NS = 100_000
HOLDOVER_US = 300
LOCK_S, LOSS_S, HOLDOVER_S = 60, 15, 10
# Of a recording: until the lidars have locked for the first time.
REPEATED_S = 30
SO_TIMESTAMPNS = 35


class Failed(Exception):
    """What is not as it should be."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("ptp_check: network namespaces need root", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="menura-ptp-") as folder, network():
            check(arguments.menura, Path(folder))
            own_master(arguments.menura, Path(folder))
    except Failed as failure:
        print(f"  FAILED {failure}\nptp_check: 1 failed")
        return 1
    except (OSError, subprocess.SubprocessError) as error:
        print(f"ptp_check: {error}", file=sys.stderr)
        return 2
    print("ptp_check: all compared, none failed")
    return 0


@contextlib.contextmanager
def network():
    """Two namespaces and the wire between them."""
    for namespace in (MASTER, SENSORS):
        run("ip", "netns", "delete", namespace, may_fail=True)
        run("ip", "netns", "add", namespace)
    try:
        run("ip", "-n", MASTER, "link", "add", "m0", "type", "veth", "peer", "name", "s0", "netns", SENSORS)
        run("ip", "-n", MASTER, "address", "add", f"{MASTER_IP}/24", "dev", "m0")
        for address in (OUSTER_IP, HESAI_IP, OWN_IP):
            run("ip", "-n", SENSORS, "address", "add", f"{address}/24", "dev", "s0")
        for namespace, interface in ((MASTER, "m0"), (SENSORS, "s0")):
            for name in ("lo", interface):
                run("ip", "-n", namespace, "link", "set", name, "up")
            run("ip", "-n", namespace, "route", "add", "224.0.0.0/4", "dev", interface)
        yield
    finally:
        for namespace in (MASTER, SENSORS):
            run("ip", "netns", "delete", namespace, may_fail=True)


@contextlib.contextmanager
def program(namespace, *words, log):
    with open(log, "ab") as out, subprocess.Popen(["ip", "netns", "exec", namespace, *map(str, words)], stdout=out,
                                                  stderr=subprocess.STDOUT) as running:
        try:
            yield running
        finally:
            running.send_signal(signal.SIGINT)
            try:
                running.wait(timeout=20)
            except subprocess.TimeoutExpired:
                running.kill()


def check(menura, folder):
    rig, config, uds = folder / "rig.toml", folder / "ptp4l.conf", folder / "ptp4l"
    rig.write_text(RIG)
    config.write_text(PTP4L.format(uds=uds))
    master = lambda: program(MASTER, "ptp4l", "-i", "m0", "-m", "-f", config, log=folder / "ptp4l.log")
    with program(SENSORS, menura, "run", rig, "--host-log", folder / "hosts.jsonl", log=folder / "menura.log") as running:
        streams = Streams()
        try:
            waited(lambda: bool(streams.errors_us()), 30, "no packets", (folder / "menura.log").read_text)
        except Failed as failure:
            raise OSError(failure) from failure
        told("without a master", streams, "LISTENING", 0)
        for name, error_us in streams.errors_us().items():
            if abs(error_us) < 1e12:
                raise Failed(f"{name} has the time before it has a master: {error_us} us")
        with master():
            locks(streams, "locked")
            data_sets(uds)
        waited(lambda: states() == ("LISTENING", 3), LOSS_S, "the loss of the master is not told", states)
        time.sleep(HOLDOVER_S)
        told("holdover", streams, "LISTENING", 3)
        for name, error_us in streams.errors_us().items():
            if not EARLIEST_US - HOLDOVER_US < error_us < LATEST_US + HOLDOVER_US:
                raise Failed(f"{name} drifts away in holdover: {error_us:.1f} us")
        with master():
            locks(streams, "locked again")
            forge()
            locks(streams, "after forged messages")
            faults(menura, running.pid, uds, streams)
        if running.poll() is not None:
            raise Failed(f"menura has ended:\n{(folder / 'menura.log').read_text()}")
    repeat(menura, rig, folder)


def repeat(menura, rig, folder):
    """A recording of what the lidars heard locks as they did. There nothing is late: what packets' stamps are off of the
    time at which they are due is the clocks' true error, which nobody else knows."""
    out = folder / "again"
    run(menura, "record", rig, "--duration", f"{REPEATED_S}s", "--host-log", folder / "hosts.jsonl", "--out", out)
    for name, length, stamp_ns in (("ouster", 12544, ouster_stamp_ns), ("hesai", 1080, hesai_stamp_ns)):
        errors_us = []
        data, at = (out / f"{name}.pcap").read_bytes(), 24
        while at < len(data):
            seconds, nanos, size = struct.unpack_from("<III", data, at)
            # After the headers of Ethernet, IPv4 and UDP.
            payload = data[at + 16 + 42:at + 16 + size]
            if len(payload) == length:
                errors_us.append((seconds * 10**9 + nanos - stamp_ns(payload)) / 1000)
            at += 16 + size
        # The product's own delay is the same for all packets.
        last = errors_us[-len(errors_us) // 20:]
        spread_us = max(last) - min(last)
        print(f"repeated: packets of {name} leave {min(last):.1f} to {max(last):.1f} us after their stamp")
        if errors_us[0] < 1e12 or not 0 < min(last) < LATEST_US or spread_us > OFFSET_NS / 1000:
            raise Failed(f"repeated: {name} is {errors_us[0]} us off at first, {min(last)} to {max(last)} at last")


def own_master(menura, folder):
    """Menura is the master, with the run's time, which is this machine's: of its lidars, which stamp TAI and UTC, and of
    `ptp4l`, which tells its offset and steers nothing."""
    rig, config, uds = folder / "master.toml", folder / "slave.conf", folder / "slave"
    rig.write_text(f'{RIG}\n[engine.ptp]\nmaster = "{OWN_IP}"\npriority_1 = 50\n')
    config.write_text(SLAVE4L.format(uds=uds))
    log = folder / "slave.log"
    with (program(SENSORS, menura, "run", rig, log=folder / "menura-master.log"),
          program(MASTER, "ptp4l", "-i", "m0", "-m", "-f", config, log=log)):
        streams = Streams()
        waited(lambda: bool(streams.errors_us()), 30, "no packets", (folder / "menura-master.log").read_text)
        waited(lambda: states()[0] == "SLAVE" and states()[1] in (1, 2), LOCK_S, "no lock on Menura", states)
        time.sleep(15)
        offsets = [int(ns) for ns in re.findall(r"master offset\s+(-?\d+) s0", log.read_text())][-10:]
        errors, (ouster, hesai) = streams.errors_us(), offsets_ns()
        said = run("ip", "netns", "exec", MASTER, "pmc", "-u", "-s", uds, "-b", "1", "GET PORT_DATA_SET",
                   "GET DEFAULT_DATA_SET").stdout
        probed = json.loads(run("ip", "netns", "exec", MASTER, menura, "probe", "--ptp", MASTER_IP, "--duration", "10s",
                                "--json").stdout)
    print(f"Menura is the master: ptp4l is {offsets} ns off, the lidars {ouster:.0f} and {hesai} ns; arrival after stamp "
          f"{errors['ouster'] + TAI_AHEAD_US:.1f} us + 37 s, {errors['hesai']:.1f} us")
    if len(offsets) < 5 or max(map(abs, offsets)) > OFFSET_NS:
        raise Failed(f"ptp4l as slave: {offsets}\n{log.read_text()}")
    for name, error_us in (("ouster", errors["ouster"] + TAI_AHEAD_US), ("hesai", errors["hesai"])):
        if not EARLIEST_US < error_us < LATEST_US:
            raise Failed(f"slaves of Menura: packets of {name} arrive {error_us:.1f} us after their stamp")
    if not re.search(r"portState\s+MASTER", said) or not re.search(r"priority1\s+50", said):
        raise Failed(f"pmc: {said}")
    [found] = probed["masters"]
    print(f"menura probe --ptp: offset {found['offset_ns']}, path delay {found['path_delay_ns']}")
    if abs(found["offset_ns"]["median"]) > OFFSET_NS or not 0 < found["path_delay_ns"]["median"] < OFFSET_NS:
        raise Failed(f"menura probe --ptp: {found}")
    found = sorted((clock["state"], clock["grandmaster"] == found["grandmaster"]) for clock in probed["clocks"])
    # ptp4l on the probe's own host does not loop its messages back.
    if found != [("MASTER", True), ("SLAVE", True), ("SLAVE", True)]:
        raise Failed(f"menura probe --ptp: {probed['clocks']}")


def waited(happens, seconds, complaint, now=lambda: ""):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happens():
            return
        time.sleep(0.5)
    raise Failed(f"{complaint}; {now()}")


def locks(streams, what):
    """Both lock and stay; their packets have the master's time, which is this machine's."""
    begun = time.monotonic()
    waited(lambda: states()[0] == "SLAVE" and states()[1] in (1, 2), LOCK_S, f"{what}: no lock", states)
    taken = time.monotonic() - begun
    # The servo needs some synchronisations more.
    time.sleep(8)
    waited(lambda: states()[0] == "SLAVE" and states()[1] in (1, 2) and max(map(abs, offsets_ns())) <= OFFSET_NS, LOCK_S,
           f"{what}: not for long", lambda: (states(), offsets_ns()))
    ouster, hesai = offsets_ns()
    errors = streams.errors_us()
    print(f"{what} after {taken:.0f} s: offsets {ouster:.0f} and {hesai} ns, arrival after stamp "
          + ", ".join(f"{name} {error:.1f} us" for name, error in errors.items()))
    for name, error_us in errors.items():
        if not EARLIEST_US < error_us < LATEST_US:
            raise Failed(f"{what}: packets of {name} arrive {error_us:.1f} us after their stamp")


def faults(menura, pid, uds, streams):
    """Faults of PTP with the same master: what data sets and stamps show of them."""
    started = []

    def start(device, kind, *keys):
        answer = run(menura, "fault", pid, "start", device, kind, *keys).stdout
        started.append(re.search(r"(live-\d+): ", answer)[1])

    def end():
        while started:
            run(menura, "fault", pid, "end", started.pop())

    start("ouster", "ptp-asymmetry", "asymmetry_us=4000")
    start("hesai", "ptp-lost")
    waited(lambda: states() == ("SLAVE", 3), LOSS_S, "a lost master is not told", states)
    time.sleep(20)
    errors, (offset, _) = streams.errors_us(), offsets_of_ouster()
    print(f"ptp-asymmetry: stamps are {errors['ouster']:.0f} us behind, the Ouster says {offset:.0f} ns; "
          f"ptp-lost: {states()[1]}")
    if not 2000 + EARLIEST_US < errors["ouster"] < 2000 + LATEST_US or abs(offset) > OFFSET_NS:
        raise Failed(f"ptp-asymmetry: stamps {errors['ouster']} us, offset {offset} ns")
    end()
    start("ouster", "ptp-step", "step_s=3600")
    start("hesai", "ptp-announce-storm")
    waited(lambda: offsets_of_ouster()[0] < -3.5e12, LOSS_S, "a step is not told", offsets_of_ouster)
    waited(lambda: states()[1] != 2, LOSS_S, "a storm is not told", states)
    print(f"ptp-step: the Ouster says {offsets_of_ouster()[0] / 1e9:.3f} s; ptp-announce-storm: {states()[1]}")
    end()
    start("ouster", "ptp-utc-offset", "utc_offset_s=36", "offset_valid=true")
    start("hesai", "ptp-better-master")
    said = lambda name: run("ip", "netns", "exec", MASTER, "pmc", "-u", "-s", uds, "-b", "1", f"GET {name}").stdout
    waited(lambda: re.search(r"currentUtcOffset\s+36", said("TIME_PROPERTIES_DATA_SET")), LOSS_S, "no wrong UTC offset")
    # The last master of the storm has to be forgotten before.
    waited(lambda: re.search(r"grandmasterIdentity\s+00005e.fffe.005302", said("PARENT_DATA_SET")), 2 * LOSS_S,
           "no better master", lambda: said("PARENT_DATA_SET"))
    print("ptp-utc-offset, ptp-better-master: told to pmc")
    end()
    # The step of an hour has led the Ouster's rate astray.
    locks(streams, "after faults")


def offsets_of_ouster():
    current = http("time/ptp")["current_data_set"]
    return current["offset_from_master"], current["mean_path_delay"]


def told(what, streams, ouster, hesai):
    if states() != (ouster, hesai):
        raise Failed(f"{what}: {states()}, not {(ouster, hesai)}")
    print(f"{what}: {ouster}, {hesai}; arrival after stamp "
          + ", ".join(f"{name} {error:.1f} us" for name, error in streams.errors_us().items()))


class Streams:
    """The last second's packets of both lidars."""

    def __init__(self):
        with inside(MASTER):
            self.sockets = {}
            for name, port in (("ouster", OUSTER_PORT), ("hesai", HESAI_PORT)):
                heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                heard.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                heard.bind((MASTER_IP, port))
                heard.setblocking(False)
                self.sockets[name] = heard

    def errors_us(self):
        """By how much packets arrive after their stamps, the least of some: {} until both send."""
        stamp = {"ouster": ouster_stamp_ns, "hesai": hesai_stamp_ns}
        least = {}
        for name, heard in self.sockets.items():
            with contextlib.suppress(BlockingIOError):
                while True:
                    heard.recvmsg(20_000, 256)
        time.sleep(1.0)
        for name, heard in self.sockets.items():
            found = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    data, extras, _, _ = heard.recvmsg(20_000, 256)
                    seconds, nanos = struct.unpack("qq", extras[0][2][:16])
                    found.append(seconds * 10**9 + nanos - stamp[name](data))
            if found:
                least[name] = min(found) / 1000
        return least if len(least) == 2 else {}


def ouster_stamp_ns(data):
    # 16 columns of 64 pixels after a header of 32 bytes.
    return struct.unpack_from("<Q", data, 32 + 15 * 780)[0]


def hesai_stamp_ns(data):
    year, month, day, hour, minute, second = data[1065:1071]
    date = datetime.datetime(1900 + year, month, day, hour, minute, second, tzinfo=datetime.timezone.utc)
    return int(date.timestamp()) * 10**9 + struct.unpack_from("<I", data, 1071)[0] * 1000


def http(path):
    with inside(MASTER):
        connection = socket.create_connection((OUSTER_IP, 80), timeout=5)
    with connection:
        connection.sendall(f"GET /api/v1/{path} HTTP/1.1\r\nHost: {OUSTER_IP}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.splitlines()[0]:
        raise Failed(f"GET {path}: {head.decode()}")
    return json.loads(body)


def ptc(command, payload=b""):
    with inside(MASTER):
        connection = socket.create_connection((HESAI_IP, 9347), timeout=5)
    with connection:
        connection.sendall(struct.pack(">HBBI", 0x4774, command, 0, len(payload)) + payload)
        answer = b""
        while len(answer) < 8 or len(answer) < 8 + struct.unpack_from(">I", answer, 4)[0]:
            more = connection.recv(4096)
            if not more:
                raise Failed(f"PTC {command:#x}: the connection ends")
            answer += more
    if answer[3] != 0:
        raise Failed(f"PTC {command:#x}: code {answer[3]}")
    return answer[8:]


def states():
    """The Ouster's port state, and the Hesai's state of PTP: 0 free, 1 tracking, 2 locked, 3 frozen."""
    return http("time/ptp")["port_data_set"]["port_state"], ptc(0x09)[48]


def offsets_ns():
    ouster = http("time/ptp")["current_data_set"]["offset_from_master"]
    offset, state, elapsed_ms = struct.unpack(">qii", ptc(0x06, b"\x01"))
    if state not in (1, 2) or not 0 <= elapsed_ms < 3000:
        raise Failed(f"PTC status: state {state}, {elapsed_ms} ms")
    return ouster, offset


def data_sets(uds):
    """What `pmc` is told by both lidars, by way of the master."""
    wanted = ["DEFAULT_DATA_SET", "CURRENT_DATA_SET", "PARENT_DATA_SET", "TIME_PROPERTIES_DATA_SET", "PORT_DATA_SET",
              "TIME_STATUS_NP"]
    said = run("ip", "netns", "exec", MASTER, "pmc", "-u", "-s", uds, "-b", "1",
               *[f"GET {name}" for name in wanted]).stdout
    answers = {}
    for source, name, body in re.findall(
            r"(\w{6}\.\w{4}\.\w{6})-\d+ seq \d+ RESPONSE MANAGEMENT (\w+)\s*\n((?:\t\t.*\n?)*)", said):
        answers.setdefault(name, {})[source] = dict(line.split(None, 1) for line in body.strip().splitlines())
    master = http("time/ptp")["parent_data_set"]["grandmaster_identity"]
    for name in wanted:
        slaves = {source: fields for source, fields in answers.get(name, {}).items() if source != master}
        if len(slaves) != 2:
            raise Failed(f"pmc: {name} of {sorted(slaves)}, not of two slaves:\n{said}")
        for source, fields in slaves.items():
            compared = {"PORT_DATA_SET": ("portState", "SLAVE"), "PARENT_DATA_SET": ("grandmasterIdentity", master),
                        "CURRENT_DATA_SET": ("stepsRemoved", "1"), "DEFAULT_DATA_SET": ("slaveOnly", "1"),
                        "TIME_PROPERTIES_DATA_SET": ("currentUtcOffset", "37"),
                        "TIME_STATUS_NP": ("gmPresent", "true")}[name]
            if fields.get(compared[0]) != compared[1]:
                raise Failed(f"pmc: {name} of {source}: {fields}")
            if name == "CURRENT_DATA_SET":
                print(f"pmc: {source} is {float(fields['offsetFromMaster']):.0f} ns off, path delay "
                      f"{float(fields['meanPathDelay']):.0f} ns")
                if abs(float(fields["offsetFromMaster"])) > OFFSET_NS or not (
                        0 < float(fields["meanPathDelay"]) < OFFSET_NS):
                    raise Failed(f"pmc: {source}: {fields}")


def forge():
    """Any bytes, and announcements of masters that nobody needs, by the thousand."""
    draw = random.Random(1)
    with inside(MASTER):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(MASTER_IP))
        # Not to the master.
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    with sender:
        for number in range(20_000):
            kind = draw.choice([0, 1, 2, 3, 8, 9, 10, 11, 12, 13])
            body = draw.randbytes(draw.randrange(60))
            source = struct.pack(">QH", draw.getrandbits(64), 1)
            if kind == 11:
                # A worse master than any.
                body = bytes(10) + b"\0\0\0\xff\xff\xfe\xff\xff\xff" + source[:8] + b"\0\0\xa0"
            message = bytes([kind, 2]) + struct.pack(">H", 34 + len(body)) + bytes(16) + source + struct.pack(
                ">HBb", number & 0xffff, 5, 0) + body
            if number % 10 == 0:
                message = draw.randbytes(draw.randrange(200))
            with contextlib.suppress(BlockingIOError):
                sender.sendto(message, ("224.0.1.129", draw.choice([319, 320])))
            if number % 200 == 0:
                time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
