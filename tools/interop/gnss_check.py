#!/usr/bin/env python3
"""Real clients read Menura's GNSS receivers.

- pynmeagps and pyubx2 parse every byte that four recorded receivers sent, with no complaint.
- pyubx2 holds a conversation with a live ZED-F9P on its pseudo-terminal: MON-VER, CFG-VALGET,
  CFG-VALSET of rate, messages and baud rate, and finds the stream changed.
  What it counts in a time is counted again while this machine gives it no processor.
- gpsd finds the device's type, a fix in three dimensions, the position within the stated accuracy
  of the truth, and the accuracy it works out: hAcc by UBX, 19 m times HDOP by NMEA. Of a rover with corrections it
  reports RTK fixed.
"""

import argparse
import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import tty
from functools import partial
from pathlib import Path

from pynmeagps import NMEAReader
from pyubx2 import ERR_RAISE, NMEA_PROTOCOL, POLL_LAYER_RAM, SET_LAYER_RAM, UBX_PROTOCOL
from pyubx2 import UBXMessage, UBXReader

from receiving import Judged, Watch, free_ports, repeated
from side_by_side import side_by_side

LATITUDE, LONGITUDE, ALTITUDE = 47.285233167, 8.565265, 547.6
ANTENNA_HEIGHT = 1.5
WEEK_MS = 7 * 86_400_000
METRES_PER_DEGREE = (111_180.0, 75_650.0)

RIG = """
seed = 3
origin = {{ latitude_deg = {lat}, longitude_deg = {lon}, altitude_m = {alt} }}
[world]
scene = "courtyard"
parameters = {{ grass_blades = 100, trees = 1, tree_triangles = 1000, ground_relief_m = 0.0 }}
[robot]
trajectory = {trajectory}
{devices}
"""

DEVICE = """
[[device]]
name = "{name}"
profile = "{profile}"
mount = {{ translation_m = [0.0, 0.0, {height}] }}
link = {{ pty = "{folder}/{name}.tty" }}
settings = {{ {settings} }}
"""

SENTENCES = '"RMC", "VTG", "GNS", "GGA", "GSA", "GSV", "GLL", "GST", "ZDA", "GBS"'
MESSAGES_9 = (
    "NAV-PVT NAV-POSECEF NAV-POSLLH NAV-HPPOSECEF NAV-HPPOSLLH NAV-STATUS NAV-DOP NAV-VELECEF "
    "NAV-VELNED NAV-TIMEGPS NAV-TIMEUTC NAV-CLOCK NAV-TIMELS NAV-SAT NAV-COV NAV-RELPOSNED NAV-SIG "
    "NAV-SVIN RXM-RAWX MON-HW MON-RF MON-COMMS TIM-TP NAV-EOE"
).split()
MESSAGES_8 = (
    "NAV-PVT NAV-SOL NAV-POSECEF NAV-POSLLH NAV-STATUS NAV-DOP NAV-VELECEF NAV-VELNED NAV-TIMEGPS "
    "NAV-TIMEUTC NAV-CLOCK NAV-TIMELS NAV-SVINFO NAV-SAT MON-HW TIM-TP NAV-EOE"
).split()


def quoted(words):
    return ", ".join(f'"{word}"' for word in words)


def rig(folder, devices, trajectory='{ kind = "still" }'):
    text = "".join(
        DEVICE.format(name=n, profile=p, settings=s, folder=folder, height=ANTENNA_HEIGHT)
        for n, p, s in devices
    )
    path = Path(folder) / "rig.toml"
    path.write_text(RIG.format(
        lat=LATITUDE, lon=LONGITUDE, alt=ALTITUDE, trajectory=trajectory, devices=text))
    return path


def check(what, holds, detail=""):
    if not holds:
        raise SystemExit(f"FAILED {what}: {detail}")
    print(f"ok  {what}  {detail}")


