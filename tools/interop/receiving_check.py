#!/usr/bin/env python3
"""Checks how the live checks tell a receiver's losses from a sender's: a sender that skips one datagram
is found at once, whatever this machine drops; what only this machine drops is heard again.

Needs only the standard library. Exit code 0 when all is well, 1 when not.
"""

import contextlib
import io
import socket
import sys

from receiving import (DropCounter, Judged, Listener, Losses, TooBusy, enlarge_buffer, judge_datagrams,
                       repeated)

SENT = [number.to_bytes(2, "big") * 600 for number in range(2000)]


class Sender:
    """Sends to a port, leaving out some datagrams in each of its runs."""

    def __init__(self, port, skips):
        self.port, self.skips, self.runs = port, skips, 0

    def __call__(self):
        self.runs += 1
        with socket.socket(type=socket.SOCK_DGRAM) as out:
            for number, payload in enumerate(SENT):
                if number not in self.skips:
                    out.sendto(payload, ("127.0.0.1", self.port))


class Deaf(Listener):
    """A receiver that reads nothing until all was sent; its buffer is small in the first runs."""

    def __init__(self, small_runs):
        super().__init__()
        self.small_runs = small_runs

    def hear(self, send):
        self.socket.close()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", self.port))
        if self.small_runs > 0:
            self.small_runs -= 1
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
            counter = DropCounter(self.port)
            # What comes now stays in the buffer, or is dropped.
            send()
            self.losses = counter.losses()
            self.socket.setblocking(False)
            payloads = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    payloads.append(self.socket.recv(65535))
            return payloads
        enlarge_buffer(self.socket)
        return super().hear(send)


def hear(receiver, skips):
    """What repeated attempts come to: the datagrams, the runs, and what was said meanwhile."""
    sender, said = Sender(receiver.port, skips), io.StringIO()

    def attempt():
        live = receiver.hear(sender)
        return judge_datagrams(live, SENT, receiver.losses)

    try:
        with contextlib.redirect_stdout(said):
            live = repeated("self-test", attempt)
    except TooBusy as error:
        live = error
    receiver.close()
    return live, sender.runs, said.getvalue()


def main():
    failures = []

    def expect(what, holds, found=""):
        print(f"{'ok ' if holds else 'BAD'} {what} {found}")
        if not holds:
            failures.append(what)

    live, runs, said = hear(Listener(), set())
    expect("all arrives", live == SENT, f"after {runs} runs")
    for skipped in 0, 1000, len(SENT) - 1:
        live, runs, said = hear(Listener(), {skipped})
        expect(f"a sender that skips datagram {skipped} is found", len(live) == len(SENT) - 1 and live != SENT,
               f"after {runs} runs")
    live, runs, said = hear(Deaf(2), set())
    expect("what this machine drops is heard again, and told",
           live == SENT and runs >= 3 and "attempt 2 of" in said and "full buffer" in said, f"after {runs} runs")
    live, runs, said = hear(Deaf(2), {700})
    expect("a sender that skips is found behind a receiver that drops",
           isinstance(live, list) and live != SENT, f"after {runs} runs")
    live, runs, said = hear(Deaf(99), set())
    expect("a machine that always drops is not called a sender's fault", isinstance(live, TooBusy), str(live)[:60])

    lost = Losses(3, 1)
    expect("as many missing as were dropped are excused",
           judge_datagrams(SENT[:-4], SENT, lost).excuse is not None)
    expect("one more is not", judge_datagrams(SENT[:-5], SENT, lost).excuse is None)
    expect("another order is not", judge_datagrams([*SENT[1:], SENT[0]], SENT, lost).excuse is None)
    expect("a changed byte is not", judge_datagrams([b"x", *SENT[4:]], SENT, lost).excuse is None)
    expect("more than was sent is not", judge_datagrams([*SENT, SENT[0]], SENT, lost).excuse is None)
    runs = []

    def always():
        runs.append(1)
        return Judged("bad", False)

    expect("what is not excused is not repeated", repeated("x", always) == "bad" and len(runs) == 1)
    print("receiving_check:", f"{len(failures)} failed" if failures else "all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
