"""Attacks a running Menura on all its ports, and its commands with wrong files, and measures meanwhile
whether a lidar that nobody attacks still sends what it should, when it should.

    python3 tools/attack [--menura target/release/menura] [--seconds 10] [--seed 1] [--only WORDS] [--compare]
        [--table FILE]

Everything goes over the loopback; another address is refused. Attacks are bounded in time, and hostile
input is mutated from valid conversations, by the seed. One process of Menura bears them one after
another. A witness, a process of its own, receives the lidar's datagrams with the kernel's time stamps;
each must be the next one of a recording of the same rig.

The exit code is 0 when every stream was exact, memory stayed bounded, nothing panicked and hosts that
behave were served; 1 when not; 2 when Menura did not run. Lateness and misses are reported and never judged;
with --compare, beside the misses of the same rig that nobody attacks meanwhile. A datagram that the witness
itself lost, by the kernel's account or by Menura's, is said to be, and judged as if it had arrived.
Only the standard library is needed.
"""

import argparse
import ipaddress
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from attacks import ATTACKS  # noqa: E402
from bench import Bench  # noqa: E402
from ends import ENDS  # noqa: E402
from offline import OFFLINE  # noqa: E402

# What an attack may leave behind, and what all together may: buffers of clients, arenas of threads.
GROWTH_KIB = 48 << 10
TOTAL_KIB = 96 << 10
# How many descriptors may be open so long after an attack.
DESCRIPTORS, CLOSES_S = 120, 10.0
OFFLINE_KIB = 4 << 20
COLUMNS = "{:<42} {:>9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>15}  {}"


def loopback(text):
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no IPv4 address") from error
    if not address.is_loopback:
        raise argparse.ArgumentTypeError(f"{text} is refused: attacks go to the loopback only, 127.0.0.0/8")
    return str(address)


