"""What hostile hosts do to the ports of a bench. Each attack goes on until a time, and returns how many
bytes and connections it took, and what is wrong if a host that behaves is not served meanwhile."""

import os
import socket
import struct
import termios
import time

import conversations as say
from conversations import mutated

SPEEDS = [termios.B4800, termios.B9600, termios.B19200, termios.B38400, termios.B115200, termios.B230400]
# A serial flood stays at a rate that a fast port has; more would only measure the pseudo-terminals.
SERIAL_BYTES_S = 400_000
CROWD = 64
PATIENCE_S = 60


class Sent:
    """What an attack has sent."""

    def __init__(self):
        self.bytes = self.connections = 0
        self.faults = []


def open_line(path):
    return os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)


def write_line(line, data):
    """Writes what fits and reads what is there."""
    try:
        count = os.write(line, data)
    except (BlockingIOError, OSError):
        count = 0
    try:
        os.read(line, 65536)
    except (BlockingIOError, OSError):
        pass
    return count


def serial_commands(name):
    match name:
        case "sick-lms291-s05-x1.27":
            return say.lms2xx_commands()
        case "ublox-zed-f9p-hpg1.32":
            return say.ublox_commands()
        case "garmin-18x-lvc":
            return say.garmin_commands()
        case "hdl":
            return say.hdl_commands()
        case "vectornav-vn100":
            return say.imu_commands("vectornav-vn100-ros1") + say.imu_commands("vectornav-vn100-ros2")
        case _:
            return say.imu_commands(name) or [b"?\r\n"]


def flood(bench, random, until, data_for):
    sent = Sent()
    lines = {name: open_line(path) for name, path in bench.lines.items()}
    sent.connections = len(lines)
    start = time.monotonic()
    try:
        while time.monotonic() < until:
            for name, line in lines.items():
                sent.bytes += write_line(line, data_for(name))
            ahead_s = sent.bytes / SERIAL_BYTES_S - (time.monotonic() - start)
            time.sleep(max(0.001, ahead_s))
    finally:
        for line in lines.values():
            os.close(line)
    return sent


def serial_noise(bench, random, until):
    return flood(bench, random, until, lambda _: random.randbytes(random.randint(1, 2000)))


def serial_mutated(bench, random, until):
    valid = {name: serial_commands(name) for name in bench.lines}
    return flood(bench, random, until, lambda name: mutated(random, valid[name]))


def serial_halves(bench, random, until):
    """Telegrams that are begun and never ended."""
    valid = {name: serial_commands(name) for name in bench.lines}

    def half(name):
        command = random.choice(valid[name])
        return command[:random.randint(1, max(1, len(command) - 1))]
    return flood(bench, random, until, half)


def serial_opening(bench, random, until):
    """Ports are opened and closed all the time, at any rate, and left with echo on."""
    sent = Sent()
    while time.monotonic() < until:
        for path in bench.lines.values():
            line = open_line(path)
            settings = termios.tcgetattr(line)
            settings[4] = settings[5] = random.choice(SPEEDS)
            settings[3] |= random.choice([0, termios.ECHO])
            termios.tcsetattr(line, termios.TCSANOW, settings)
            sent.bytes += write_line(line, random.randbytes(64))
            sent.connections += 1
            os.close(line)
        time.sleep(0.005)
    return sent


def connect(bench, port):
    return socket.create_connection((bench.address, bench.ports[port]), timeout=PATIENCE_S)


def push(client, data):
    """Sends what can be sent at once; the other end may have gone."""
    try:
        client.setblocking(False)
        return client.send(data)
    except OSError:
        return 0


def drain(client):
    try:
        while client.recv(65536):
            pass
    except OSError:
        pass


def talk(bench, random, until, port, valid, keep=8, read=True):
    """Some connections at a time say mutated things; each lives for a while."""
    sent, clients = Sent(), []
    try:
        while time.monotonic() < until:
            if len(clients) >= keep or clients and random.random() < 0.05:
                clients.pop(random.randrange(len(clients))).close()
            clients.append(connect(bench, port))
            sent.connections += 1
            for client in clients:
                sent.bytes += push(client, mutated(random, valid))
                if read:
                    drain(client)
            time.sleep(0.002)
    finally:
        for client in clients:
            client.close()
    return sent


