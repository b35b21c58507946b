"""What the live checks share: sockets that lose little, whose loss a missing datagram is, and when a
check is made again.

A busy machine can take datagrams from any receiver. The kernel counts each that it drops: of a socket,
because its receive buffer is full, and of a processor, because its queue of packets that wait to be
delivered is. What is missing beyond that the sender has lost. And a receiver that got no processor for
a while answers late; `Watch` measures that. A check is made again only if such a thing explains what
went wrong, and a few times at most. Needs only the standard library.
"""

import functools
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

SO_RCVBUFFORCE, SO_RXQ_OVFL = 33, 40
# Some seconds of the fastest lidar.
BUFFER_BYTES = 256 << 20
ATTEMPTS = 5


@dataclass(frozen=True)
class Losses:
    """Datagrams that this machine dropped on their way to a receiver."""

    # Its socket's buffer was full.
    at_socket: int = 0
    # A processor's queue was full; perhaps they were for others.
    in_kernel: int = 0

    @property
    def all(self):
        return self.at_socket + self.in_kernel

    def __str__(self):
        return (f"this machine dropped {self.at_socket} datagrams at the receiver's full buffer, and "
                f"{self.in_kernel} at processors' full queues")


class Judged:
    """What came of an attempt: `result`, whether it is as it should be, and, if this machine explains
    that it is not, `excuse`."""

    def __init__(self, result, is_good, excuse=None):
        self.result, self.is_good, self.excuse = result, is_good, excuse


class TooBusy(OSError):
    """This machine has spoilt every attempt; nothing is known of the sender."""


PATIENCE_S = 60.0


def comes(holds, patience_s=PATIENCE_S):
    """Whether `holds()` becomes true within `patience_s`; asked again and again."""
    end = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def stop_process(process, patience_s=PATIENCE_S):
    """Ends a process, by force if it has not ended within `patience_s`."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def clean_up_at_sigterm():
    """From now on SIGTERM ends this program by an exception: `finally` and `atexit` then end what runs in other process
    groups, which the signal to this one's does not reach."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def starts(process, pattern, patience_s=2 * PATIENCE_S):
    """The match of the first line of a program's standard error that starts with `pattern`. The check ends with exit code 2
    if there is none within `patience_s`, or before the program ends."""
    watchdog = threading.Timer(patience_s, process.kill)
    watchdog.start()
    said = []
    try:
        for line in process.stderr:
            said.append(line)
            if found := re.match(pattern, line):
                return found
    finally:
        watchdog.cancel()
    print("".join(said))
    sys.exit(2)


def falls_silent(port, silence_s=1.0, patience_s=PATIENCE_S):
    """Whether a UDP port of 127.0.0.1 receives nothing for `silence_s`, at the latest after `patience_s`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", port))
        listener.settimeout(silence_s)
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            try:
                listener.recv(1 << 16)
            except TimeoutError:
                return True
    return False


def repeated(what, attempt, attempts=ATTEMPTS):
    """The result of the first attempt that is good, or whose faults this machine does not explain.

    `attempt()` gives a `Judged`. Each further attempt is told. Raises `TooBusy` when there is none."""
    excuse = None
    for number in range(1, attempts + 1):
        if number > 1:
            print(f"{what}: {excuse}; attempt {number} of {attempts}", flush=True)
        judged = attempt()
        if judged.is_good or judged.excuse is None:
            return judged.result
        excuse = judged.excuse
    raise TooBusy(f"{what}: this machine is too busy for this check: {excuse}, in each of {attempts} attempts")


def excuse_for(missing, losses):
    """Why `missing` datagrams are this machine's loss; None if there are none or it lost fewer."""
    return f"{missing} datagrams are missing, {losses}" if 0 < missing <= losses.all else None


def judge_datagrams(live, sent, losses):
    """What arrived, held against what was sent: bytes that are missing and nothing else may be this
    machine's loss."""
    if live == sent:
        return Judged(live, True)
    is_subset = is_subsequence(live, sent)
    return Judged(live, False, excuse_for(len(sent) - len(live), losses) if is_subset else None)


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in part)


def enlarge_buffer(receiver, wanted=BUFFER_BYTES):
    """Gives a socket room for some seconds: as much as wanted with the right to, else what is allowed."""
    for option in SO_RCVBUFFORCE, socket.SO_RCVBUF:
        try:
            receiver.setsockopt(socket.SOL_SOCKET, option, wanted)
            return
        except OSError:
            pass


class DropCounter:
    """What the kernel drops of what goes to a UDP port of this host, from now on."""

    def __init__(self, *ports):
        self.ports = ports
        self.before = self.count()

    def count(self):
        return Losses(sum(map(dropped_at, self.ports)), dropped_in_kernel())

    def losses(self):
        """So far. The sockets must still be open."""
        now = self.count()
        return Losses(now.at_socket - self.before.at_socket, now.in_kernel - self.before.in_kernel)


def dropped_at(port):
    """Datagrams dropped at this namespace's sockets that are bound to a port."""
    drops = 0
    for file in "/proc/net/udp", "/proc/net/udp6":
        if os.path.exists(file):
            for line in Path(file).read_text().splitlines()[1:]:
                words = line.split()
                if int(words[1].rpartition(":")[2], 16) == port:
                    drops += int(words[-1])
    return drops


def dropped_in_kernel():
    """Packets dropped at processors' queues, for whomever they were."""
    lines = Path("/proc/net/softnet_stat").read_text().splitlines()
    return sum(int(line.split()[1], 16) for line in lines)


class Listener:
    """A plain UDP socket on the loopback."""

    def __init__(self, buffer_bytes=BUFFER_BYTES):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        enlarge_buffer(self.socket, buffer_bytes)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        # Of the last `hear`.
        self.losses = Losses()

    def hear(self, send):
        """The datagrams that arrive while `send` runs."""
        self.socket.settimeout(0.3)
        payloads, over = [], threading.Event()
        counter = DropCounter(self.port)

        def listen():
            while True:
                try:
                    payloads.append(self.socket.recv(65535))
                except TimeoutError:
                    if over.is_set():
                        return

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            send()
        finally:
            over.set()
            thread.join()
        self.losses = counter.losses()
        return payloads

    def close(self):
        self.socket.close()


class Watch:
    """Measures how long this process is kept waiting for a processor within a `with` block: a thread
    that wants to run every few milliseconds, and how late it does."""

    EVERY_S = 0.005

    def __enter__(self):
        self.longest_s, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def look(self):
        last = time.monotonic()
        while not self.over.wait(self.EVERY_S):
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - last - self.EVERY_S)
            last = now

    def excuse(self, least_s=0.02):
        """That this process waited for long, if it did."""
        waited_ms = 1e3 * self.longest_s
        return f"this process waited {waited_ms:.0f} ms for a processor" if self.longest_s > least_s else None


@functools.cache
def ports_to_try():
    return (20_000 + number % 12_000 for number in itertools.count(os.getpid() * 61))


def is_free(port):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(type=kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def free_ports(count):
    """Ports of the loopback that nobody has, of UDP and of TCP.

    They lie below the kernel's ephemeral ports, and each process starts its search at a different port, so
    another process is unlikely to take one before the check does."""
    return list(itertools.islice(filter(is_free, ports_to_try()), count))


class Result:
    """What a check says, and what it has found wrong."""

    def __init__(self):
        self.failures, self.told = [], []

    def expect(self, what, holds, found=""):
        if not holds:
            self.failures.append(f"{what}: {found}" if found != "" else what)
        return holds
