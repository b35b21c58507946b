#!/usr/bin/env python3
"""Tests an emulated Ouster and a Hesai as PTP slaves, and Menura as PTP master, against Debian's linuxptp.

The master is `ptp4l` with software stamps on one end of a veth pair, in a network namespace; the lidars have
addresses on the other end, in another. Menura's clock is the master's, so that how far off the lidars' clocks are shows
in their packets: the stamp of each against its arrival. Cases, which run side by side:

- follow: twice the lidars must listen, lock, and be where their data sets say that they are: `pmc` reads these from both,
  HTTP from the Ouster, PTC from the Hesai. In between the master is gone for a while: they must say so and hold over, with
  an oscillator that is off by 10 parts per million. Then forged and broken messages come by the thousand, and both must
  stay locked. Faults that begin meanwhile (`menura fault`) must show in data sets and stamps. A recording repeats what
  they heard.
- lead: Menura is the master of its own lidars and of `ptp4l`; `menura probe --ptp` measures it.
- gptp: each lidar is alone with a master on a veth pair. Its own commands change its profile: IEEE 802.1AS, the automotive
  profile, IEEE 1588 by Ethernet. Then Menura is a master by IEEE 802.1AS.
- unicast: the Ouster asks a master for unicast messages, the Hesai measures peer to peer by UDP. Then `ptp4l` asks Menura.
- move: a FORCEIP moves a camera, which is a PTP slave, to another address. It must lock again, and its delay requests must
  come from the new address.

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
from side_by_side import side_by_side

MASTER_IP, OUSTER_IP, HESAI_IP, OWN_IP = "10.77.0.1", "10.77.0.2", "10.77.0.3", "10.77.0.4"
# Of a second pair of interfaces.
MASTER_2_IP, HESAI_2_IP = "10.78.0.1", "10.78.0.3"
OUSTER_PORT, HESAI_PORT = 7502, 2368
# What the configurations of `ptp4l` have in common.
PTP4L = """\
[global]
time_stamping software
tx_timestamp_timeout 50
uds_address {uds}
"""
# Often, so that nothing takes long.
MASTER4L = PTP4L + """\
priority1 10
logAnnounceInterval -1
logSyncInterval -2
logMinDelayReqInterval -2
"""
# With limits of the path delay as software stamps need.
GPTP4L = PTP4L + """\
network_transport L2
delay_mechanism P2P
transportSpecific 0x1
ptp_dst_mac 01:80:C2:00:00:0E
logAnnounceInterval 0
logSyncInterval -3
syncReceiptTimeout 3
neighborPropDelayThresh 20000000
min_neighbor_prop_delay -20000000
assume_two_step 1
path_trace_enabled 1
follow_up_info 1
"""
AUTOMOTIVE4L = GPTP4L + """\
BMCA noop
masterOnly 1
inhibit_announce 1
asCapable true
"""
SLAVE4L = """\
slaveOnly 1
free_running 1
summary_interval -4
"""
# PTP's time scale minus UTC.
TAI_AHEAD_US = 37e6
# From the last firing of a packet to its arrival: the product's own delay, and that of this machine.
LATEST_US, EARLIEST_US = 3000, -100
# What software stamps of a busy machine may be off.
OFFSET_NS = 100_000
HOLDOVER_US = 300
LOCK_S, LOSS_S, HOLDOVER_S = 120, 45, 8
# Of a recording: until the lidars have locked for the first time.
REPEATED_S = 20
SO_TIMESTAMPNS = 35
CAMERA_IP = OUSTER_IP
# PTP's state of a port that is synchronised.
SLAVE = 9
CAMERA_RIG = f"""\
seed = 1
[world]
scene = "room"
[robot]
trajectory = {{ kind = "still" }}

[[device]]
name = "camera"
profile = "menura-gv121m"
link = {{ udp = {{ to = "{MASTER_IP}:20203", from = "{CAMERA_IP}:20202" }}, gvcp = "{CAMERA_IP}:3956" }}
settings = {{ ptp = "wire", image_width = 64, image_height = 64 }}
"""
# Set by the case: namespaces, and where the Hesai is.
MASTER = SENSORS = HESAI = ""
CASES = {}


class Failed(Exception):
    """What is not as it should be."""


def rig(ouster="", hesai="", apart=False, more=""):
    """A rig with the two lidars, on one network or each on its own. They look at a sixth of a turn, because several rigs run at
    a time."""
    hesai_ip, to = (HESAI_2_IP, MASTER_2_IP) if apart else (HESAI_IP, MASTER_IP)
    return f"""\