def check_recordings(menura, folder):
    devices = [
        ("f9p-1-11", "ublox-zed-f9p-hpg1.11",
         f"sentences = [{SENTENCES}], messages = [{quoted(MESSAGES_9)}], baud_rate = 460800, rate_hz = 5, "
         'high_precision = true, acquisition = { best_fix = "rtk-fixed", rtk_fixed_after_s = 8.0 }'),
        ("f9p-1-32", "ublox-zed-f9p-hpg1.32",
         f"sentences = [{SENTENCES}], messages = [{quoted(MESSAGES_9)}], baud_rate = 115200"),
        ("m8n", "ublox-m8n",
         f"sentences = [{SENTENCES}], messages = [{quoted(MESSAGES_8)}], baud_rate = 115200"),
        ("garmin", "garmin-18x-lvc", "baud_rate = 9600"),
        ("phone", "phone-gnss", ""),
    ]
    path = rig(folder, devices, '{ kind = "circle", radius_m = 10.0, speed_m_s = 1.5 }')
    out = Path(folder) / "recording"
    subprocess.run([menura, "record", "--force", path, "--duration", "65s", "--out", out], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, profile, _ in devices:
        data = (out / f"{name}.bin").read_bytes()
        kinds, length = {}, 0
        if profile.startswith("ublox"):
            reader = UBXReader(io.BytesIO(data), protfilter=NMEA_PROTOCOL | UBX_PROTOCOL,
                               quitonerror=ERR_RAISE)
        else:
            reader = NMEAReader(io.BytesIO(data), quitonerror=ERR_RAISE)
        for raw, parsed in reader:
            check_quietly(f"{name}: {raw!r}", parsed is not None)
            kinds[parsed.identity] = kinds.get(parsed.identity, 0) + 1
            length += len(raw)
        # A recording may end within a line.
        check(f"{name}: every byte parses", len(data) - length < 100 and kinds,
              f"{sum(kinds.values())} messages of {len(kinds)} kinds")
        check_quietly(f"{name}: unknown kinds {kinds}", not any("UNKNOWN" in k for k in kinds))
        for message in MESSAGES_9 if "f9p" in name else MESSAGES_8 if name == "m8n" else []:
            check_quietly(f"{name}: no {message} in {kinds}", kinds.get(message, 0) >= 60)


def check_quietly(what, holds):
    if not holds:
        raise SystemExit(f"FAILED {what}")


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise SystemExit(f"FAILED {path} does not appear")
        time.sleep(0.1)


class Tty:
    """The host's end of a serial line; also what UBXReader reads from."""

    def __init__(self, path, baud):
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.fd)
        self.set_baud(baud)
        self.deadline = 0

    def set_baud(self, baud):
        settings = termios.tcgetattr(self.fd)
        settings[4] = settings[5] = getattr(termios, f"B{baud}")
        termios.tcsetattr(self.fd, termios.TCSANOW, settings)
        termios.tcflush(self.fd, termios.TCIFLUSH)
        # Up to a pause between messages, so that the first to be read is a whole one.
        end = time.monotonic() + 30
        while select.select([self.fd], [], [], 0.06)[0]:
            os.read(self.fd, 4096)
            if time.monotonic() > end:
                raise SystemExit("FAILED the line has no pause between messages")
        self.taken = self.kept = b""

    def write(self, message):
        os.write(self.fd, message.serialize())

    def read(self, count):
        data = b""
        while len(data) < count:
            left = self.deadline - time.monotonic()
            if self.kept:
                piece, self.kept = self.kept[: count - len(data)], self.kept[count - len(data) :]
            elif left > 0 and select.select([self.fd], [], [], left)[0]:
                piece = os.read(self.fd, count - len(data))
            else:
                return b""
            self.taken += piece
            data += piece
        return data

    def readline(self):
        data = b""
        while not data.endswith(b"\n"):
            byte = self.read(1)
            if not byte:
                return b""
            data += byte
        return data

    def messages(self, seconds):
        """What comes within a time, in both protocols; a message in its middle is left for the next call."""
        self.deadline = time.monotonic() + seconds
        self.taken, self.kept = b"", self.taken + self.kept
        reader = UBXReader(self, protfilter=NMEA_PROTOCOL | UBX_PROTOCOL, quitonerror=ERR_RAISE)
        for raw, parsed in reader:
            if raw is None:
                return
            self.taken = b""
            yield parsed

    def count(self, what, seconds, is_good):
        """What comes within a time: again if that is not good and this process had to wait meanwhile."""
        def attempt():
            with Watch() as watch:
                heard = list(self.messages(seconds))
            return Judged(heard, is_good(heard), watch.excuse())

        return repeated(what, attempt)

    def ask(self, message, identity, seconds=10):
        self.write(message)
        for parsed in self.messages(seconds):
            if parsed.identity == identity:
                return parsed
        raise SystemExit(f"FAILED no {identity} after {message}")


