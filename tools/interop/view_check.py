#!/usr/bin/env python3
"""Opens the live view of a running rig in headless Chromium and does what a user does. The default rig casts one ray a pulse.

Points must be drawn (pixels of the canvas) and described under the pointer, layers must hide, and a pause must reach
back. A fault that is started by its button must be in the fault log and end by its button. A dead link must look dead, and
recover. The keyboard must reach the cloud. A page of another site and another name must be refused, and a view for
others must ask for its token. A driven robot must move while an arrow is held, as button or as key, and stand afterwards.
Labels must be shown with their names. The panel of a camera must show its images and reach back in a pause, and players must
get them as a stream, behind the token. With --pictures DIR the page is kept as PNG: dark, light, and as a tablet and a phone
show it.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import atexit
import base64
import csv
import http.client
import itertools
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import websocket

from receiving import Judged, repeated, starts, stop_process

DRIVEN = """
[world]
scene = "room"

[robot]
trajectory = { kind = "drive", model = "differential", track_m = 0.5, max_speed_m_s = 1.0, twist = "127.0.0.1:%d" }

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:%d" } }
"""

CAMERA = """
seed = 1
start_utc = 2026-06-01T10:00:00Z

[world]
scene = "courtyard"
parameters = { grass_blades = 1000, trees = 2, tree_triangles = 1000 }

[robot]
trajectory = { kind = "circle", radius_m = 12.0, speed_m_s = 1.0 }