seed = 1
[world]
scene = "room"
[robot]
trajectory = {{ kind = "still" }}

[[device]]
name = "ouster"
profile = "ouster-os1-64-3.1"
mount = {{ translation_m = [0.0, 0.0, 2.0] }}
link = {{ udp = {{ to = "{MASTER_IP}:{OUSTER_PORT}", from = "{OUSTER_IP}:0", imu_port = 7503 }}, \
web = "{OUSTER_IP}:80" }}
settings = {{ lidar_mode = "512x10", timestamp_mode = "TIME_FROM_PTP_1588", sector_deg = [0.0, 60.0], beam = {{ shape = "ray" }}, \
clock = {{ ptp = "wire", drift_ppm = 10.0 {ouster} }} }}

[[device]]
name = "hesai"
profile = "hesai-xt32"
mount = {{ translation_m = [0.0, 0.0, 3.0] }}
link = {{ udp = {{ to = "{to}:{HESAI_PORT}", from = "{hesai_ip}:10000", gps_port = 10110 }}, ptc = "{hesai_ip}:9347" }}
settings = {{ clock_source = "ptp", ptp = "wire", clock = {{ drift_ppm = -10.0 }}, sector_deg = [0.0, 60.0], \
beam = {{ shape = "ray" }} {hesai} }}
{more}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--only", choices=CASES, help="one case")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("ptp_check: network namespaces need root", file=sys.stderr)
        return 2
    if arguments.only is None:
        return side_by_side(list(CASES), len(CASES), main)
    global MASTER, SENSORS
    MASTER, SENSORS = (f"menura-ptp-{arguments.only}-{part}" for part in ("master", "sensors"))
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="menura-ptp-") as folder, network():
            CASES[arguments.only](arguments.menura, Path(folder))
    except Failed as failure:
        print(f"  FAILED {arguments.only}: {failure}")
        return 1
    except (OSError, subprocess.SubprocessError) as error:
        print(f"ptp_check: {arguments.only}: {error}", file=sys.stderr)
        return 2
    print(f"{arguments.only}: all compared, none failed, {time.monotonic() - begun:.0f} s")
    return 0


@contextlib.contextmanager
def network():
    """Two namespaces and two wires between them."""
    for namespace in (MASTER, SENSORS):
        run("ip", "netns", "delete", namespace, may_fail=True)
        run("ip", "netns", "add", namespace)
    try:
        for pair, master, sensors in ((0, MASTER_IP, (OUSTER_IP, HESAI_IP, OWN_IP)), (1, MASTER_2_IP, (HESAI_2_IP,))):
            run("ip", "-n", MASTER, "link", "add", f"m{pair}", "type", "veth", "peer", "name", f"s{pair}", "netns",
                SENSORS)
            run("ip", "-n", MASTER, "address", "add", f"{master}/24", "dev", f"m{pair}")
            for address in sensors:
                run("ip", "-n", SENSORS, "address", "add", f"{address}/24", "dev", f"s{pair}")
        for namespace, end in ((MASTER, "m"), (SENSORS, "s")):
            for name in ("lo", f"{end}0", f"{end}1"):
                run("ip", "-n", namespace, "link", "set", name, "up")
            run("ip", "-n", namespace, "route", "add", "224.0.0.0/4", "dev", f"{end}0")
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


def ptp4l(folder, name, config, interface="m0", options=()):
    """A `ptp4l` in the master's namespace, with its log and its socket in the folder."""
    path = folder / f"{name}.conf"
    path.write_text(config.format(uds=folder / name))
    return program(MASTER, "ptp4l", "-i", interface, "-m", "-f", path, *options, log=folder / f"{name}.log")


@contextlib.contextmanager
def running(menura, folder, text, *options, apart=False):
    """Menura with a rig; its process and the lidars' streams."""
    global HESAI
    HESAI = HESAI_2_IP if apart else HESAI_IP
    path, log = folder / "rig.toml", folder / "menura.log"
    path.write_text(text)
    with program(SENSORS, menura, "run", path, *options, log=log) as process, Streams(HESAI) as streams:
        try:
            waited(lambda: bool(streams.errors_us()), 30, "no packets", log.read_text)
        except Failed as failure:
            raise OSError(failure) from failure
        try:
            yield process, streams
        except Failed:
            print(log.read_text()[-2000:], end="")
            raise
        if process.poll() is not None:
            raise Failed(f"menura has ended:\n{log.read_text()}")


