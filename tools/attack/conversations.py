"""What drivers say to devices, from tests/dialogues and a few templates, and what a hostile host
makes of it."""

import re
import struct
from pathlib import Path

DIALOGUES = Path(__file__).resolve().parents[2] / "tests" / "dialogues"
# Values at which programs are wrong by one, or overflow.
EDGES = [b"\x00", b"\xff", b"\x7f", b"\x80", b"\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00" * 8,
         b"\xff" * 8, b"-1", b"99999999999999999999", b"nan", b"1e309", b"%s%n", b"\r\n", b"$", b"\x02", b"\x03"]


def hex_bytes(text):
    return bytes(int(word, 16) for word in text.split() if re.fullmatch("[0-9a-fA-F]{2}", word))


def imu_commands(name):
    """What the host says in a dialogue of an IMU."""
    lines = (DIALOGUES / "imu" / f"{name}.txt").read_text().splitlines()
    said = []
    for line in lines:
        if line.startswith("> "):
            words = line[2:]
            said.append(hex_bytes(words) or words.encode() + b"\r\n")
    return said


def lms2xx_commands():
    """Telegrams of all drivers, with their checksums."""
    said = []
    for path in sorted((DIALOGUES / "sick-lms2xx").glob("*.txt")):
        for line in path.read_text().splitlines():
            if line.startswith("send "):
                said.append(lms2xx(hex_bytes(line[5:])))
    return said


def lms2xx(payload):
    frame = b"\x02\x00" + struct.pack("<H", len(payload)) + payload
    crc, before = 0, 0
    for byte in frame:
        crc = ((crc << 1) ^ 0x8005 if crc & 0x8000 else crc << 1) & 0xFFFF
        crc ^= byte | before << 8
        before = byte
    return frame + struct.pack("<H", crc)


def cola_commands():
    """In CoLa-A and in CoLa-B."""
    said = []
    for path in sorted((DIALOGUES / "sick-lms1xx").glob("*.txt")):
        for line in path.read_text().splitlines():
            word, _, text = line.partition(" ")
            if word in ("send", "send-b") and text:
                said += [b"\x02" + text.encode() + b"\x03", cola_b(text.encode())]
            elif word == "raw":
                said.append(hex_bytes(text))
    return said


def cola_b(body):
    check = 0
    for byte in body:
        check ^= byte
    return b"\x02\x02\x02\x02" + struct.pack(">I", len(body)) + body + bytes([check])


def fletcher(data):
    a = b = 0
    for byte in data:
        a = (a + byte) & 0xFF
        b = (b + a) & 0xFF
    return bytes([a, b])


def ubx(kind, number, payload):
    body = bytes([kind, number]) + struct.pack("<H", len(payload)) + payload
    return b"\xb5\x62" + body + fletcher(body)


def ublox_commands():
    """Configuration of generations 8 and 9, polls, and positions and times that a host helps with."""
    rate = struct.pack("<HHH", 100, 1, 1)
    port = struct.pack("<BBHIIHHHH", 1, 0, 0, 0x8D0, 115200, 7, 3, 0, 0)
    valset = b"\x00\x01\x00\x00" + struct.pack("<IH", 0x30210001, 100)
    llh = struct.pack("<BB2xiiiI", 1, 0, 334712000, -887933000, 9200, 100)
    xyz = struct.pack("<BB2xiiiI", 0, 0, 19600000, -532000000, 349700000, 100)
    utc = struct.pack("<BBBbHBBBBBxIHHI", 0x10, 0, 0, 18, 2026, 6, 1, 12, 0, 0, 0, 1, 0, 0)
    commands = [ubx(0x06, 0x08, rate), ubx(0x06, 0x00, port), ubx(0x06, 0x8A, valset), ubx(0x13, 0x40, llh),
                ubx(0x13, 0x40, xyz), ubx(0x13, 0x40, utc), ubx(0x0B, 0x01, xyz + bytes(28)),
                ubx(0x06, 0x04, struct.pack("<HBx", 0, 2))]
    commands += [ubx(0x06, 0x01, bytes([0x01, number, 1])) for number in (0x02, 0x03, 0x06, 0x07, 0x20, 0x35)]
    commands += [ubx(kind, number, b"") for kind, number in [(0x0A, 4), (0x06, 8), (0x06, 0), (0x01, 7), (0x27, 3)]]
    return commands + [b"$PUBX,40,GLL,0,1,0,0,0,0*5D\r\n", b"$GPGGA,120000,3328.27,N,08847.6,W,1,08,1.0,92,M,,M,,*4A\r\n"]