def comes_every(period_ms, heard):
    """Nothing but fixes, so far apart by their own time: on a busy machine they come when they can."""
    times = [message.iTOW for message in heard if message.identity == "NAV-PVT"]
    steps = {(after - before) % WEEK_MS for before, after in zip(times, times[1:])}
    return len(times) == len(heard) >= 8 and steps == {period_ms}


def check_conversation(menura, folder):
    path = rig(folder, [("f9p", "ublox-zed-f9p-hpg1.11", "")])
    link = f"{folder}/f9p.tty"
    with running([menura, "run", path, "--duration", "180s"]):
        wait_for(link)
        port = Tty(link, 38400)
        version = port.ask(UBXMessage("MON", "MON-VER", 2), "MON-VER")
        check("MON-VER", b"FWVER=HPG 1.11" in version.serialize(), version.swVersion.decode().strip("\0"))
        got = port.ask(UBXMessage.config_poll(POLL_LAYER_RAM, 0, ["CFG_RATE_MEAS"]), "CFG-VALGET")
        check("CFG-VALGET", got.CFG_RATE_MEAS == 1000, f"{got.CFG_RATE_MEAS} ms")
        silence = [(f"CFG_MSGOUT_NMEA_ID_{s}_UART1", 0) for s in "RMC VTG GGA GSA GSV GLL".split()]
        port.ask(UBXMessage.config_set(SET_LAYER_RAM, 0, silence + [
            ("CFG_RATE_MEAS", 100), ("CFG_MSGOUT_UBX_NAV_PVT_UART1", 1)]), "ACK-ACK")
        list(port.messages(1.5))

        is_ten_a_second = partial(comes_every, 100)
        heard = port.count("CFG-VALSET", 4, is_ten_a_second)
        check("CFG-VALSET changes rate and messages", is_ten_a_second(heard), f"{len(heard)} in 4 s")
        refused = port.ask(UBXMessage.config_set(SET_LAYER_RAM, 0, [(0x30217777, b"\x01\x00")]), "ACK-NAK")
        check("an unknown key is refused", refused.clsID == 6)
        port.ask(UBXMessage.config_set(SET_LAYER_RAM, 0, [("CFG_UART1_BAUDRATE", 115200)]), "ACK-ACK")
        time.sleep(0.2)
        port.set_baud(115200)
        # On a busy machine the emulator sees late that the line has another rate.
        list(port.messages(1))
        heard = port.count("CFG-UART1-BAUDRATE", 2, is_ten_a_second)
        check("CFG-UART1-BAUDRATE moves the line", is_ten_a_second(heard), f"{len(heard)} messages")
        port.ask(UBXMessage("CFG", "CFG-RATE", 1, measRate=250, navRate=1, timeRef=1), "ACK-ACK")
        list(port.messages(1))

        is_four_a_second = partial(comes_every, 250)
        fixes = port.count("CFG-RATE", 4, is_four_a_second)
        check("CFG-RATE, generation 8's way", is_four_a_second(fixes), f"{len(fixes)} in 4 s")
        last = fixes[-1]
        check_truth("NAV-PVT", last.lat, last.lon, last.height / 1000, last.hAcc / 1000, last.vAcc / 1000)
        os.close(port.fd)


