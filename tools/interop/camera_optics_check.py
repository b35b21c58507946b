#!/usr/bin/env python3
"""Measures pictures of Menura's cameras with OpenCV, and compares them with what optics says.

`projection`: edges of a chessboard are where OpenCV's projectPoints puts them with the calibration file that Menura
writes, to 0.1 pixels, for each lens. For the wide-angle lens of Elmquist et al. 2021 equations 1 and 2 count as well.
`calibration`: a chessboard that eight cameras see from different sides gives back their focal length and centre.
`chart`: a ColorChecker has its colours, by the sky's light and by the sun's.
`blur`: the edge of a moving camera's picture is as wide as speed times exposure says, and a rolling shutter leans it.
`truth`: poses, depths, labels and flow of the ground truth are those of the geometry, and a recording with one worker
has the same bytes.

Exit code 0 when all is well, 1 when a check fails.
"""

import argparse
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
import yaml
from gvsp_frames import frames, mean_of
from mcap.reader import make_reader

# Longest time that a recording may take.
PATIENCE_S = 1800
SQUARE_M, COLUMNS, ROWS = 0.2, 15, 11
BOARD_X_M = 2.0
# World to the optical axes of a camera that looks east: x right is south, y down, z east.
OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
HEIGHT_M = 1.2
LENSES = {
    "pinhole": ("plumb_bob", 60.0, []),
    "plumb-bob": ("plumb_bob", 60.0, [-0.12, 0.03, 0.0005, -0.0003, -0.002]),
    "rational": ("rational_polynomial", 60.0, [0.1, -0.05, 0.001, -0.0005, 0.01, 0.2, -0.01, 0.002]),
    "fisheye": ("equidistant", 80.0, [0.02, -0.004, 0.001, -0.0002]),
    "wide-angle": ("fov", 70.0, []),
}
# Positions and roll, pitch, yaw of the cameras that calibrate.
VIEWS = [
    ([0.2, 0.0, 0.0], [0, 0, 0]), ([0.4, 0.9, 0.0], [10, 0, -28]), ([0.4, -0.9, 0.0], [-10, 0, 28]),
    ([0.4, 0.0, 0.8], [0, 25, 0]), ([0.4, 0.0, -0.8], [0, -25, 10]), ([0.7, 0.7, 0.5], [20, 20, -25]),
    ([0.7, -0.7, -0.5], [-20, -20, 25]), ([0.0, 0.6, -0.6], [5, -15, -15]),
]
# The 24 patches of the ColorChecker, sRGB (BabelColor's means, D65).
CHART = [
    "735244 c29682 627a9d 576c43 8580b1 67bdaa", "d67e2c 505ba6 c15a63 5e3c6c 9dbc40 e0a32e",
    "383d96 469449 af363c e7c71f bb5695 0885a1", "f3f3f2 c8c8c8 a0a0a0 7a7a79 555555 343434",
]
PATCH_M = 0.3
TRUTH_TOPICS = {"depth": ("<f4", 1), "labels": ("<u2", 1), "flow": ("<f4", 2)}


class Checks:
    """Counts what fails."""

    def __init__(self):
        self.failed = 0

    def that(self, holds, text):
        """Says whether it holds."""
        print(("ok   " if holds else "FAIL ") + text, flush=True)
        self.failed += not holds