def follow(menura, folder):
    uds = folder / "ptp4l"
    master = lambda: ptp4l(folder, "ptp4l", MASTER4L)
    with running(menura, folder, rig(), "--host-log", folder / "hosts.jsonl") as (process, streams):
        told("without a master", streams, "LISTENING", 0)
        for name, error_us in streams.errors_us().items():
            if abs(error_us) < 1e12:
                raise Failed(f"{name} has the time before it has a master: {error_us} us")
        with master():
            locks(streams, "locked")
            data_sets(uds)
        waited(lambda: states() == ("LISTENING", 3), LOSS_S, "the loss of the master is not reported", states)
        time.sleep(HOLDOVER_S)
        told("holdover", streams, "LISTENING", 3)
        for name, error_us in soon_within(streams, EARLIEST_US - HOLDOVER_US, LATEST_US + HOLDOVER_US).items():
            if not EARLIEST_US - HOLDOVER_US < error_us < LATEST_US + HOLDOVER_US:
                raise Failed(f"{name} drifts away in holdover: {error_us:.1f} us")
        with master():
            locks(streams, "locked again")
            forge()
            locks(streams, "after forged messages")
            faults(menura, process.pid, uds, streams)
    repeat(menura, folder / "rig.toml", folder)


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


def lead(menura, folder):
    """Menura is the master, with the run's time, which is this machine's: of its lidars, which stamp TAI and UTC, and of
    `ptp4l`, which tells its offset and steers nothing."""
    text = rig(more=f'[engine.ptp]\nmaster = "{OWN_IP}"\npriority_1 = 50')
    uds = folder / "slave"
    with ptp4l(folder, "slave", PTP4L + SLAVE4L), running(menura, folder, text) as (_, streams):
        waited(lambda: states()[0] == "SLAVE" and states()[1] in (1, 2), LOCK_S, "no lock on Menura", states)
        offsets = offsets_of_slave(folder / "slave.log")
        errors, (ouster, hesai) = streams.errors_us(), offsets_ns()
        said = run("ip", "netns", "exec", MASTER, "pmc", "-u", "-s", uds, "-b", "1", "GET PORT_DATA_SET",
                   "GET DEFAULT_DATA_SET").stdout
        probed = json.loads(run("ip", "netns", "exec", MASTER, menura, "probe", "--ptp", MASTER_IP, "--duration", "10s",
                                "--json").stdout)
    print(f"Menura is the master: ptp4l is {offsets} ns off, the lidars {ouster:.0f} and {hesai} ns; arrival after stamp "
          f"{errors['ouster'] + TAI_AHEAD_US:.1f} us + 37 s, {errors['hesai']:.1f} us")
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


def offsets_of_slave(log):
    """What a `ptp4l` says, when it has been a slave for some synchronisations."""
    found = lambda: [int(ns) for ns in re.findall(r"master offset\s+(-?\d+) s0", log.read_text())]
    waited(lambda: len(found()) >= 10, LOCK_S, "ptp4l is no slave", log.read_text)
    offsets = found()[-5:]
    if max(map(abs, offsets)) > OFFSET_NS:
        raise Failed(f"ptp4l as slave: {offsets}\n{log.read_text()}")
    return offsets