def check_generation_10(menura, folder):
    path = rig(folder, [("m10", "ublox-max-m10s-spg5.10", "")])
    link = f"{folder}/m10.tty"
    with running([menura, "run", path, "--duration", "60s"]):
        wait_for(link)
        port = Tty(link, 9600)
        version = port.ask(UBXMessage("MON", "MON-VER", 2), "MON-VER")
        check("M10: MON-VER", b"MOD=MAX-M10S" in version.serialize(), version.swVersion.decode().strip("\0"))
        port.ask(UBXMessage("CFG", "CFG-RATE", 1, measRate=250, navRate=1, timeRef=1), "ACK-NAK")
        check("M10: CFG-RATE is refused", True)
        silence = [(f"CFG_MSGOUT_NMEA_ID_{s}_UART1", 0) for s in "RMC VTG GGA GSA GSV GLL".split()]
        port.ask(UBXMessage.config_set(SET_LAYER_RAM, 0, silence + [
            ("CFG_RATE_MEAS", 200), ("CFG_MSGOUT_UBX_NAV_PVT_UART1", 1)]), "ACK-ACK")
        list(port.messages(2))

        is_five_a_second = partial(comes_every, 200)
        heard = port.count("M10: CFG-VALSET", 4, is_five_a_second)
        check("M10: CFG-VALSET changes rate and messages", is_five_a_second(heard), f"{len(heard)} in 4 s")
        last = heard[-1]
        check_truth("M10: NAV-PVT", last.lat, last.lon, last.height / 1000, last.hAcc / 1000, last.vAcc / 1000)
        os.close(port.fd)


def check_truth(what, lat, lon, height, h_acc, v_acc):
    """Within four times the stated accuracy; heights within that and the geoid's difference."""
    north = (lat - LATITUDE) * METRES_PER_DEGREE[0]
    east = (lon - LONGITUDE) * METRES_PER_DEGREE[1]
    off = (north * north + east * east) ** 0.5
    up = height - (ALTITUDE + ANTENNA_HEIGHT)
    check(f"{what}: position", off < 4 * h_acc and abs(up) < 4 * v_acc + 0.5,
          f"{off:.2f} m off (stated {h_acc:.2f}), {up:.2f} m too high (stated {v_acc:.2f})")


def gpsd_reports(link, options, seconds, enough):
    """All JSON reports of gpsd within a time, or until they are `enough`."""
    [port] = free_ports(1)
    with running(["gpsd", "-N", "-n", *options, "-S", str(port), link]):
        end = time.monotonic() + 30
        while True:
            try:
                client = socket.create_connection(("127.0.0.1", port), 1)
                break
            except OSError:
                if time.monotonic() > end:
                    raise SystemExit("FAILED gpsd does not listen")
                time.sleep(0.2)
        with client:
            client.sendall(b'?WATCH={"enable":true,"json":true};\n')
            client.settimeout(0.5)
            end, data = time.monotonic() + seconds, b""
            while time.monotonic() < end and not enough(parsed(data)):
                with contextlib.suppress(TimeoutError):
                    data += client.recv(65536)
            told, end = len(parsed(data)), time.monotonic() + 10
            client.sendall(b"?DEVICES;\n")
            while time.monotonic() < end and all(r.get("class") != "DEVICES" for r in parsed(data)[told:]):
                with contextlib.suppress(TimeoutError):
                    data += client.recv(65536)
    return parsed(data)


def parsed(data):
    """The whole reports of gpsd in these bytes."""
    return [json.loads(line) for line in data.decode().splitlines() if line.startswith("{") and line.endswith("}")]


def latest(reports, kind, has=()):
    found = [r for r in reports if r.get("class") == kind and all(key in r for key in has)]
    if not found:
        raise SystemExit(f"FAILED gpsd reports no {kind} with {has}")
    return found[-1]