def garmin_commands():
    return [b"$PGRMO,GPRMC,1\r\n", b"$PGRMO,,2\r\n", b"$PGRMCE\r\n", b"$PGRMC,A,92,100,,,,,,A,3,1,1,4,30\r\n",
            b"$PGRMI,3328.27,N,08847.6,W,010626,120000\r\n"]


def hdl_commands():
    return [b"#HDLRPM0900$", b"#HDLFOV090270$", b"#HDLRETS$", b"#HDLRETL$", b"#HDLRETD$", b"#HDLLPW3$",
            b"#HDLIPA192168003255192168003043$"]


def web_requests():
    """Requests of scripts and browsers. None names a host: the stream is not to be sent elsewhere."""
    forms = [("/cgi/setting", b"rpm=300&returns=Dual&laser=on"), ("/cgi/setting", b"returns=Strongest"),
             ("/cgi/setting/fov", b"start=270&end=90"), ("/cgi/setting/phaselock", b"enabled=on&offset=90"),
             ("/cgi/save", b"data=submit"), ("/cgi/setting", b"data=%7B%22rpm%22%3A600%7D")]
    pages = ["/", "/cgi/settings.json", "/cgi/status.json", "/cgi/info.json", "/cgi/diag.json", "/cgi/snapshot.hdl"]
    requests = [f"GET {page} HTTP/1.1\r\nHost: sensor\r\n\r\n".encode() for page in pages]
    for path, form in forms:
        head = (f"POST {path} HTTP/1.1\r\nHost: sensor\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                f"Content-Length: {len(form)}\r\n\r\n")
        requests.append(head.encode() + form)
    return requests


def pose(sequence, x_m=2000.0):
    """A pose for the feed, out of everybody's sight."""
    head = b"MNFD" + struct.pack("<IQQ", 1, sequence, sequence * 10_000_000 % 2**64)
    return head + struct.pack("<13d", x_m, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)


def repaired(data):
    """With a checksum that is right, where the frame is of a kind that has one that is known here."""
    if data[:2] == b"\xb5\x62" and len(data) >= 8:
        body = data[2:-2]
        body = body[:2] + struct.pack("<H", (len(body) - 4) & 0xFFFF) + body[4:]
        return b"\xb5\x62" + body + fletcher(body)
    if data[:2] == b"\x75\x65" and len(data) >= 6:
        return data[:-2] + fletcher(data[:-2])
    if data[:2] == b"\xfa\xff" and len(data) >= 5:
        return data[:-1] + bytes([-sum(data[1:-1]) & 0xFF])
    if data[:2] == b"\x02\x00" and len(data) >= 7:
        return lms2xx(data[4:-2])
    if data[:4] == b"\x02\x02\x02\x02" and len(data) >= 9:
        return cola_b(data[8:-1])
    if data[:1] == b"$" and b"*" in data:
        body = data[1:data.index(b"*")]
        check = 0
        for byte in body:
            check ^= byte
        return b"$" + body + b"*%02X\r\n" % check
    return data


def mutated(random, valid):
    """One of `valid`, damaged somehow; half of the damage is under a checksum that is right."""
    data = bytearray(random.choice(valid))
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) + 1)
        match random.randrange(7):
            case 0 if data:
                data[at % len(data)] ^= 1 << random.randrange(8)
            case 1 if data:
                data[at % len(data)] = random.randrange(256)
            case 2:
                del data[at:]
            case 3:
                del data[at:at + random.randint(1, 8)]
            case 4:
                data[at:at] = random.choice(EDGES)
            case 5:
                edge = random.choice(EDGES)
                data[at:at + len(edge)] = edge
            case _:
                data += random.choice(valid)[:random.randint(0, 64)]
    data = bytes(data[:4096])
    return repaired(data) if random.random() < 0.5 else data
