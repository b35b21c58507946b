#!/usr/bin/env python3
"""Has hokuyolx and MRPT's CHokuyoURG configure Menura's UTM-30LX-EW, and compares its scans with the truth.

Menura runs a robot that stands in the built-in scene `room`; the scanner listens at a port of the loopback. hokuyolx
compares clocks, reads what the scanner says of itself, asks for single scans and for streams, of distances and of
intensities, whole and in parts. MRPT's driver opens the scanner twice, as it does, and streams. Every range must be
that of the wall: with single rays and no noise within half a millimetre, with the scanner's own spot and noise within
five and a half standard deviations, and with the noise's own spread. Intensities must be those of the profile's model.

Then the robot drives among rods and along a wall of grass. When a scan began follows from its time stamp; every range
must be that of the first echo of a beam that may be split, and with the commands for several echoes (sent through
hokuyolx, which has none of its own for them) every echo must be there, in order, at its range.

Last, time stamps are held against this computer's clock, as hokuyolx has synchronised them.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import math
import socket
import sys
import time
import tomllib
from dataclasses import dataclass

import numpy as np

import flat_split
from echoes import PROFILES
from flat_scanner import EXACT, check_all, driver_says, menura_runs, noise_faults, range_faults, truth_m
from hokuyolx import HokuyoLX
from hokuyolx.exceptions import HokuyoException
from receiving import free_ports
from split_beams import MEADOW_WALL, RODS, Place

PROFILE = "hokuyo-utm30lx-ew"
with open(PROFILES / f"{PROFILE}.toml", "rb") as file:
    TABLE = tomllib.load(file)
DIVERGENCE_RAD = TABLE["beam"]["divergence_mrad"] / 1000
SIGNAL_CUTOFF_M = TABLE["beam"]["signal_cutoff_m"]
RANGE_STD_M = TABLE["noise"]["range_std_m"]
INTENSITY = TABLE["intensity"]
UNIT_M = 0.001
STEPS, LAST, FRONT = 1440, 1080, 540
TURN_S, TURN_MS = 0.025, 25.0
# At the start of a run, by default.
UPTIME_MS = 60_000
# Of the room.
REFLECTANCE = 0.9
CLOCK_SCANS = 80
# hokuyolx cannot part messages that it has left waiting. Where the rate does not matter, so many revolutions are left
# out after each, so that a busy machine does not make it late.
CALM = 3


@dataclass(frozen=True)
class Case:
    """One way to set the scanner up, and who asks for what."""

    name: str
    asks: callable
    settings: str = ""
    range_std_m: float = 0.0
    # At least so many.
    scans: int = 25
    # Where the robot drives and beams are split; None for the room.
    place: Place | None = None
    has_echoes: bool = False


@dataclass(frozen=True)
class Asked:
    """A scan that was asked for: its steps, and how many are one value."""

    what: str
    first: int = 0
    last: int = LAST
    cluster: int = 1


def angle_rad(step):
    return 2 * math.pi * (step - FRONT) / STEPS


# What hokuyolx reads. A scan is (asked, time stamp or None, intensities or None, ranges).


def connected(port):
    return HokuyoLX(addr=("127.0.0.1", port), convert_time=False)


def checked_identity(laser):
    """Raises if the scanner is not what it should be."""
    told = laser.amin, laser.amax, laser.aforw, laser.ares, laser.dmin, laser.dmax, laser.model
    wanted = 0, LAST, FRONT, STEPS, 23, 60_000, "UTM-30LX-EW"
    if told != wanted:
        raise RuntimeError(f"hokuyolx was told {told}, not {wanted}")


def scan_of(asked, time_ms, values):
    """The scan of hokuyolx's array."""
    values = np.asarray(values, float)
    if values.ndim == 2:
        return asked, time_ms, list(values[:, 1]), list(values[:, 0] * UNIT_M)
    return asked, time_ms, None, list(values * UNIT_M)