def gptp(menura, folder):
    """Profiles that the lidars' own commands choose, each lidar alone with its master."""
    uds = folder / "0"
    with running(menura, folder, rig(apart=True), apart=True) as (_, streams):
        with ptp4l(folder, "0", GPTP4L), ptp4l(folder, "1", GPTP4L, "m1"):
            told("without a master of IEEE 1588", streams, "LISTENING", 0)
            if http("time/ptp/profile", "PUT", '"gptp"') != "gptp" or http("time/ptp")["profile"] != "gptp":
                raise Failed("the Ouster does not take its profile")
            ptc(0x24, bytes([1, 0, 1]))
            locks(streams, "802.1AS")
            port = ptc(0x06, b"\x02")
            mechanisms = http("time/ptp")["port_data_set"]["delay_mechanism"], port[23]
            said = run("ip", "netns", "exec", MASTER, "pmc", "-u", "-s", uds, "-t", "1", "-b", "1",
                       "GET PORT_DATA_SET").stdout
            if mechanisms != (2, 2) or not re.search(r"portState\s+SLAVE", said):
                raise Failed(f"802.1AS: delay mechanisms {mechanisms}, {said}")
        waited(lambda: states() == ("LISTENING", 3), LOSS_S, "802.1AS: the loss is not reported", states)
        http("time/ptp/profile", "PUT", '"automotive-slave"')
        ptc(0x24, bytes([0, 0, 1]))
        with ptp4l(folder, "2", AUTOMOTIVE4L), ptp4l(folder, "3", MASTER4L, "m1", ["-2"]):
            locks(streams, "automotive, and IEEE 1588 by Ethernet")
    more = f'[engine.ptp]\nmaster = "{OWN_IP}"\ntransport = "802.1as"'
    slave = GPTP4L + SLAVE4L
    with ptp4l(folder, "4", slave), running(menura, folder, rig(apart=True, more=more), apart=True):
        print(f"Menura is the master by 802.1AS: ptp4l is {offsets_of_slave(folder / '4.log')} ns off")


def unicast(menura, folder):
    """A master that sends to hosts that ask, and to no others; and peer to peer by UDP."""
    text = rig(f', ptp_masters = ["{MASTER_IP}"]', ', ptp_delay = "p2p"', True)
    asked = MASTER4L + "unicast_listen 1\ninhibit_multicast_service 1\n"
    with running(menura, folder, text, apart=True) as (_, streams):
        with ptp4l(folder, "0", asked), ptp4l(folder, "1", MASTER4L, "m1", ["-P"]):
            locks(streams, "unicast, and peer to peer")
            if ptc(0x06, b"\x02")[23] != 2:
                raise Failed("peer to peer: another delay mechanism")
    more = f'[engine.ptp]\nmaster = "{OWN_IP}"'
    asks = PTP4L + SLAVE4L + (f"[unicast_master_table]\ntable_id 1\nlogQueryInterval 0\nUDPv4 {OWN_IP}\n"
                              "[m0]\nunicast_master_table 1\n")
    with ptp4l(folder, "2", asks), running(menura, folder, rig(apart=True, more=more), apart=True):
        print(f"Menura is asked for unicast: ptp4l is {offsets_of_slave(folder / '2.log')} ns off")


def waited(happens, seconds, complaint, now=lambda: ""):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happens():
            return
        time.sleep(0.5)
    raise Failed(f"{complaint}; {now()}")


def soon_within(streams, least_us, most_us):
    """The streams' errors; measured again if one is beyond, as a busy machine may send all packets of a second late."""
    errors = {}
    for _ in range(5):
        errors = streams.errors_us()
        if all(least_us < error_us < most_us for error_us in errors.values()):
            break
    return errors


def locks(streams, what):
    """Both lock and stay; their packets have the master's time, which is this machine's."""
    begun = time.monotonic()
    waited(lambda: states()[0] == "SLAVE" and states()[1] in (1, 2), LOCK_S, f"{what}: no lock", states)
    taken = time.monotonic() - begun
    # The servo needs some synchronisations more.
    time.sleep(4)
    waited(lambda: states()[0] == "SLAVE" and states()[1] in (1, 2) and max(map(abs, offsets_ns())) <= OFFSET_NS, LOCK_S,
           f"{what}: not for long", lambda: (states(), offsets_ns()))
    ouster, hesai = offsets_ns()
    errors = soon_within(streams, EARLIEST_US, LATEST_US)
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
    waited(lambda: states() == ("SLAVE", 3), LOSS_S, "a lost master is not reported", states)
    waited(lambda: 2000 + EARLIEST_US < streams.errors_us()["ouster"] and abs(offsets_of_ouster()[0]) < OFFSET_NS / 4,
           2 * LOSS_S, "the clock does not follow the asymmetry", offsets_of_ouster)
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

    def __init__(self, hesai):
        hesai_to = MASTER_2_IP if hesai == HESAI_2_IP else MASTER_IP
        with inside(MASTER):
            self.sockets = {}
            for name, port, address in (("ouster", OUSTER_PORT, MASTER_IP), ("hesai", HESAI_PORT, hesai_to)):
                heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                heard.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                heard.bind((address, port))
                heard.setblocking(False)
                self.sockets[name] = heard

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for heard in self.sockets.values():
            heard.close()

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


