"""The bench of the checks whose beams meet several things: a robot that drives a circle within the built-in scenes
`rods` and `meadow-wall`, what its lidar's pulses meet there, and how what a driver reads is held against that.

The sensor is as it is delivered: nine rays a pulse and the profile's own errors. Expected echoes are worked out in
`thin_scenes`, `rays` and `echoes`, without Menura's code.
"""

from dataclasses import dataclass

import numpy as np

import echoes
import room
import thin_scenes

SEED = 5
# No thing of a scene but floor and walls is farther from the sensor.
THINGS_M = 18.0


@dataclass(frozen=True)
class Place:
    """A scene, and the robot's circle in it."""

    scene: str
    parameters: str
    circle: str

    def world(self, folder):
        """`[world]` of a rig in `folder`."""
        if self.scene == "signs":
            (folder / "signs.obj").write_text(thin_scenes.signs_obj())
            return 'scene = "signs.obj"'
        return f'scene = "{self.scene}"\nparameters = {{ {self.parameters} }}'


RODS = Place("rods", "rods = 60", "center_m = [0.2, -0.3, 0.0], radius_m = 1.5")
MEADOW_WALL = Place("meadow-wall", f"seed = {SEED}", "center_m = [-0.2, 0.3, 0.0], radius_m = 1.5")
# Plates of retro-reflecting sheeting, 5 and 50 m away, and dull ones.
SIGNS = Place("signs", "", "center_m = [0.0, 0.0, 0.0], radius_m = 1.0")

_worlds = {}


def world_of(place, optics):
    """The scene for pulses of these optics; made once."""
    margin_m = np.ceil(optics.margin_m(THINGS_M) / 0.03) * 0.03
    key = place.scene, margin_m
    if key not in _worlds:
        make = {"rods": lambda: thin_scenes.rods(margin_m), "signs": thin_scenes.signs,
                "meadow-wall": lambda: thin_scenes.meadow_wall(margin_m, SEED)}
        _worlds[key] = make[place.scene]()
    return _worlds[key]


@dataclass
class Expected:
    """The echoes of pulses that the receiver's gate and threshold leave, and for which pulses that is sure: a signal
    near the threshold is detected with some probability."""

    echoes: echoes.Echoes
    is_sure: np.ndarray
    # Between the nearest and the farthest surface that a pulse meets.
    light_apart_m: np.ndarray


def expected(world, optics, truth, time_us, exit_point, direction):
    """What pulses come to that leave the robot's lidar at `exit_point` (n, 3) along `direction` (n, 3), sensor
    frame."""
    position, rotation = truth.pose(time_us * 1e-6)
    left = np.stack([-direction[:, 1], direction[:, 0], np.zeros(len(direction))], -1)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    axes = (room.rotate(rotation, room.mounted(v)) for v in (direction, left, np.cross(direction, left)))
    start = position + room.rotate(rotation, room.mounted(exit_point) + room.MOUNT_M)
    return received(world, optics, start, *axes)


def received(world, optics, start, along, left, up):
    """The same of pulses from `start` with three axes each, World, all (n, 3)."""
    hits = world.cast(*optics.rays(start, along, left, up))
    heard = echoes.echoes_of(optics, hits)
    within = (heard.range_m >= optics.min_range_m) & (heard.range_m <= optics.max_range_m)
    certainty = optics.certainty(heard.signal)
    sure = np.abs(certainty) >= 6
    is_sure = np.all(sure | ~within | (heard.signal == 0), axis=1)
    met = np.isfinite(hits.range_m)
    apart_m = (np.max(hits.range_m, axis=1, where=met, initial=0)
               - np.min(hits.range_m, axis=1, where=met, initial=np.inf))
    return Expected(heard.kept(within & (certainty >= 0)), is_sure, np.maximum(apart_m, 0))


@dataclass
class Read:
    """What a driver made of pulses: the range of each return, NaN where there is none, and its intensity. (n, 2) for
    both returns, the last one second; (n, 1) for one. A driver may tell no intensities."""

    range_m: np.ndarray
    intensity: np.ndarray | None

    def changed(self, change):
        copy = Read(self.range_m.copy(), None if self.intensity is None else self.intensity.copy())
        change(copy)
        return copy


# Which echo each return is, by return mode.
WHICH = {
    "first": (lambda heard: np.zeros(len(heard.range_m), int),),
    "strongest": (echoes.Echoes.strongest,),
    "last": (echoes.Echoes.last,),
    "dual": (echoes.Echoes.strongest_beside_the_last, echoes.Echoes.last),
    # An HDL-64E tells one echo twice if the last is the strongest.
    "dual-hdl64e": (echoes.Echoes.strongest, echoes.Echoes.last),
}