def everything(case, port, _driver):
    """Single scans and streams, with and without intensities, whole, in parts and in groups."""
    laser = connected(port)
    checked_identity(laser)
    scans = []
    for _ in range(3):
        scans.append(scan_of(Asked("GD"), *laser.get_dist()))
        scans.append(scan_of(Asked("GE"), *laser.get_intens()))
    part = Asked("GD", 200, 801, 4)
    scans.append(scan_of(part, *laser.get_dist(part.first, part.last, part.cluster)))
    wide = Asked("ME", 100, 400)
    for count, asked, stream in [
        (10, Asked("MD"), laser.iter_dist(10, skips=CALM)),
        (10, Asked("ME"), laser.iter_intens(10, skips=CALM)),
        (5, wide, laser.iter_intens(5, wide.first, wide.last, skips=1)),
        (5, Asked("MD"), laser.iter_dist(5, skips=1)),
        (5, part, laser.iter_dist(5, part.first, part.last, part.cluster, skips=1)),
    ]:
        got = [(time_ms, values, left) for values, time_ms, left in stream]
        if [left for *_, left in got] != list(range(count))[::-1]:
            raise RuntimeError(f"{asked}: the scans that are left count {[left for *_, left in got]}")
        scans += [scan_of(asked, time_ms, values) for time_ms, values, _ in got]
    # Endless, until it is told to stop.
    for values, time_ms, _ in laser.iter_dist(skips=CALM):
        scans.append(scan_of(Asked("MD"), time_ms, values))
        if len(scans) >= case.scans:
            break
    laser.standby()
    if laser.laser_state()[0] != 0:
        raise RuntimeError(f"the scanner does not stand by: {laser.laser_state()}")
    laser.close()
    return scans


def stream(case, port, _driver):
    laser = connected(port)
    scans = [scan_of(Asked("MD"), time_ms, values) for values, time_ms, _ in laser.iter_dist(case.scans, skips=CALM)]
    laser.standby()
    laser.close()
    return scans