def linear(code):
    """Linear red, green and blue of a colour such as "c29682"."""
    values = np.array([int(code[at:at + 2], 16) / 255 for at in (0, 2, 4)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def write_board(folder, columns, rows, size_m, colour_of, name):
    """An upright board of squares with its middle at (BOARD_X_M, 0, HEIGHT_M), each square with its own material."""
    lines, materials = [f"mtllib {name}.mtl"], []
    for row in range(rows):
        for column in range(columns):
            left, top = (columns / 2 - column) * size_m, HEIGHT_M + (rows / 2 - row) * size_m
            corners = [(left, top), (left - size_m, top), (left - size_m, top - size_m), (left, top - size_m)]
            lines += [f"v {BOARD_X_M} {y} {z}" for y, z in corners]
            first = 4 * (row * columns + column) + 1
            lines += [f"usemtl p{row}x{column}", f"f {first} {first + 1} {first + 2} {first + 3}"]
            red, green, blue = colour_of(row, column)
            materials.append(f"newmtl p{row}x{column}\nKd {red} {green} {blue}\n")
    (folder / f"{name}.obj").write_text("\n".join(lines) + "\n")
    (folder / f"{name}.mtl").write_text("\n".join(materials))


def chessboard(row, column):
    """Squares of 90 and 2 % reflectance."""
    return [0.9 if (row + column) % 2 == 0 else 0.02] * 3


def inner_corners():
    """Corners of four squares, in World, row by row."""
    return np.array([
        [BOARD_X_M, (COLUMNS / 2 - column) * SQUARE_M, HEIGHT_M + (ROWS / 2 - row) * SQUARE_M]
        for row in range(1, ROWS) for column in range(1, COLUMNS)
    ])


def rig(scene, devices, trajectory='{ kind = "still" }'):
    """A rig's text; `devices` are name, profile, position, roll pitch yaw, settings."""
    text = f"""\
seed = 3
start_utc = 2026-06-01T10:00:00Z
[world]
scene = "{scene}"
[robot]
trajectory = {trajectory}
"""
    for number, (name, profile, place, turn, settings) in enumerate(devices):
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
        text += f"""
[[device]]
name = "{name}"
profile = "{profile}"
mount = {{ translation_m = {list(map(float, place))}, roll_pitch_yaw_deg = {list(map(float, turn))} }}
[device.link]
udp = {{ to = "127.0.0.1:{20300 + number}", from = "127.0.0.2:{20400 + number}" }}
gvcp = "127.0.1.{number + 1}:3956"
[device.settings]
{lines}
"""
    return text


def recorded(menura, folder, name, text, duration_s, *arguments):
    """The folder of a recording of the rig."""
    file, out = folder / f"{name}.toml", folder / name
    file.write_text(text)
    subprocess.run(
        [menura, "record", file, "--duration", f"{duration_s}s", "--out", out, *arguments],
        check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S,
    )
    return out


def calibration(menura, folder, name, device):
    """Focal lengths, centre, model and coefficients that Menura writes for a device."""
    file = folder / f"{name}-{device}.yaml"
    subprocess.run(
        [menura, "profiles", "--rig", folder / f"{name}.toml", "--device", device, "--calibration", file],
        check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S,
    )
    written = yaml.safe_load(file.read_text())
    matrix = np.array(written["camera_matrix"]["data"]).reshape(3, 3)
    return matrix, written["distortion_model"], np.array(written["distortion_coefficients"]["data"]), written


def projected(points, position, rotation, matrix, model, coefficients):
    """Where OpenCV puts points of World for a camera whose axes forward, left, up are turned by `rotation`."""
    turn = OPTICAL @ rotation.T
    shift = -turn @ position
    vector, _ = cv2.Rodrigues(turn)
    points = np.asarray(points, float).reshape(-1, 1, 3)
    if model == "equidistant":
        image, _ = cv2.fisheye.projectPoints(points, vector, shift.reshape(3, 1), matrix, coefficients)
    else:
        image, _ = cv2.projectPoints(points, vector, shift, matrix, coefficients)
    return image.reshape(-1, 2)


def by_the_paper(points, hfov_deg, width, centre):
    """Equations 1 and 2 of Elmquist et al. 2021, solved for the pixel."""
    tangent = np.tan(np.radians(hfov_deg) / 2)
    scale = np.tan(tangent) / tangent
    ray = (points - [0.0, 0.0, HEIGHT_M]) @ OPTICAL.T
    launched = ray[:, :2] / ray[:, 2:] / tangent
    radius = np.linalg.norm(launched, axis=1, keepdims=True)
    # r2 = tan(r1 tan w) / tan w, and the launched ray is r2 / s long.
    first = np.arctan(radius * scale * tangent) / tangent
    return launched / radius * first * width / 2 + centre


def rotation_of(roll, pitch, yaw):
    """Forward, left, up of a camera in World; angles in degrees, as in a rig."""
    (cr, sr), (cp, sp), (cy, sy) = [(np.cos(a), np.sin(a)) for a in np.radians([roll, pitch, yaw])]
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def found_corners(image, expected):
    """Corners near the expected ones, to a part of a pixel; NaN of those too near to the edge."""
    grey = np.clip(image / max(image.max(), 1) * 255, 0, 255).astype(np.uint8)
    height, width = image.shape
    inside = np.all((expected > 12) & (expected < [width - 12, height - 12]), axis=1)
    start = expected[inside].astype(np.float32).reshape(-1, 1, 2)
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 60, 1e-4)
    found = np.full(expected.shape, np.nan)
    found[inside] = cv2.cornerSubPix(grey, start, (20, 20), (-1, -1), stop).reshape(-1, 2)
    return found


def edge_offsets(image, project):
    """How far edges between squares are from where `project` puts them, pixels: a mean for each side of a square."""
    offsets = []
    across, down = np.linspace(0.2, 0.8, 60), np.arange(60) / 59 * 0.6 + 0.2
    for row in range(ROWS):
        for column in range(1, COLUMNS):
            y = np.full(60, (COLUMNS / 2 - column) * SQUARE_M)
            z = HEIGHT_M + (ROWS / 2 - row - down) * SQUARE_M
            offsets.append(side_offset(image, project(np.stack([np.full(60, BOARD_X_M), y, z], axis=1))))
    for row in range(1, ROWS):
        for column in range(COLUMNS):
            y = (COLUMNS / 2 - column - across) * SQUARE_M
            z = np.full(60, HEIGHT_M + (ROWS / 2 - row) * SQUARE_M)
            points = project(np.stack([np.full(60, BOARD_X_M), y, z], axis=1))
            offsets.append(side_offset(image.T, points[:, ::-1]))
    return np.array([offset for offset in offsets if offset is not None])


def side_offset(image, points):
    """The mean distance along rows from an edge that runs down to `points`, x and y; `None` near the image's border."""
    height, width = image.shape
    if np.any(points < 20) or np.any(points > [width - 21, height - 21]):
        return None
    order = np.argsort(points[:, 1])
    rows = np.arange(int(np.ceil(points[:, 1].min())), int(points[:, 1].max()) + 1)
    expected = np.interp(rows, points[order, 1], points[order, 0])
    found = []
    for row, at in zip(rows, expected, strict=True):
        first = int(round(at)) - 12
        cut = image[row, first:first + 25]
        left, right = cut[:5].mean(), cut[-5:].mean()
        found.append(first - 0.5 + np.sum((cut - right) / (left - right)))
    return float(np.mean(np.array(found) - expected))


MONO = "menura-gv121m"
COMMON = {
    "streams_alone": True, "frame_rate_hz": 20.0, "exposure_us": 1000.0, "daylight": "overcast", "sun_deg": [50.0, 180.0],
    "pixel_format": "Mono16", "packet_bytes": 9000, "vignetting": [0.0, 0.0],
}


def check_board(menura, folder, checks):
    """`projection` and `calibration`."""
    write_board(folder, COLUMNS, ROWS, SQUARE_M, chessboard, "board")
    devices = [
        (name, MONO, [0, 0, HEIGHT_M], [0, 0, 0],
         {**COMMON, "lens_model": model, "hfov_deg": hfov, "distortion": k, "serial": name})
        for name, (model, hfov, k) in LENSES.items()
    ]
    for number, ([x, y, z], turn) in enumerate(VIEWS):
        settings = {**COMMON, "frame_rate_hz": 10.0, "hfov_deg": 60.0, "distortion": [-0.1, 0.02]}
        devices.append((f"view-{number}", MONO, [x, y, z + HEIGHT_M], turn, settings))
    out = recorded(menura, folder, "boards", rig("board.obj", devices), 0.15)
    corners = inner_corners()
    for name, (_, hfov, _) in LENSES.items():
        image = mean_of(frames(out / f"{name}.pcap"))
        matrix, model, k, _ = calibration(menura, folder, "boards", name)
        here = np.array([0, 0, HEIGHT_M])

        def by_opencv(points, here=here, matrix=matrix, model=model, k=k):
            return projected(points, here, np.eye(3), matrix, model, k)

        ways = {f"OpenCV's {model}": by_opencv}
        if name == "wide-angle":
            width, centre = image.shape[1], matrix[:2, 2]
            ways["the paper's equations"] = lambda points, hfov=hfov, width=width, centre=centre: (
                by_the_paper(points, hfov, width, centre)
            )
        for way, project in ways.items():
            off = edge_offsets(image, project)
            rms = np.sqrt(np.mean(off**2))
            checks.that(
                len(off) > 100 and rms < 0.1 and abs(off.mean()) < 0.02,
                f"projection, {name}, by {way}: {len(off)} edges, {rms:.3f} px rms, {np.abs(off).max():.3f} at most, "
                f"{off.mean():+.4f} in the mean",
            )
    matrix, _, k, _ = calibration(menura, folder, "boards", "view-0")
    flat = np.stack([-corners[:, 1], -(corners[:, 2] - HEIGHT_M), np.zeros(len(corners))], axis=1)
    objects, images = [], []
    for number, ([x, y, z], turn) in enumerate(VIEWS):
        image = mean_of(frames(out / f"view-{number}.pcap"))
        expected = projected(corners, np.array([x, y, z + HEIGHT_M]), rotation_of(*turn), matrix, "plumb_bob", k)
        found = found_corners(image, expected)
        seen = ~np.isnan(found[:, 0])
        objects.append(flat[seen].astype(np.float32))
        images.append(found[seen].astype(np.float32))
    fixed = cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_K3
    rms, back, k_back, _, _ = cv2.calibrateCamera(objects, images, image.shape[::-1], None, None, flags=fixed)
    off = abs(back[0, 0] / matrix[0, 0] - 1)
    checks.that(
        off < 1e-3 and np.allclose(back[:2, 2], matrix[:2, 2], atol=1.0),
        f"calibration: fx {back[0, 0]:.2f} instead of {matrix[0, 0]:.2f} ({100 * off:.3f} %), centre "
        f"{back[0, 2]:.2f}, {back[1, 2]:.2f}, k {k_back.ravel()[0]:.4f}, {k_back.ravel()[1]:.4f}, {rms:.3f} px rms",
    )


def check_chart(menura, folder, checks):
    """`chart`."""
    codes = [row.split() for row in CHART]
    write_board(folder, 6, 4, PATCH_M, lambda row, column: linear(codes[row][column]), "chart")
    common = {**COMMON, "pixel_format": "BayerRG12p", "binning": 2, "hfov_deg": 60.0}
    devices = [
        ("sky", "menura-gv231c", [0, 0, HEIGHT_M], [0, 0, 0], {**common, "exposure_us": 1500.0}),
        ("sun", "menura-gv231c", [0, 0, HEIGHT_M], [0, 0, 0],
         {**common, "exposure_us": 250.0, "daylight": "clear", "sun_deg": [40.0, 270.0]}),
    ]
    out = recorded(menura, folder, "chart", rig("chart.obj", devices), 0.1)
    for name in ("sky", "sun"):
        image = mean_of(frames(out / f"{name}.pcap"))
        matrix, model, k, _ = calibration(menura, folder, "chart", name)
        means = np.zeros((4, 6, 3))
        for row in range(4):
            for column in range(6):
                middle = [BOARD_X_M, (2.5 - column) * PATCH_M, HEIGHT_M + (1.5 - row) * PATCH_M]
                [[u, v]] = projected([middle], np.array([0, 0, HEIGHT_M]), np.eye(3), matrix, model, k)
                u, v = int(u / 2 / 2) * 2, int(v / 2 / 2) * 2
                patch = image[v - 20:v + 20, u - 20:u + 20]
                red, blue = patch[::2, ::2].mean(), patch[1::2, 1::2].mean()
                green = (patch[::2, 1::2].mean() + patch[1::2, ::2].mean()) / 2
                # Light falls off to the side, as the fourth power of the cosine.
                ray = np.array(middle) - [0, 0, HEIGHT_M]
                means[row, column] = np.array([red, green, blue]) / (ray[0] / np.linalg.norm(ray)) ** 4
        wanted = np.array([[linear(code) for code in row] for row in codes])
        got = means / means[3, 0] * wanted[3, 0]
        off = np.abs(got - wanted) / (wanted + 0.02)
        checks.that(
            off.max() < 0.05 and means.max() < 4000,
            f"chart, {name}: 24 colours, at most {100 * off.max():.1f} % off white-balanced albedo",
        )


def ramp_of(profile):
    """Middle and width of the straight ramp that fits the only step of a row best."""
    middle = int(np.argmax(np.abs(np.convolve(np.diff(profile), np.ones(25), "same"))))
    high, low = profile[middle - 70:middle - 40].mean(), profile[middle + 40:middle + 70].mean()
    at = np.arange(middle - 40, middle + 40)
    share = (profile[at] - low) / (high - low)
    middles, widths = np.meshgrid(np.arange(middle - 6, middle + 6, 0.1), np.arange(1, 60, 0.1), indexing="ij")
    ramps = np.clip(0.5 - (at - middles[..., None]) / widths[..., None], 0, 1)
    best = np.argmin(np.sum((ramps - share) ** 2, axis=-1))
    return middles.flat[best], widths.flat[best]


def check_blur(menura, folder, checks):
    """`blur`."""
    halves = lambda _row, column: [0.9 if column < 8 else 0.02] * 3  # noqa: E731
    write_board(folder, 16, 11, SQUARE_M, halves, "edge")
    speed_m_s, exposure_us = 2.0, 20_000.0
    settings = {**COMMON, "hfov_deg": 60.0, "exposure_us": exposure_us, "f_number": 16.0, "lens_transmission": 0.3}
    devices = [
        ("global", "menura-gv231c", [0, 0, HEIGHT_M], [0, 0, 0], {**settings, "pixel_format": "BayerRG12p"}),
        ("rolling", MONO, [0, 0, HEIGHT_M], [0, 0, 0], settings),
    ]
    # It drives north and looks east.
    drive = f'{{ kind = "line", start_m = [0.0, -0.2, 0.0], yaw_deg = 90.0, speed_m_s = {speed_m_s} }}'
    devices = [(name, profile, place, [0, 0, -90], s) for name, profile, place, _, s in devices]
    out = recorded(menura, folder, "blur", rig("edge.obj", devices, drive), 0.06, "--truth")
    for name in ("global", "rolling"):
        image = frames(out / f"{name}.pcap")[0].pixels.astype(float)
        matrix, _, _, _ = calibration(menura, folder, "blur", name)
        scale = matrix[0, 0] / BOARD_X_M * speed_m_s
        if name == "global":
            # Green pixels alone, of which each row has every second.
            green = np.empty((image.shape[0] // 2, image.shape[1]))
            green[:, 1::2], green[:, ::2] = image[::2, 1::2], image[1::2, ::2]
            image = green
        rows = np.arange(100, image.shape[0] - 100, 20)
        if name == "global":
            _, wide = ramp_of(image[20:-20].mean(axis=0))
            wanted = scale * exposure_us * 1e-6
            checks.that(abs(wide / wanted - 1) < 0.04, f"blur: {wide:.2f} px instead of {wanted:.2f}")
        else:
            places = [ramp_of(image[row:row + 20].mean(axis=0))[0] for row in rows]
            lean = np.polyfit(rows, places, 1)[0]
            line_ns = next(truth(out / "truth.mcap", "rolling", "frames"))["line_ns"]
            wanted = scale * line_ns * 1e-9
            checks.that(
                abs(abs(lean) / wanted - 1) < 0.05,
                f"rolling shutter: leans {abs(lean):.4f} px a row instead of {wanted:.4f}",
            )


def truth(path, device, topic):
    """The messages of a device's topic in the ground truth."""
    with path.open("rb") as file:
        for _, _, message in make_reader(file).iter_messages(topics=[f"/devices/{device}/{topic}"]):
            yield json.loads(message.data)


def image_of(message):
    """The pixels of a foxglove.RawImage."""
    kind, channels = TRUTH_TOPICS[{"32FC1": "depth", "mono16": "labels", "32FC2": "flow"}[message["encoding"]]]
    data = np.frombuffer(base64.b64decode(message["data"]), kind)
    return data.reshape(message["height"], message["width"], channels).squeeze()


def check_truth(menura, folder, checks):
    """`truth`."""
    write_board(folder, COLUMNS, ROWS, SQUARE_M, chessboard, "board")
    settings = {
        **COMMON, "hfov_deg": 60.0, "distortion": [-0.1, 0.02], "binning": 2, "frame_rate_hz": 10.0,
        "truth_labels": True, "truth_depth": True, "truth_flow": True,
    }
    speed_m_s = 0.4
    devices = [
        ("rolling", MONO, [0.1, 0, HEIGHT_M], [0, 0, -90], settings),
        ("global", "menura-gv231c", [0.1, 0, HEIGHT_M], [3, -4, -80], {**settings, "pixel_format": "BayerRG8"}),
    ]
    drive = f'{{ kind = "line", start_m = [0.0, -0.2, 0.0], yaw_deg = 90.0, speed_m_s = {speed_m_s} }}'
    text = rig("board.obj", devices, drive)
    out = recorded(menura, folder, "truth", text, 0.25, "--truth")
    alone = text.replace("[world]", "[engine]\nworkers = 1\n[world]", 1)
    again = recorded(menura, folder, "truth-again", alone, 0.25, "--truth")
    for name in ("rolling.pcap", "global.pcap"):
        same = (out / name).read_bytes() == (again / name).read_bytes()
        checks.that(same, f"truth: {name} is the same with one worker")
    file = out / "truth.mcap"
    for device in ("rolling", "global"):
        told = list(truth(file, device, "frames"))
        sent = frames(out / f"{device}.pcap")
        checks.that(
            [frame["block"] for frame in told] == [frame.block for frame in sent]
            and [frame["stamp"] for frame in told] == [frame.stamp for frame in sent],
            f"truth, {device}: {len(told)} frames have the block and stamp of their leaders",
        )
        rows = sent[0].pixels.shape[0]
        worst = 0.0
        for frame in told:
            middle = frame["exposure_start_ns"] + frame["exposure_ns"] / 2 + frame["line_ns"] * (rows - 1) / 2
            # The mount's 0.1 m forward is north, as the robot drives.
            north = -0.2 + speed_m_s * frame["time_ns"] * 1e-9 + 0.1
            off = np.subtract(frame["position_m"], [0.0, north, HEIGHT_M])
            worst = max(worst, np.abs(off).max(), abs(middle - frame["time_ns"]) * 1e-9)
        checks.that(worst < 1e-6, f"truth, {device}: poses are those of the middle of the exposure ({worst:.1e} m)")
        matrix, model, k, _ = calibration(menura, folder, "truth", device)
        images = {topic: [image_of(one) for one in truth(file, device, topic)] for topic in TRUTH_TOPICS}
        corners = inner_corners()
        depth_off, flow_off = [], []
        for number in range(1, len(told)):
            places = []
            for frame in (told[number], told[number - 1]):
                x, y, z, w = frame["orientation_xyzw"]
                turn = np.array([
                    [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                    [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                    [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
                ])
                position = np.array(frame["position_m"])
                full = projected(corners, position, turn, matrix, model, k)
                places.append((position, turn, (full - 0.5) / 2))
            (position, turn, now), (_, _, before) = places
            depths = ((corners - position) @ turn)[:, 0]
            for corner, (u, v) in enumerate(now):
                column, row = int(round(u)), int(round(v))
                if not (2 < column < images["depth"][number].shape[1] - 3 and 2 < row < rows - 3):
                    continue
                depth_off.append(images["depth"][number][row, column] - depths[corner])
                flow_off.append(images["flow"][number][row, column] - (before[corner] - now[corner]))
        depth_off, flow_off = np.abs(depth_off), np.abs(flow_off)
        checks.that(
            len(depth_off) > 100 and depth_off.max() < 0.01 and flow_off.max() < 0.1,
            f"truth, {device}: {len(depth_off)} corners, depth at most {1e3 * depth_off.max():.1f} mm and flow at most "
            f"{flow_off.max():.3f} px off",
        )
        checks.that(bool(np.isnan(images["flow"][0]).all()), f"truth, {device}: the first frame has no flow")
        names = names_of(file)
        board = names["labels"].index("board.obj")
        share = np.mean(images["labels"][1] == board)
        is_hit = np.isfinite(images["depth"][1])
        checks.that(
            share > 0.3 and np.array_equal(images["labels"][1] == board, is_hit),
            f"truth, {device}: the board's label is on {100 * share:.0f} % of the pixels, where there is depth",
        )


def names_of(path):
    """The attachment names.json."""
    with path.open("rb") as file:
        for attachment in make_reader(file).iter_attachments():
            if attachment.name == "names.json":
                return json.loads(attachment.data)
    raise KeyError("names.json")


CASES = {"board": check_board, "chart": check_chart, "blur": check_blur, "truth": check_truth}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--only", choices=CASES, action="append", help="run these cases only")
    parser.add_argument("--keep", type=Path, help="write recordings to this folder and keep them")
    options = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for case in options.only or CASES:
            CASES[case](options.menura, folder, checks)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