def crowd(bench, random, until, port, halves, is_served):
    """More connections than there is room for, which say nothing or half of something, and come
    again; a host that behaves must be served all the while."""
    sent, clients = Sent(), []
    try:
        while time.monotonic() < until:
            while len(clients) < CROWD:
                clients.append(connect(bench, port))
                sent.connections += 1
            for client in clients[::2]:
                sent.bytes += push(client, random.choice(halves))
            if not is_served(bench):
                sent.faults.append("a host that behaves is not served")
                break
            for _ in range(CROWD // 4):
                clients.pop(0).close()
    finally:
        for client in clients:
            client.close()
    return sent


def web_serves(bench):
    try:
        with connect(bench, "web") as client:
            client.sendall(b"GET /cgi/info.json HTTP/1.1\r\nHost: sensor\r\n\r\n")
            return client.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def cola_serves(bench):
    try:
        with connect(bench, "cola") as client:
            client.sendall(b"\x02sRN DeviceIdent\x03")
            return client.recv(64).startswith(b"\x02sRA DeviceIdent")
    except OSError:
        return False


def web_garbage(bench, random, until):
    return talk(bench, random, until, "web", say.web_requests())


def web_crowd(bench, random, until):
    halves = [request[:-3] for request in say.web_requests()] + [b"G", b"GET / HTTP/1.1\r\nX-Y: "]
    return crowd(bench, random, until, "web", halves, web_serves)


def cola_garbage(bench, random, until):
    return talk(bench, random, until, random.choice(["cola", "cola2"]), say.cola_commands())


def cola_crowd(bench, random, until):
    halves = [command[:-1] for command in say.cola_commands() if len(command) > 1]
    return crowd(bench, random, until, "cola", halves, cola_serves)


def cola_deaf(bench, random, until):
    """Hosts that subscribe to scans and never read them, ask for more all the time, and are many."""
    sent, clients = Sent(), []
    asked = [b"\x02sMN SetAccessMode 03 F4724744\x03", b"\x02sMN LMCstartmeas\x03", b"\x02sMN Run\x03",
             b"\x02sEN LMDscandata 1\x03"]
    try:
        clients = [connect(bench, "cola") for _ in range(12)]
        sent.connections = len(clients)
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sent.bytes += sum(push(client, command) for command in asked)
        while time.monotonic() < until:
            for client in clients:
                sent.bytes += push(client, b"\x02sRN LMDscandata\x03" * 20)
            time.sleep(0.01)
    finally:
        for client in clients:
            client.close()
    return sent


def line_by_tcp(bench, random, until):
    """A serial line that goes by TCP; the host that comes last has it."""
    return talk(bench, random, until, "line", say.ublox_commands())


def feed(bench, random, until):
    """Datagrams of all sizes; poses with everything wrong that can be."""
    sent = Sent()
    edges = [float("nan"), float("inf"), -0.0, 1e5, -1e5, 1e308, 5e-324]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        to = (bench.address, bench.ports["feed"])
        sent.connections = 1
        while time.monotonic() < until:
            for _ in range(20):
                data = bytearray(say.pose(random.choice([0, 1, 2**63, 2**64 - 1, random.randrange(2**32)])
                                          if random.random() < 0.2 else random.randrange(1000)))
                match random.randrange(4):
                    case 0:
                        data = random.randbytes(random.choice([0, 1, 127, 128, 129, 1500, 9000, 65507]))
                    case 1:
                        struct.pack_into("<d", data, 24 + 8 * random.randrange(13), random.choice(edges))
                    case 2:
                        struct.pack_into("<Q", data, 16, random.choice([0, 2**63, 2**64 - 1, random.randrange(2**40)]))
                    case _:
                        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
                sent.bytes += client.sendto(out_of_sight(bytes(data)), to)
            time.sleep(0.002)
    return sent


def out_of_sight(data):
    """The same where no lidar sees it: the world must stay that of the recording."""
    if len(data) == 128 and abs(struct.unpack_from("<d", data, 24)[0]) < 2000:
        data = data[:24] + struct.pack("<d", 2000.0) + data[32:]
    return data


def responses(bench, random, until):
    """What robots answer: true answers among garbage, by datagrams and by connections."""
    valid = [b"stop", b"stopppp" * 50, b"sto", b"\x00" * 2000]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        to = (bench.address, bench.ports["response_udp"])
        half = time.monotonic() + (until - time.monotonic()) / 2
        count = 0
        while time.monotonic() < half:
            for _ in range(20):
                count += client.sendto(mutated(random, valid), to)
            time.sleep(0.002)
    sent = talk(bench, random, until, "response_tcp", valid, keep=40)
    sent.bytes += count
    return sent


def nothing(bench, random, until):
    time.sleep(max(0, until - time.monotonic()))
    return Sent()


ATTACKS = {
    "none": nothing,
    "serial: noise": serial_noise,
    "serial: half telegrams": serial_halves,
    "serial: mutated commands": serial_mutated,
    "serial: opened and closed": serial_opening,
    "serial by TCP: mutated, host after host": line_by_tcp,
    "CoLa: mutated commands": cola_garbage,
    "CoLa: a crowd, silent or half": cola_crowd,
    "CoLa: subscribers that do not read": cola_deaf,
    "web: mutated requests": web_garbage,
    "web: a crowd, silent or half": web_crowd,
    "feed: datagrams of all sizes": feed,
    "responses: garbage": responses,
}