[[device]]
name = "front-left"
profile = "menura-gv231c"
mount = { translation_m = [0.0, 0.0, 1.2] }
link = { udp = { to = "127.0.0.1:%d", from = "127.0.0.7:%d" }, gvcp = "127.0.0.7:%d" }
settings = { image_width = 320, image_height = 240, frame_rate_hz = 5.0, sun_deg = [45.0, 200.0], streams_alone = true }
"""


class Browser:
    """Headless Chromium, spoken to by its debugging protocol."""

    def __init__(self, program, port, folder):
        # The view's thread has the lowest priority of a run. A browser that draws in software takes both cores, and would
        # leave it none.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
             "--ignore-gpu-blocklist", f"--remote-debugging-port={port}", "--remote-allow-origins=*",
             f"--user-data-dir={folder}", "--window-size=1280,800", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(16))
        atexit.register(self.process.kill)
        self.numbers = itertools.count(1)
        self.log = []
        for _ in range(200):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/json/list")
                pages = json.load(connection.getresponse())
                page = next(page for page in pages if page["type"] == "page")
                break
            except (OSError, StopIteration):
                time.sleep(0.1)
        else:
            raise RuntimeError("Chromium does not start")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        for domain in ("Page", "Runtime", "Log"):
            self.do(domain + ".enable")

    def do(self, method, **arguments):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": arguments}))
        while True:
            told = json.loads(self.socket.recv())
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.log.append(json.dumps(told["params"])[:400])

    def value(self, expression):
        told = self.do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def until(self, expression, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.value(expression):
                return found
            time.sleep(0.1)
        raise AssertionError(f"not within {seconds} s: {expression}\n" + "\n".join(self.log))

    def picture(self, path):
        data = self.do("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def key(self, name, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.do("Input.dispatchKeyEvent", type=kind, key=name, code=name, **more)

    def press(self, kind, name):
        self.do("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def close(self):
        self.socket.close()
        stop_process(self.process)


class Run:
    """A rig that runs with a live view."""

    def __init__(self, menura, *arguments):
        self.process = subprocess.Popen([menura, "run", *arguments], stderr=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, text=True)
        atexit.register(self.process.kill)
        self.address, self.token = starts(self.process, r"live view: http://([^/]+)/(?:#(\w+))?").groups()

    def ask(self, method, path, body=None, **headers):
        host = self.address.replace("0.0.0.0", "127.0.0.1")
        connection = http.client.HTTPConnection(host, timeout=10)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body=body and json.dumps(body), headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        _, self.said = self.process.communicate(timeout=60)
        return self.process.returncode

    def excuse(self):
        """After its end: that the rig could not hold its pace, if so."""
        missed = re.search(r"(\d+) of (\d+) packets MISSED", self.said)
        return missed[0] if missed and int(missed[1]) > 0.1 * int(missed[2]) else None


# The share of the canvas's pixels that have a colour, as points have and the ground has not.
COLOURED = """(() => {
  const gl = view.gl, w = view.canvas.width, h = view.canvas.height, p = new Uint8Array(4 * w * h);
  view.wanted = true; view.draw(performance.now(), true); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
  let n = 0;
  for (let i = 0; i < p.length; i += 4)
    if (Math.max(p[i], p[i + 1], p[i + 2]) - Math.min(p[i], p[i + 1], p[i + 2]) > 60) n++;
  return n / (w * h);
})()"""


def check(what, holds, more=""):
    print(("ok    " if holds else "WRONG ") + what, more)
    return bool(holds)


# A browser without a GPU takes a processor by itself; with nine rays a pulse, two slow ones cannot hold the rig's pace beside it.
ONE_RAY = [f"--set=device.{lidar}.settings.beam.shape=ray" for lidar in ("roof-lidar", "front-lidar")]


def default_rig(arguments, browser, folder):
    log = folder / "faults.csv"
    browser.log.clear()
    run = Run(arguments.menura, "--view", f"127.0.0.1:{arguments.port}", "--fault-log", str(log), *ONE_RAY, *arguments.set)
    fine = []
    try:
        browser.do("Page.navigate", url=f"http://{run.address}/")
        browser.until("document.readyState === 'complete' && typeof view === 'object' && view.count() > 1000")
        # On a busy machine few packets are decoded, so that a frame may have few points.
        end = time.monotonic() + 120
        while (share := browser.value(COLOURED)) <= 0.01 and time.monotonic() < end:
            time.sleep(1)
        fine.append(check("points are drawn", share > 0.01, f"{share:.1%} of the pixels have a colour"))
        devices = browser.value("[...document.querySelectorAll('.card h3 span')].map(e => e.textContent)")
        fine.append(check("every device has a card", len(devices) >= 5, devices))
        values = browser.until("status.devices.filter(d => d.values.length > 0).map(d => d.name)")
        fine.append(check("values of other sensors are decoded", "gnss" in values and "imu" in values, values))
        bars = browser.value("document.querySelectorAll('.bins rect[height]:not([height=\"0\"])').length")
        fine.append(check("lateness has bars", bars > 2, bars))
        named = browser.value("""[...document.querySelectorAll('button,input,select,canvas[role]')].filter(e =>
            !(e.textContent.trim() || e.ariaLabel || e.labels?.length || e.getAttribute('aria-label'))).length""")
        fine.append(check("every control has a name", named == 0, named))

        before = browser.value("[view.turn, view.distance]")
        browser.value("document.getElementById('cloud').focus()")
        browser.key("ArrowLeft")
        browser.key("+", "+")
        after = browser.value("[view.turn, view.distance]")
        fine.append(check("the keyboard turns and zooms", before[0] != after[0] and before[1] > after[1]))
        browser.key("Home")

        lidar = devices[0]
        browser.value(f"""(() => {{ const d = document.getElementById('fault-device'), k = document.getElementById('fault-kind');
            d.value = {json.dumps(lidar)}; d.dispatchEvent(new Event('change'));
            k.value = 'packet-loss'; k.dispatchEvent(new Event('change'));
            document.querySelector('#fault-keys [name=probability]').value = '0.5';
            document.getElementById('fault-start').click(); }})()""")
        browser.until("status.faults.length === 1 && status.time_s * 1e9 > status.faults[0].begins_ns + 5e8")
        faulted = browser.until(f"status.devices.find(d => d.name === {json.dumps(lidar)}).faulted")
        fine.append(check("a fault begins by its button", faulted > 0, f"{faulted} packets"))
        if arguments.pictures:
            pictures(browser, arguments.pictures)
        browser.value("document.querySelector('#fault-list button').click()")
        browser.until("status.faults[0].ends_ns !== null && status.time_s * 1e9 > status.faults[0].ends_ns")
        fine.append(check("and ends by its button", True))
        limits = browser.value("""(() => { const f = document.querySelector('#fault-keys [name=probability]');
            f.value = '7'; return [f.min, f.max, f.checkValidity()]; })()""")
        fine.append(check("a field has its limits", limits == ["0", "1", False], limits))
        browser.value(f"faults.tell({{start: {{device: {json.dumps(lidar)}, kind: 'packet-loss', probability: 7}}}}).then(() => 1)")
        wrong = browser.until("!document.getElementById('fault-error').hidden && document.getElementById('fault-error').textContent")
        fine.append(check("what is wrong is told", "probability" in wrong and "0 to 1" in wrong, wrong.splitlines()[0]))
        fine += pause_and_point(browser) + dead_link(browser, lidar)

        order = {"start": {"device": lidar, "kind": "link-down", "duration_s": 1}}
        for what, headers, wanted in (
                ("a page of another site", {"Origin": "http://evil.example"}, 403),
                ("a name that points here", {"Host": "evil.example"}, 403),
                ("a form", {"Content_Type": "text/plain"}, 415)):
            status, _ = run.ask("POST", "/api/fault", order, **headers)
            fine.append(check(f"{what} is refused", status == wanted, status))
        # A browser's own view of it: another origin can neither send JSON nor read.
        browser.do("Page.navigate", url=f"http://localhost:{arguments.port}/")
        browser.until("document.readyState === 'complete'")
        told = browser.value(f"""fetch('http://{run.address}/api/fault', {{method: 'POST',
            headers: {{'Content-Type': 'application/json'}}, body: '{json.dumps(order)}'}})
            .then(a => a.status, () => 'refused')""")
        fine.append(check("another origin in the browser is refused", told == "refused", told))
        told = json.loads(run.ask("POST", "/api/fault", "list")[1])
        fine.append(check("and has begun nothing", len(told["ok"]["faults"]) == 2))
        serious = [line for line in browser.log if "Content Security Policy" not in line and "/api/fault" not in line]
        fine.append(check("the page logs no error", not serious, serious[:2]))
    finally:
        code = run.stop()
    rows = list(csv.DictReader(log.open()))
    lost = sum(row["effect"] == "lost" for row in rows)
    ends = [row["effect"] for row in rows if row["effect"] in ("begins", "ends")]
    fine.append(check("the fault log has it", lost > 0 and ends == 2 * ["begins", "ends"], f"{lost} packets lost"))
    fine.append(check("the run ends well", code == 0, code))
    return Judged(fine, all(fine), run.excuse())


# Points of one device that are shown; the argument is its place among the devices.
COUNT_OF = "view.shown().filter(part => part.device === %d).reduce((sum, part) => sum + part.count, 0)"

# Where the nearest point of those that are shown is on the screen.
A_POINT = """(() => {
  const m = view.matrix(), box = view.canvas.getBoundingClientRect();
  const at = (x, y, z, row) => m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row];
  for (const { frame, first, count } of view.shown()) for (let i = first; i < first + count; i += view.pace.every) {
    const [x, y, z] = frame.values.slice(5 * i, 5 * i + 3), w = at(x, y, z, 3);
    const px = box.x + box.width / 2 * (1 + at(x, y, z, 0) / w), py = box.y + box.height / 2 * (1 - at(x, y, z, 1) / w);
    if (w > 1 && document.elementFromPoint(px, py) === view.canvas) return [px, py];
  }
})()"""


def pause_and_point(browser):
    waits = browser.value("document.getElementById('notices').textContent")
    fine = [check("a device without a driver says so", "front-scanner waits for a driver" in waits, waits)]
    curves = browser.value("[...cards.card('imu').curves].filter(([, points]) => points.length > 2).map(([name]) => name)")
    fine.append(check("values have curves", "rate" in curves and "angular rate" in curves, curves))
    # A browser that is quick comes here before there are two seconds to go back, and a slow page may have taken no points then.
    browser.until("""(() => { const back = view.now - 2;
        const has = view.frames.some(({ time_s, points }) => points[0] > 0 && back - 0.9 < time_s && time_s <= back);
        if (has && timeline.statuses[0].time_s < back - 0.5) document.getElementById('pause').click();
        return timeline.isPaused; })()""")
    time.sleep(0.3)
    before = browser.value("[view.time, view.frames.length]")
    browser.value("""(() => { const s = document.getElementById('scrub'); s.value = -2;
        s.dispatchEvent(new Event('input')); })()""")
    after = browser.value("[view.time, view.frames.length, view.count(), timeline.shown().time_s, status.time_s]")
    # The card's own status is at most a quarter of a second, times five on a strained machine, before what is shown.
    fine.append(check("a pause reaches back", abs(before[0] - after[0] - 2) < 0.01 and after[1] == before[1]
                      and after[2] > 0 and after[3] <= after[0] + 0.1 < after[4], after))
    tip = None
    for attempt in range(60):
        # A strained page may leave a point out that it has drawn a moment ago.
        point = browser.value(A_POINT)
        if not point:
            time.sleep(0.5)
            continue
        x, y = point
        browser.do("Input.dispatchMouseEvent", type="mouseMoved", x=x + attempt % 2, y=y)
        time.sleep(0.5)
        tip = browser.value("!document.getElementById('tip').hidden && document.getElementById('tip').textContent")
        if tip:
            break
    fine.append(check("a point is described", tip and all(word in tip for word in ("range", "east", "intensity", "ring", "object")), tip))
    browser.value("document.querySelector('#clouds input').click()")
    hidden, others = browser.value(f"[{COUNT_OF % 0}, view.count()]")
    browser.value("document.querySelector('#clouds input').click()")
    shown = browser.value(COUNT_OF % 0)
    fine.append(check("a layer hides, and no other", hidden == 0 < min(shown, others), [hidden, others, shown]))
    browser.value("document.getElementById('pause').click()")
    slow = browser.value("""(() => { const p = new Pace(true), all = [];
        for (let s = 0; s < 9; s++) { p.drew(1e3 * s, 80); p.hear(2e3 * s, 100 * s, 5 * s, 0); }
        all.push(p.period, p.every, p.strain);
        for (let s = 9; s < 99; s++) { p.drew(1e3 * s, 2); p.hear(2e3 * s, 100 * s, 40, 0); }
        return [...all, p.period, p.every, p.strain]; })()""")
    fine.append(check("a slow page draws less, and more again", slow[:3] == [500, 5, 4] and slow[3:] == [16, 1, 0], slow))
    return fine


def dead_link(browser, lidar):
    """Its figures, the card and the cloud must show that nothing comes any more; and that it comes again."""
    browser.value(f"faults.tell({{start: {{device: {json.dumps(lidar)}, kind: 'link-down', duration_s: 20}}}}).then(() => 1)")
    of_lidar = f"status.devices.find(d => d.name === {json.dumps(lidar)}).recent"
    dead = browser.until(f"""{of_lidar}.activity === 'silent' && {of_lidar}.rate_hz === 0 && {COUNT_OF % 0} === 0
        && document.querySelector('.card dd.bad')?.textContent""")
    fine = [check("a dead link looks dead", "silent" in dead and "link-down" in dead, dead)]
    rate = browser.until(f"{of_lidar}.activity === 'sends' && {COUNT_OF % 0} > 0 && {of_lidar}.rate_hz > 100 && {of_lidar}.rate_hz")
    fine.append(check("and recovers", True, rate))
    return fine


def pictures(browser, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, scheme, width, height in (("dark", "dark", 1400, 900), ("light", "light", 1400, 900),
                                        ("tablet", "light", 820, 1180), ("phone", "dark", 420, 900),
                                        ("phone-light", "light", 420, 900)):
        browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                   mobile=False)
        time.sleep(2)
        browser.picture(folder / f"{name}.png")
    browser.do("Emulation.clearDeviceMetricsOverride")


def for_others(arguments):
    run = Run(arguments.menura, "--view", f"0.0.0.0:{arguments.port + 1}", *arguments.set)
    try:
        fine = [check("a view for others has a token", run.token and len(run.token) == 32)]
        page, _ = run.ask("GET", "/")
        status, _ = run.ask("GET", "/api/status")
        cloud, _ = run.ask("GET", "/api/cloud", Authorization="Bearer 0123")
        right, _ = run.ask("GET", "/api/status", Authorization=f"Bearer {run.token}")
        video, _ = run.ask("GET", "/video/nobody")
        fine.append(check("so do streams of images", video == 401, video))
        video, _ = run.ask("GET", f"/video/nobody?token={run.token}")
        fine.append(check("which take it in their address", video == 404, video))
        found = (page, status, cloud, right)
        fine.append(check("and asks for it", found == (200, 401, 401, 200), found))
    finally:
        run.stop()
    return fine


def driven(arguments, browser, folder):
    rig = folder / "driven.toml"
    rig.write_text(DRIVEN % (arguments.port + 4, arguments.port + 5))
    run = Run(arguments.menura, str(rig), "--view", f"127.0.0.1:{arguments.port + 2}")
    try:
        browser.do("Page.navigate", url=f"http://{run.address}/")
        browser.until("document.readyState === 'complete' && status?.is_driven === true")
        browser.value("(() => { const c = document.getElementById('colour'); c.value = '5';"
                      " c.dispatchEvent(new Event('change')); })()")
        # Points that are labelled come a moment later, and their names with the next status.
        names = browser.until("""(names => names.some(name => name !== 'unlabelled') && names)(
            [...document.querySelectorAll('#labels:not([hidden]) li')].map(e => e.textContent))""")
        share = browser.value(COLOURED)
        labelled = check("colour shows labels, which are named", share > 0, names)
        rows = browser.value("""[...document.querySelectorAll('#drive button')].map(b => b.getBoundingClientRect())
            .map(r => [r.x, r.y])""")
        (ux, uy), (lx, ly), (sx, sy), (rx, ry), (dx, dy) = rows
        pad = check("the pad is a cross", ux == sx == dx and ly == sy == ry and uy < sy < dy and lx < sx < rx, rows)
        place = "status.pose[0].slice(0, 2)"
        start = browser.value(place)
        box = browser.value("(() => { const r = document.querySelector('#drive button').getBoundingClientRect();"
                            " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        at = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        # The page draws without a graphics card, and on a busy machine its commands come late.
        browser.do("Input.dispatchMouseEvent", type="mousePressed", **at)
        browser.until(f"Math.hypot(status.pose[0][0] - {start[0]}, status.pose[0][1] - {start[1]}) > 0.4")
        browser.do("Input.dispatchMouseEvent", type="mouseReleased", **at)
        there = browser.value(place)
        way = sum((a - b) ** 2 for a, b in zip(start, there)) ** 0.5
        # The keys drive although the cloud has the focus; with Shift they turn it.
        browser.value("document.getElementById('cloud').focus()")
        before = browser.value("[status.pose[1][2], view.turn]")
        browser.press("keyDown", "ArrowLeft")
        browser.until(f"status.pose[1][2] !== {before[0]}")
        browser.press("keyUp", "ArrowLeft")
        after = browser.value("[status.pose[1][2], view.turn]")
        # It brakes, and the page may show it late: it has stood for a second of the run.
        since, *there = browser.value(f"[status.time_s, ...{place}]")
        end = time.monotonic() + 120
        rest = math.inf
        while rest >= 0.05 and time.monotonic() < end:
            now, *still = browser.until(f"status.time_s > {since} + 1 && [status.time_s, ...{place}]")
            rest, since, there = math.dist(there, still), now, still
        fine = [labelled, pad, check("the robot moves while an arrow is held", way > 0.4, f"{way:.2f} m"),
                check("arrow keys drive it", after[0] != before[0] and after[1] == before[1], [before, after]),
                check("and it stands afterwards", rest < 0.05, f"{rest:.3f} m")]
        # Who says once "forward" and is gone.
        run.ask("POST", "/api/drive", {"forward_m_s": 0.5, "turn_rad_s": 0})
        # The page may show it late: the time is that of the run.
        def moved(x, y):
            return f"Math.hypot(status.pose[0][0] - {x}, status.pose[0][1] - {y})"

        since = browser.until(f"{moved(*still)} > 0.05 && status.time_s")
        since, x, y = browser.until(f"status.time_s > {since} + 3 && [status.time_s, ...{place}]")
        rest = browser.until(f"status.time_s > {since} + 1 && [{moved(x, y)}]")[0]
        fine.append(check("nor does it run away from who is silent", rest < 0.05, f"{rest:.3f} m"))
    finally:
        run.stop()
    return fine


# Mean and spread of the brightness of the panel's image, and its size.
PANEL = """(() => {
  const canvas = document.querySelector('#pictures canvas'), [w, h] = [canvas.width, canvas.height];
  const p = canvas.getContext('2d').getImageData(0, 0, w, h).data;
  let sum = 0, squares = 0;
  for (let i = 0; i < p.length; i += 4) { const v = (p[i] + p[i + 1] + p[i + 2]) / 3; sum += v; squares += v * v; }
  const mean = sum / (w * h);
  return [mean, Math.sqrt(squares / (w * h) - mean * mean), w, h];
})()"""


def parts(run, path, count):
    """The type of a stream and its first images."""
    connection = http.client.HTTPConnection(run.address, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    found, boundary = [], answer.headers["Content-Type"].partition("boundary=")[2]
    assert answer.readline().decode().strip() == f"--{boundary}"
    while len(found) < count:
        head = {}
        while line := answer.readline().decode().strip():
            name, _, value = line.partition(": ")
            head[name.lower()] = value
        found.append((head["content-type"], answer.read(int(head["content-length"]))))
        assert answer.readline() == b"\r\n" and answer.readline().decode().strip() == f"--{boundary}"
    connection.close()
    return answer.headers["Content-Type"], found


def camera(arguments, browser, folder):
    rig = folder / "camera.toml"
    rig.write_text(CAMERA % (arguments.port + 6, arguments.port + 7, arguments.port + 8))
    run = Run(arguments.menura, str(rig), "--view", f"127.0.0.1:{arguments.port + 3}")
    try:
        browser.do("Page.navigate", url=f"http://{run.address}/")
        browser.until("document.readyState === 'complete' && typeof pictures === 'object'"
                      " && pictures.cameras.length === 1 && pictures.cameras[0].shown")
        mean, spread, *size = browser.value(PANEL)
        fine = [check("the panel of a camera shows an image", size == [320, 240] and 10 < mean < 250 and spread > 5,
                      [mean, spread, size])]
        seen = browser.value("pictures.cameras[0].seen")
        browser.until(f"pictures.cameras[0].seen > {seen} + 2")
        fine.append(check("and new ones", True))
        browser.until("pictures.cameras[0].kept[0].time_s < view.now - 2.5")
        browser.value("document.getElementById('pause').click()")
        browser.value("(() => { const s = document.getElementById('scrub'); s.value = -2; s.dispatchEvent(new Event('input')); })()")
        at, shown, between = browser.until("""(({ shown, kept }) => shown.time_s < timeline.end - 1.5 && [
            view.at, shown.time_s, kept.filter((one) => one.time_s > shown.time_s && one.time_s <= view.at).length
        ])(pictures.cameras[0])""")
        fine.append(check("a pause reaches back to the last image before it", shown <= at + 0.1 and between == 0,
                          [at, shown, between]))
        browser.value("document.getElementById('pause').click()")
        if arguments.pictures:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
            browser.until("pictures.cameras[0].shown.time_s > timeline.end")
            browser.picture(arguments.pictures / "camera.png")
        link = browser.value("document.querySelector('#pictures a').getAttribute('href')")
        kind, images = parts(run, link, 3)
        fine.append(check("the stream is MJPEG", kind == "multipart/x-mixed-replace; boundary=menura-frame", kind))
        is_jpeg = [kind == "image/jpeg" and data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9" for kind, data in images]
        fine.append(check("of different images", all(is_jpeg) and images[0][1] != images[1][1] != images[2][1]))
        gone = [run.ask("GET", "/video/nobody")[0], run.ask("GET", "/video/front-left", Host="evil.example")[0]]
        fine.append(check("another camera or name of the machine is refused", gone == [404, 403], gone))
        # A player that reads nothing holds up nobody.
        deaf = [http.client.HTTPConnection(run.address, timeout=60) for _ in range(7)]
        for connection in deaf:
            connection.request("GET", link)
        fine.append(check("who reads nothing holds up nobody", len(parts(run, link, 2)[1]) == 2))
        serious = [line for line in browser.log if "pictures" in line or "/api/picture" in line]
        fine.append(check("the panel logs no error", not serious, serious[:2]))
    finally:
        code = run.stop()
    fine.append(check("the run ends well", code == 0, code))
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium", help="the browser")
    parser.add_argument("--port", type=int, default=25480, help="the first of ten ports")
    parser.add_argument("--pictures", type=Path, help="where pictures of the page go")
    parser.add_argument("--set", nargs=argparse.REMAINDER, default=[], help="arguments for `menura run`")
    arguments = parser.parse_args()
    # Chromium may still write to its profile when it has been told to end.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        browser = Browser(arguments.chromium, arguments.port + 9, folder / "profile")
        try:
            fine = repeated("the default rig", lambda: default_rig(arguments, browser, folder)) + for_others(arguments)
            fine += driven(arguments, browser, folder) + camera(arguments, browser, folder)
        finally:
            browser.close()
    print(f"{sum(fine)} of {len(fine)} checks passed")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