def has_settled(reports):
    """Whether ten fixes in three dimensions came, and a list of satellites."""
    fixes = [r for r in reports if r.get("class") == "TPV" and r.get("mode") == 3 and "eph" in r]
    return len(fixes) >= 10 and any("satellites" in r for r in reports if r.get("class") == "SKY")


# What gpsd reads: device, how gpsd calls its type, whether it is by UBX, and options of gpsd.
FOR_GPSD = [
    (("f9p", "ublox-zed-f9p-hpg1.32", ""), "u-blox", True, []),
    (("m8n", "ublox-m8n", ""), "u-blox", True, []),
    (("phone", "phone-gnss", 'sentences = ["GGA", "RMC", "GSA", "GSV", "GST", "ZDA"]'), "NMEA0183", False, ["-b"]),
]


def check_gpsd(menura, folder, device, driver, is_ubx, options):
    name = device[0]
    with running([menura, "run", rig(folder, [device]), "--duration", "120s"]):
        link = f"{folder}/{name}.tty"
        wait_for(link)
        reports = gpsd_reports(link, options, 60, has_settled)
        found = latest(reports, "DEVICES")["devices"][0]
        check(f"gpsd, {name}: device type", found.get("driver") == driver,
              f"{found.get('driver')} {found.get('subtype', '')}")
        fix = latest(reports, "TPV", ("lat", "eph"))
        check(f"gpsd, {name}: mode 3", fix["mode"] == 3)
        # gpsd's heights by UBX and NMEA are the device's.
        if is_ubx:
            check_truth(f"gpsd, {name}", fix["lat"], fix["lon"], fix["altHAE"], fix["eph"], fix["epv"])
        else:
            hdop = latest(reports, "SKY", ("hdop",))["hdop"]
            check(f"gpsd, {name}: eph is 19 m times HDOP", abs(fix["eph"] - 19 * hdop) < 19 * 0.11,
                  f"{fix['eph']} m, HDOP {hdop}")
            check_truth(f"gpsd, {name}", fix["lat"], fix["lon"], fix["altHAE"], 1.5, 3.0)
        sky = latest(reports, "SKY", ("satellites",))
        used = sum(s["used"] for s in sky["satellites"])
        check(f"gpsd, {name}: satellites", used >= 5, f"{used} used of {len(sky['satellites'])}")


# gpsd's number for such a fix: `status` of TPV.
RTK_FIXED = 3


def check_gpsd_rtk(menura, folder):
    text = (Path(__file__).parents[2] / "test-suites/rigs/rtk.toml").read_text()
    path = Path(folder) / "rtk.toml"
    path.write_text(text.replace("/tmp/menura", folder))
    with running([menura, "run", path, "--duration", "300s"]):
        link = f"{folder}/gnss"
        wait_for(link)
        # Debian's gpsd reads the kind of fix from GGA alone, so it must not switch to UBX.
        reports = gpsd_reports(link, ["-b"], 120, lambda found: any(r.get("status") == RTK_FIXED for r in found))
        seen = {report.get("status") for report in reports if report.get("class") == "TPV"}
        check("gpsd, rover: RTK fixed", RTK_FIXED in seen, f"{sorted(filter(None, seen))}")


def check_all_gpsd(menura, folder):
    """One after the other: of several gpsd at a time, some do not find their receiver."""
    for one in FOR_GPSD:
        check_gpsd(menura, folder, *one)
    check_gpsd_rtk(menura, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--menura", type=os.path.abspath, required=True)
    checks = {"gpsd": check_all_gpsd, "conversation": check_conversation, "generation-10": check_generation_10,
              "recordings": check_recordings}
    parser.add_argument("--only", choices=list(checks))
    arguments = parser.parse_args()
    if arguments.only is None:
        return side_by_side(list(checks), 2, main)
    with tempfile.TemporaryDirectory(prefix="menura-gnss-") as folder:
        # gpsd gives up its rights after the start and must still reach the line.
        os.chmod(folder, 0o755)
        checks[arguments.only](arguments.menura, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