def http(path, method="GET", body=""):
    with inside(MASTER):
        connection = socket.create_connection((OUSTER_IP, 80), timeout=5)
    with connection:
        connection.sendall(f"{method} /api/v1/{path} HTTP/1.1\r\nHost: {OUSTER_IP}\r\nConnection: close\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.splitlines()[0]:
        raise Failed(f"{method} {path}: {head.decode()}")
    return json.loads(body)


def ptc(command, payload=b""):
    with inside(MASTER):
        connection = socket.create_connection((HESAI, 9347), timeout=5)
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
    # Too long ago it is no offset.
    return ouster, offset if state in (1, 2) and 0 <= elapsed_ms < 3000 else float("inf")


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


def move(menura, folder):
    """A camera that FORCEIP moves takes its PTP port to the new address."""
    path, log = folder / "rig.toml", folder / "menura.log"
    path.write_text(CAMERA_RIG)
    with (ptp4l(folder, "ptp4l", MASTER4L), program(SENSORS, menura, "run", path, log=log), inside(MASTER),
          listener(319) as requests, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host):
        host.bind((MASTER_IP, 0))
        host.settimeout(0.5)
        host.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        host.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"m0")
        mac = b""

        def is_found():
            nonlocal mac
            mac = (gvcp(host, CAMERA_IP, 0x0002) or bytes(248))[10:16]
            return any(mac)

        def locks_at(address):
            waited(lambda: camera_state(host, address) == SLAVE, LOCK_S, f"the camera at {address} does not lock", log.read_text)
            # Requests of the time before.
            requesters(requests)
            waited(lambda: requesters(requests) == {address}, LOSS_S, f"the delay requests do not come from {address}",
                   lambda: requesters(requests))

        waited(is_found, 30, "no camera", log.read_text)
        locks_at(CAMERA_IP)
        wanted = bytes(2) + mac + bytes(12) + socket.inet_aton(OWN_IP) + bytes(12) + bytes([255, 255, 255, 0]) + bytes(16)
        if gvcp(host, "255.255.255.255", 0x0004, wanted) is None:
            raise Failed("FORCEIP is not answered")
        locks_at(OWN_IP)
        print(f"move: the camera is a slave at {CAMERA_IP}, and after FORCEIP at {OWN_IP}")


def gvcp(host, address, command, payload=b""):
    """The payload of the answer to a GVCP command; None if there is no answer, or one that refuses."""
    host.sendto(struct.pack(">BBHHH", 0x42, 0x11, command, len(payload), 1) + payload, (address, 3956))
    try:
        answer = host.recv(600)
    except TimeoutError:
        return None
    return answer[8:] if answer[:2] == bytes(2) else None


def camera_state(host, address):
    """The state of a camera's PTP port, as in IEEE 1588; None if the camera does not answer."""
    # Only a host that controls the camera may latch the state.
    for register, value in ((0x0A00, 2), (0x1_0600, 1)):
        if gvcp(host, address, 0x0082, struct.pack(">II", register, value)) is None:
            return None
    state = gvcp(host, address, 0x0080, struct.pack(">I", 0x1_0604))
    gvcp(host, address, 0x0082, struct.pack(">II", 0x0A00, 0))
    return state and struct.unpack(">I", state)[0]


def listener(port):
    """A socket that receives PTP's multicast messages to this port, beside `ptp4l`."""
    socket_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    socket_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    group = socket.inet_aton("224.0.1.129")
    socket_.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + socket.inet_aton(MASTER_IP))
    socket_.bind(("224.0.1.129", port))
    socket_.setblocking(False)
    return socket_


def requesters(listener):
    """Addresses from which delay requests have come since the last call."""
    found = set()
    with contextlib.suppress(BlockingIOError):
        while True:
            message, (address, _) = listener.recvfrom(200)
            if message[0] & 15 == 1:
                found.add(address)
    return found


CASES.update(follow=follow, lead=lead, gptp=gptp, unicast=unicast, move=move)

if __name__ == "__main__":
    sys.exit(main())