def several_echoes(case, port, _driver):
    """ND and NE: ranges are lists of lists."""
    laser = connected(port)
    scans = []
    for command, width in ("ND", 3), ("NE", 6):
        status, _ = laser._send_req(command, f"0000{LAST:04}01{CALM}00")
        if status != "00":
            raise RuntimeError(f"{command}: {status}")
        for _ in range(case.scans // 2):
            header, status, stamp, *lines = laser._recv()
            if not header.startswith(command) or laser._check_sum(status) != "99":
                raise RuntimeError(f"{command}: {header} {status}")
            text = "".join(laser._check_sum(line) for line in lines)
            ranges = []
            place = 0
            while place < len(text):
                also = text[place] == "&"
                value = text[place + also:place + also + width]
                distance_m = laser._convert2int(value[:3]) * UNIT_M
                if also:
                    ranges[-1].append(distance_m)
                else:
                    ranges.append([distance_m])
                place += also + width
            # Arrays, so that a self-test can add to all echoes of a pulse.
            ranges = [np.array(echoes) for echoes in ranges]
            scans.append((Asked(command), laser._convert2int(laser._check_sum(stamp)), None, ranges))
        laser.standby()
    laser.close()
    return scans


def mrpt(intensities):
    def asks(case, port, driver):
        lines = driver_says(case, driver, "127.0.0.1", port, intensities, case.scans)
        scans = []
        for line in (line for line in lines if line.startswith("scan ")):
            first, aperture, *ranges = map(float, line.split()[1:])
            # The driver takes as many steps as values, one too many, for its aperture.
            width = 2 * math.pi * (LAST + 1) / STEPS
            odd = abs(first + width / 2) > 1e-6 or abs(aperture - width) > 1e-6
            scans.append((Asked("MRPT, odd angles" if odd else "MRPT"), None, None, ranges))
        return scans

    return asks


def clocks(_case, port, _driver):
    """Time stamps as hokuyolx converts them; ranges are when the scans came, seconds of this computer's clock."""
    laser = HokuyoLX(addr=("127.0.0.1", port), convert_time=True)
    came, stamps = [], []
    for _, time_ms, _ in laser.iter_dist(CLOCK_SCANS):
        came.append(time.time())
        stamps.append(time_ms)
    laser.standby()
    laser.close()
    return [(Asked("clocks"), stamps, None, came)]


CASES = [
    Case("exact", everything, EXACT, scans=60),
    Case("noise", stream, range_std_m=RANGE_STD_M, scans=50),
    Case("mrpt-exact", mrpt(0), EXACT),
    Case("mrpt-noise", mrpt(1), range_std_m=RANGE_STD_M, scans=50),
    Case("rods", stream, range_std_m=RANGE_STD_M, scans=8, place=RODS),
    Case("rods-echoes", several_echoes, range_std_m=RANGE_STD_M, scans=8, place=RODS, has_echoes=True),
    Case("meadow-echoes", several_echoes, range_std_m=RANGE_STD_M, scans=8, place=MEADOW_WALL, has_echoes=True),
    Case("clocks", clocks, EXACT, scans=1),
]

# Of the cases in other places, by name.
benches = {}


class Bench(flat_split.Bench):
    """A bench that knows from time stamps when scans began."""

    def __init__(self, menura, place, link):
        angles = np.array([angle_rad(step) for step in range(LAST + 1)])
        # From behind, where revolutions begin.
        after_s = (np.arange(LAST + 1) + STEPS / 2 - FRONT) / STEPS * TURN_S
        super().__init__(menura, place, PROFILE, link, angles, flat_split.Timing(TURN_S, after_s))
        self.stamps_ms = []

    def begins(self, _scans_m):
        """To a revolution: a stamp is the full millisecond before step 0, which is an eighth of a turn after the
        beginning."""
        to_step_ms = (STEPS / 2 - FRONT) / STEPS * TURN_MS
        since_ms = np.array(self.stamps_ms, float) - UPTIME_MS
        turn = np.round((since_ms + 0.5 - to_step_ms) / TURN_MS)
        off_ms = turn * TURN_MS + to_step_ms - since_ms
        if np.any(off_ms < -1e-6) or np.any(off_ms >= 1):
            raise RuntimeError(f"time stamps are not those of the mirror: {self.stamps_ms}")
        return turn * TURN_S

    def compare_echoes(self, scans):
        """Everything that is wrong with scans of several echoes, lists of lists."""
        odd = [number for number, scan in enumerate(scans, 1) if len(scan) != len(self.angles_rad)]
        if odd:
            return [f"scans {odd} do not have {len(self.angles_rad)} values"]
        began = self.begins(None)
        if not np.array_equal(began, self.began):
            self.began, self.wanted = began, self.wanted_of(began)
        wanted = self.wanted
        most = TABLE["echoes"]["count"]
        read = np.full((sum(map(len, scans)), most), np.nan)
        faults = []
        for row, value in enumerate(value for scan in scans for value in scan):
            seen = [one for one in value.tolist() if one >= 0.023]
            if len(value) > most or seen != sorted(seen):
                faults.append(f"echoes {value}")
            read[row, :min(len(seen), most)] = seen[:most]
        sure = wanted.is_sure
        count = np.minimum(wanted.echoes.count, most)
        has = np.count_nonzero(np.isfinite(read), axis=1)
        among = np.count_nonzero(sure)
        # As in `split_beams`: of some pulses the last bits of single precision decide.
        few = 0.002 * most
        wrong = np.count_nonzero(sure & (has != count))
        if wrong > few * among + 1:
            faults.append(f"{wrong} of {among} pulses have another number of echoes")
        errors = []
        for place in range(min(most, wanted.echoes.range_m.shape[1])):
            range_m, signal = (part[:, place] for part in (wanted.echoes.range_m, wanted.echoes.signal))
            both = sure & (has == count) & (count > place)
            std = np.hypot(self.optics.range_std_m(signal[both]), UNIT_M / math.sqrt(12))
            errors.append((read[both, place] - range_m[both] - self.optics.shift_m(signal[both])) / std)
        errors = np.concatenate(errors)
        wild = np.abs(errors) > 5.5
        if np.count_nonzero(wild) > few * len(errors) + 1:
            faults.append(f"{np.count_nonzero(wild)} of {len(errors)} echoes are elsewhere")
        spread = np.std(errors[~wild])
        if abs(spread - 1) > 4 / math.sqrt(2 * len(errors)) + 0.03:
            faults.append(f"ranges spread by {spread:.3f} of what the profile says")
        split = np.mean(count[sure] > 1)
        if split < 0.005:
            faults.append(f"only {split:.2%} of beams have two echoes")
        if np.mean(sure) < 0.35:
            faults.append(f"only {np.mean(sure):.1%} of pulses are sure")
        self.told = [f"{split:.2%} of {among} pulses have several echoes, {np.mean(count[sure] > 2):.2%} three"]
        return faults


def conversation(case, menura, driver):
    """The scans of one run."""
    port, = free_ports(1)
    link = f'tcp = "127.0.0.1:{port}"'
    if case.place and case.name not in benches:
        benches[case.name] = Bench(menura, case.place, link)
    with menura_runs(menura, PROFILE, link, case.settings, lambda: can_connect(port), flat_split.where(case.place)):
        try:
            return case.asks(case, port, driver)
        except (HokuyoException, ValueError, IndexError) as error:
            # So it ends, too, when it was too slow and found two messages in one.
            print(f"{case.name}: hokuyolx gave up: {type(error).__name__}: {error}")
            return []


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def compare(case, scans):
    """Everything that is wrong with the scans."""
    if len(scans) < case.scans:
        return [f"{len(scans)} scans instead of {case.scans}"]
    if case.asks is clocks:
        return clock_faults(scans[0])
    if case.place:
        bench = benches[case.name]
        bench.stamps_ms = [stamp for _, stamp, *_ in scans]
        try:
            if case.has_echoes:
                return bench.compare_echoes([ranges for *_, ranges in scans])
            return bench.compare([ranges for *_, ranges in scans], UNIT_M)
        except RuntimeError as error:
            return [str(error)]
    return room_faults(case, scans)


def room_faults(case, scans):
    faults, errors = [], []
    divergence_rad = DIVERGENCE_RAD if case.range_std_m else 0.0
    truth = truth_m(angle_rad(np.arange(LAST + 1)), divergence_rad, SIGNAL_CUTOFF_M)
    limit = UNIT_M / 2 + 5.5 * case.range_std_m + 1e-4
    # What an echo near the threshold adds is little in a room; a tenth more covers it.
    limit *= 1.1 if case.range_std_m else 1.0
    for number, (asked, _, intensities, ranges) in enumerate(scans, 1):
        true = np.minimum.reduceat(truth[asked.first:asked.last + 1], np.arange(0, asked.last + 1 - asked.first, asked.cluster))
        if "odd" in asked.what or len(ranges) != len(true):
            faults.append(f"scan {number}, {asked}: {len(ranges)} values instead of {len(true)}")
            continue
        errors.append(ranges - true)
        faults += range_faults(f"{number}, {asked.what}", errors[-1], limit)
        if intensities and not case.range_std_m:
            faults += intensity_faults(number, np.array(intensities), true)
    if case.range_std_m and not faults:
        if len({tuple(ranges) for *_, ranges in scans}) < case.scans / 2:
            faults.append("most scans are the same")
        faults += noise_faults(errors, case.range_std_m, UNIT_M)
    return faults


def intensity_faults(number, said, range_m):
    """Of the walls that values meet at an angle: at least that of grazing light, at most that of light that falls squarely."""
    def counts(reflectance):
        light = reflectance * (INTENSITY["at_m"] / range_m) ** INTENSITY["falloff"]
        return np.minimum(INTENSITY["white"] * light ** INTENSITY["power"], INTENSITY["largest"])

    for value in np.flatnonzero((said < counts(0.2 * REFLECTANCE)) | (said > counts(REFLECTANCE) + 1)):
        yield f"scan {number}, value {value}: intensity {said[value]} at {range_m[value]:.3f} m"


def clock_faults(scan):
    """Stamps are those of step 0, 18.75 ms and a little before a scan leaves, and follow one another by a turn."""
    _, stamps, _, came = scan
    if len(came) != len(stamps):
        return [f"{len(came)} scans with {len(stamps)} time stamps"]
    faults = []
    ages_ms = 1000 * np.array(came) - np.array(stamps, float)
    if not 17 <= np.median(ages_ms) <= 26 or np.min(ages_ms) < 16:
        faults.append(f"scans are {np.median(ages_ms):.1f} ms old when they come, at least {np.min(ages_ms):.1f}")
    if np.max(ages_ms) > 200:
        faults.append(f"one scan is {np.max(ages_ms):.1f} ms old when it comes")
    steps_ms = np.diff(stamps)
    if np.any(np.abs(steps_ms - TURN_MS) > 1.01):
        faults.append(f"time stamps follow one another by {sorted(set(steps_ms.tolist()))} ms")
    return faults


def off_by(case):
    if case.asks is clocks:
        return 0.5
    return 2 * UNIT_M + (20 if case.place else 12) * case.range_std_m


if __name__ == "__main__":
    sys.exit(check_all(__doc__, CASES, conversation, compare, off_by, at_a_time=2))