class Comparison:
    """Holds what was read against what is expected, and gathers what is wrong.

    Two limits are not exact:

    - `FEW`: of a pulse that touches an edge, or whose echoes are all but one or all but equally strong, the last bits
      of single precision decide. A pulse has some ten places where that may be; each is met if it lies within some
      micrometres out of some centimetres, and between the wires and blades of the meadow more often than among rods.
      That is one pulse in a thousand, and up to two are allowed. A pulse that meets something always has a return, so
      that of returns that are missing or extra a sixth of that is allowed.
    - Errors are drawn from normal distributions: of some ten thousand returns one may be 5 standard deviations off, so
      the limit is 5.5; and the spread of all, of which one standard error is 1 / sqrt(2 n), may be off by four of
      these and by 3 %, because decoders round.
    """

    FEW = 0.002
    SIGMAS = 5.5

    def __init__(self, optics, return_mode, laser, step_m, full_scale=100.0, retro_full_gain=None):
        self.optics, self.which, self.laser = optics, WHICH[return_mode], laser
        self.step_m, self.full_scale, self.retro_full_gain = step_m, full_scale, retro_full_gain
        # The most that a driver adds to bytes, which are not less than 0 before.
        self.added = 0.0
        # Of pulses that may be wrong for other reasons than the sensor.
        self.share = self.FEW
        self.failures, self.told = [], []

    def expect(self, what, holds, found=""):
        if not holds:
            self.failures.append(f"{what}: {found}" if found else what)

    def few(self, what, wrong, among, share=None):
        """At most a few of the pulses `among` are `wrong`."""
        count, of = np.count_nonzero(wrong & among), np.count_nonzero(among)
        self.expect(what, count <= (share or self.share) * of + 1, f"{count} of {of} pulses")
        return count

    def run(self, wanted, read):
        sure = wanted.is_sure
        count = wanted.echoes.count
        there = np.isfinite(read.range_m)
        # A single ray of a wide beam on a rod or a wire is near a scanner's threshold.
        self.expect("most pulses are sure", np.mean(sure) > 0.6, f"{np.mean(sure):.1%}")
        odd = np.zeros(len(sure), bool)
        errors = []
        for column, which in enumerate(self.which):
            place = which(wanted.echoes)
            range_m, signal = wanted.echoes.at(place)
            odd |= there[:, column] != (count > 0)
            both = there[:, column] & (count > 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                error = read.range_m[:, column] - range_m - self.optics.shift_m(signal)
                std = np.hypot(self.optics.range_std_m(signal), self.step_m / np.sqrt(12))
                reflectance = signal * range_m**2
            errors.append((both, error, std, reflectance))
        wrong = self.few("a return where there is an echo, and none elsewhere", odd, sure, self.FEW / 6)
        self.ranges(errors, sure)
        if read.intensity is not None:
            self.intensities(errors, sure, read)
        if len(self.which) == 2:
            self.pairs(wanted, read, there, sure)
        self.told.append(f"{np.count_nonzero(sure)} pulses, {wrong} odd")
        return self

    def ranges(self, errors, sure):
        # What a laser's ranges have in common no driver can know: it must be as small as the profile says.
        common_std = self.optics.common_std_m()
        both, error, std, _ = errors[-1]
        usual = both & sure & (np.abs(error) < 0.3)
        bias = np.zeros(self.laser.max() + 1)
        for laser in np.unique(self.laser[usual]):
            own = usual & (self.laser == laser)
            bias[laser] = np.median(error[own]) if common_std else 0.0
            limit = 4.5 * common_std + 6 * np.median(std[own]) / np.sqrt(np.count_nonzero(own)) + 1e-3
            self.expect(f"laser {laser}: what its ranges are off by", abs(bias[laser]) <= limit,
                        f"{bias[laser]:.4f} m of {limit:.4f}")
        wild = np.zeros(len(sure), bool)
        spread = []
        for both, error, std, _ in errors:
            error = (error - bias[self.laser]) / np.hypot(std, 1e-4)
            wild |= both & ~(np.abs(error) <= self.SIGMAS)
            spread.append(error[both & sure & (np.abs(error) <= self.SIGMAS)])
        self.few("the range of the echo", wild, sure)
        error = spread[-1]
        std = np.std(error)
        # Each laser's own mean was taken off, or nothing was.
        limit = 4 / np.sqrt(2 * len(error)) + 0.03
        self.expect("ranges spread as the profile says", abs(std - 1) <= limit, f"{std:.3f} of 1 +- {limit:.3f}")
        self.told.append(f"ranges spread by {std:.3f} of the profile's")

    def byte(self, reflectance):
        """What stands for a reflectance: white is `full_scale`; a Velodyne's scale is logarithmic above that, up to 255
        at `retro_full_gain`."""
        value = self.full_scale * reflectance
        if self.retro_full_gain:
            with np.errstate(divide="ignore", invalid="ignore"):
                above = np.log(reflectance) / np.log(self.retro_full_gain)
            value = np.where(reflectance > 1, self.full_scale + (255 - self.full_scale) * above, value)
        return np.minimum(value, 255)

    def intensities(self, errors, sure, read):
        dull = np.zeros(len(sure), bool)
        noise = self.optics.noise["intensity_std"] * self.full_scale
        limit = self.SIGMAS * noise + 1
        for column, (both, _, _, reflectance) in enumerate(errors):
            wanted = self.byte(reflectance)
            error = read.intensity[:, column] - wanted
            # What is near nothing is cut off there.
            cut_off = (wanted < limit + self.added) & (error > 0) & (error <= limit + self.added)
            dull |= both & ~(np.abs(error) <= limit) & ~cut_off
        self.few("the intensity of the echo", dull, sure)
        both, _, _, reflectance = errors[-1]
        wanted = self.byte(reflectance)
        bright = both & sure & ~dull & (wanted > limit + self.added)
        error = read.intensity[bright, -1] - wanted[bright]
        for what, of in ("reflectance", reflectance[bright]), ("range", read.range_m[bright, -1]):
            edges = np.quantile(of, np.linspace(0, 1, 7))
            means = [np.mean(error[(of >= a) & (of <= b)]) for a, b in zip(edges, edges[1:])]
            slack = 0.15 + 5 * noise / np.sqrt(max(len(error) / 6, 1))
            self.expect(f"intensity over {what}", np.max(np.abs(means)) <= slack,
                        f"means are off by {np.round(means, 2).tolist()}, allowed {slack:.2f}")
        if self.retro_full_gain and np.any(reflectance[bright] > 1):
            retro = bright & (reflectance > 1)
            far = np.ptp(read.range_m[retro, -1]) > 40
            self.expect("retro-reflectors near and far", far)
            self.told.append(f"{np.count_nonzero(retro)} retro-reflected, bytes "
                             f"{np.min(read.intensity[retro, -1]):.0f} to {np.max(read.intensity[retro, -1]):.0f}")

    def pairs(self, wanted, read, there, sure):
        """The share of pulses with two returns, and what each of the two is."""
        count = wanted.echoes.count
        first, second = (which(wanted.echoes) for which in self.which)
        two = (count >= 2) & (first != second)
        apart = there.all(axis=1) & (read.range_m[:, 0] != read.range_m[:, 1])
        self.few("two returns where there are two echoes", apart != two, sure)
        shares = np.mean(apart[sure]), np.mean(two[sure])
        self.expect("the scene splits many beams", shares[1] > 0.02, f"{shares[1]:.1%} of them")
        best, last = wanted.echoes.strongest(), wanted.echoes.last()
        kinds = {
            "the strongest before the last": sure & (count >= 2) & (best != last),
            "the last the strongest": sure & (count >= 2) & (best == last),
        }
        for kind, which in kinds.items():
            self.expect(f"pulses with {kind}", np.count_nonzero(which) >= 5, f"{np.count_nonzero(which)}")
        self.few("the last return is the farther one", apart & (read.range_m[:, 1] < read.range_m[:, 0]), sure & apart)
        told = ", ".join(f"{np.count_nonzero(which)} with {kind}" for kind, which in kinds.items())
        self.told.append(f"two returns of {shares[0]:.2%} of pulses, expected {shares[1]:.2%} ({told})")


def self_test(compare, read):
    """What is wrong with the read returns and goes unnoticed; `compare(read)` gives a `Comparison` that ran."""
    two = np.isfinite(read.range_m).all(axis=1) if read.range_m.shape[1] == 2 else np.zeros(len(read.range_m), bool)
    split = np.flatnonzero(two & (read.range_m[:, 0] != read.range_m[:, -1]))
    twentieth = np.flatnonzero(np.isfinite(read.range_m[:, -1]))[::20]

    def farther(copy):
        copy.range_m[twentieth] += 0.5

    def noisier(copy):
        copy.range_m += np.random.default_rng(1).choice([0.012, -0.012], (len(copy.range_m), 1))

    def brighter(copy):
        copy.intensity *= 1.05

    def fewer(copy):
        copy.range_m[twentieth] = np.nan

    def exchanged(copy):
        copy.range_m[split] = copy.range_m[split][:, ::-1]

    def joined(copy):
        copy.range_m[split, 0] = copy.range_m[split, 1]

    changes = [farther, noisier, fewer] + [brighter] * (read.intensity is not None)
    changes += [exchanged, joined] if len(split) else []
    return [change.__name__ for change in changes if not compare(read.changed(change)).failures]