def main():
    parser = argparse.ArgumentParser(prog="tools/attack", description=__doc__.split("\n\n")[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each attack goes on (at most 600)")
    parser.add_argument("--files", type=int, help="how many wrong files of each kind [default: 20 a second]")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random")
    parser.add_argument("--only", help="attacks whose name contains this")
    parser.add_argument("--address", type=loopback, default="127.0.0.1", help="of the loopback")
    parser.add_argument("--compare", action="store_true", help="run the same rig without attacks, too, and report its misses")
    parser.add_argument("--table", type=Path, help="write the table to this file too")
    arguments = parser.parse_args()
    if not 0 < arguments.seconds <= 600:
        parser.error("--seconds: allowed is more than 0 and at most 600")
    with tempfile.TemporaryDirectory(prefix="menura-attack-") as folder:
        try:
            lines, faults = attack(arguments, Path(folder))
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            print(f"attack: {error}", file=sys.stderr)
            return 2
    table = "\n".join([f"seed {arguments.seed}, {arguments.seconds} s an attack; lateness against the most prompt packet",
                       *lines])
    print(table)
    if arguments.table:
        arguments.table.write_text(table + "\n")
    for fault in faults:
        print(f"  FAILED {fault}")
    print("attack:", f"{len(faults)} failed" if faults else "all held")
    return 1 if faults else 0


def attack(arguments, folder):
    """The table's lines, and what is wrong."""
    chosen = {name: run for name, run in ATTACKS.items() if not arguments.only or arguments.only in name}
    lines = [COLUMNS.format("attack", "KiB sent", "conns", "packets/s", "p50 us", "p99 us", "max us", "RSS MiB", "verdict")]
    faults = []
    if chosen:
        live, wrong = attack_ports(arguments, chosen, folder)
        lines += live
        faults += wrong
    recording = record(arguments.menura, folder)
    count = arguments.files if arguments.files is not None else int(20 * arguments.seconds)
    chosen = {name: run for name, run in (OFFLINE | ENDS).items() if not arguments.only or arguments.only in name}

    def outcome_of(name):
        dice = random.Random(f"{arguments.seed}/{name}")
        own = folder / f"offline-{list(chosen).index(name)}"
        own.mkdir()
        return chosen[name](Path(arguments.menura).resolve(), dice, own, count, recording)

    # What is tried here has no timing to measure, so that several can go on at a time.
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        outcomes = list(zip(chosen, pool.map(outcome_of, chosen)))
    for name, outcome in outcomes:
        if outcome.most_kib > OFFLINE_KIB:
            outcome.faults.append(f"{outcome.most_kib} KiB of memory")
        unit = "runs" if name in ENDS else "files"
        verdict = "FAILED" if outcome.faults else f"{outcome.files} {unit}, {outcome.refused} refused, no panic"
        lines.append(COLUMNS.format(name, outcome.bytes >> 10, "-", "-", "-", "-", "-",
                                    f"at most {outcome.most_kib >> 10}", verdict))
        faults += [f"{name}: {fault}" for fault in outcome.faults]
    return lines, faults


def record(menura, folder):
    """The bytes of a short capture."""
    rig = folder / "short.toml"
    rig.write_text('start_utc = 2026-06-01T12:00:00Z\n[world]\nscene = "room"\n[robot]\ntrajectory = { kind = "still" }\n[[device]]\nname = "lidar"\n'
                   'profile = "velodyne-vlp16-3.0"\nlink = { udp = { to = "127.0.0.1:2368" } }\n')
    command = [menura, "record", rig, "--duration", "0.05s", "--out", folder / "short"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return (folder / "short" / "lidar.pcap").read_bytes()


def attack_ports(arguments, chosen, folder):
    limit_s = int(60 + len(chosen) * (arguments.seconds + 60))
    bench, alone = Bench(arguments.menura, arguments.address, folder / "attacked", limit_s), None
    # At the same time, on the same machine: what this one misses is not due to attacks.
    try:
        if arguments.compare:
            alone = Bench(arguments.menura, arguments.address, folder / "alone", limit_s)
    except (OSError, RuntimeError):
        bench.stop()
        raise
    rows, faults, at_first = [], [], bench.rss_kib()
    try:
        for name, run in chosen.items():
            before, start_ns = bench.rss_kib(), time.time_ns()
            dice = random.Random(f"{arguments.seed}/{name}")
            wrong = []
            try:
                sent = run(bench, dice, time.monotonic() + arguments.seconds)
                wrong += sent.faults
                counts = (sent.bytes >> 10, sent.connections)
            except OSError as error:
                wrong.append(f"the attack broke off: {error}")
                counts = ("-", "-")
            # What was sent last is still being heard.
            time.sleep(0.1)
            after = bench.rss_kib()
            # On a busy machine Menura closes later than its hosts.
            closes_until = time.monotonic() + CLOSES_S
            while (descriptors := bench.descriptors()) > DESCRIPTORS and time.monotonic() < closes_until:
                time.sleep(0.1)
            if not bench.is_alive():
                wrong.append("the process has ended")
            if after - before > GROWTH_KIB or after - at_first > TOTAL_KIB:
                wrong.append(f"memory grew from {before} to {after} KiB, from {at_first} at first")
            if descriptors > DESCRIPTORS:
                wrong.append(f"{descriptors} descriptors are open")
            rows.append((name, counts, start_ns, time.time_ns(), before, after, wrong))
            if not bench.is_alive():
                break
    finally:
        code = bench.stop()
        code_alone = alone.stop() if alone else 0
    said = bench.said()
    if code != 0 or "panicked" in said:
        faults.append(f"the run ended with exit code {code}:\n{said[-2000:]}")
    if alone and (code_alone != 0 or "panicked" in alone.said()):
        faults.append(f"the run that nobody attacked ended with exit code {code_alone}:\n{alone.said()[-2000:]}")
    lines, wrong = judge(bench, rows)
    beside = f"; the same rig that nobody attacked: {alone.misses()}" if alone else ""
    lines.append(f"attacked rig: {bench.misses()}{beside}")
    return lines, faults + wrong


def judge(bench, rows):
    """A line for each attack, when its packets are known."""
    packets, lost = bench.packets(), bench.lost_by_witness()
    sent = bench.sent()
    lines, faults, missing = [], [], 0
    for name, (size, connections), start_ns, end_ns, before, after, wrong in rows:
        mine = [packet for packet in packets if start_ns <= packet[0] < end_ns]
        strange = sum(late is None for _, late, _ in mine)
        gaps = sum(gap for _, _, gap in mine)
        missing += gaps
        if strange:
            wrong.append(f"{strange} packets that are not the next of the recording")
        if not mine:
            wrong.append("no packet at all")
        late = sorted(late / 1000 for _, late, _ in mine if late is not None)
        figures = [f"{late[min(len(late) - 1, int(len(late) * q))]:.0f}" if late else "-" for q in (0.5, 0.99, 1.0)]
        rate = len(mine) / ((end_ns - start_ns) / 1e9)
        verdict = "FAILED" if wrong else f"exact, {gaps} missing" if gaps else "exact, all there, memory bounded"
        lines.append(COLUMNS.format(name, size, connections, f"{rate:.1f}", *figures,
                                    f"{before / 1024:.1f} {after / 1024:.1f}", verdict))
        faults += [f"{name}: {what}" for what in wrong]
    missing = sum(gap for _, _, gap in packets)
    if missing:
        # Menura counts what it handed to the kernel without an error.
        whole = sent is not None and sent >= len(packets) + missing
        note = f"{missing} packets missing; the witness lost {lost}, Menura sent {sent}"
        lines.append(note + (": all were sent" if whole else ""))
        if not whole and missing > lost:
            faults.append(note)
    return lines, faults


if __name__ == "__main__":
    sys.exit(main())
