"use strict";
// Asks the run again and again for what is new and shows it; sends faults and orders.

const $ = (id) => document.getElementById(id);
const token = decodeURIComponent(location.hash.slice(1));
const view = new CloudView($("cloud"));
let status = null;
let seenFrame = 0;
let pathLength = 0;

// What the keys of each kind look like; a kind that is not here has none that it needs.
const KEYS = {
  "packet-loss": "probability=0.1", "duplication": "probability=0.1 after_us=100",
  "reordering": "probability=0.1 by_packets=2", "delay": "delay_ms=5 jitter_ms=2",
  "truncation": "probability=0.1 to_bytes=100", "bit-errors": "rate=0.0001", "line-noise": "rate=0.001",
  "dropped-bytes": "probability=0.01", "framing-breaks": "probability=0.01",
  "gnss-jump": "offset_m=[5,0,0]", "laser-dead": "lasers=[3,7]", "motor-stall": "stops_within_s=1",
  "window-dirty": "transmission=0.3 from_deg=330 to_deg=30", "shot-limiting": "reduction=0.3",
  "alert": "id=1 category=\"TEST\" level=\"WARNING\" message=\"a test\"", "counter-jump": "counts=1000",
  "low-battery": "battery_v=10.5", "late-replies": "delay_ms=50",
};

async function ask(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body === undefined) return fetch(path, { headers, cache: "no-store" });
  headers["Content-Type"] = "application/json";
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

function say(text) {
  if ($("message").textContent !== text) $("message").textContent = text;
}

// One request at a time: who is slow asks less often.
async function again(work, period) {
  for (;;) {
    const begun = performance.now();
    try {
      if (!document.hidden) await work();
    } catch (error) {
      say(error instanceof TypeError ? "The run is over, or cannot be reached." : error.message);
      await new Promise((done) => setTimeout(done, 1000));
    }
    await new Promise((done) => setTimeout(done, Math.max(5, period - (performance.now() - begun))));
  }
}

async function lookAtCloud() {
  const answer = await ask(`/api/cloud?after=${seenFrame}`);
  if (answer.status !== 200) return;
  const bytes = await answer.arrayBuffer();
  seenFrame = Number(new DataView(bytes).getBigUint64(0, true));
  view.add(new Uint8Array(bytes, 8));
}

async function lookAtStatus() {
  const answer = await ask(`/api/status?path=${pathLength}${view.mode === LABELS ? "&labels=1" : ""}`);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  say("");
  status = told;
  pathLength = told.path_length;
  view.path.push(...told.path);
  [view.robot, view.quaternion] = told.pose;
  view.wanted = true;
  show();
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function show() {
  const name = status.rig.split("/").pop();
  $("rig").textContent = name;
  document.title = `${name} · Menura`;
  $("clock").textContent = `${status.time_s.toFixed(1)} s · ×${status.real_time_factor.toFixed(1)} of real time`;
  const [x, y, z] = status.pose[0];
  const [a, b, c, w] = status.pose[1];
  const yaw = (Math.atan2(2 * (w * c + a * b), 1 - 2 * (b * b + c * c)) * 180) / Math.PI;
  $("pose").textContent = `east ${x.toFixed(2)} m, north ${y.toFixed(2)} m, up ${z.toFixed(2)} m, yaw ${yaw.toFixed(1)}°`
    + (status.contacts ? `, ${status.contacts} contacts` : "");
  $("drive").hidden = !status.is_driven;
  showDevices();
  showFaults();
  showLabels();
  showLegend();
}

// The labels of the points that are shown, the most frequent first.
function showLabels() {
  $("labels").hidden = view.mode !== LABELS || !status.labels;
  if ($("labels").hidden) return;
  const counts = [...view.labels()].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([label]) => label).sort((a, b) => a - b);
  if ($("labels").dataset.shown === counts.join()) return;
  $("labels").dataset.shown = counts.join();
  $("labels").replaceChildren(...counts.map((label) => {
    const row = element("li", status.labels[label] || `label ${label}`);
    const mark = element("canvas");
    [mark.width, mark.height] = [12, 12];
    const context = mark.getContext("2d");
    context.fillStyle = labelColour(label);
    context.fillRect(0, 0, 12, 12);
    row.prepend(mark);
    return row;
  }));
}

// With spaces that no line is broken at.
function micros(us) {
  if (us < 1000) return `${us.toFixed(us < 10 ? 1 : 0)}\u00a0µs`;
  return us < 1e6 ? `${(us / 1000).toFixed(us < 1e5 ? 1 : 0)}\u00a0ms` : `${(us / 1e6).toFixed(1)}\u00a0s`;
}

const cards = new Map();
function showDevices() {
  for (const device of status.devices) {
    let card = cards.get(device.name);
    if (!card) {
      card = element("article", undefined, "card");
      card.append(element("h3"), element("dl"));
      card.innerHTML += '<svg class="bins" viewBox="0 0 240 48" role="img"></svg>';
      cards.set(device.name, card);
      $("cards").append(card);
    }
    const [head, list, bins] = card.children;
    head.replaceChildren(element("span", device.name), element("small", `${device.profile} · ${device.link}`));
    const rows = [];
    const troubles = [["send_errors", "refused"], ["sent_late", "late"], ["dropped", "dropped"]]
      .filter(([key]) => device[key] > 0).map(([key, word]) => `${device[key]} ${word}`);
    rows.push(["misses", troubles.join(", ") || (device.packets ? "none" : "nothing sent yet"), troubles.length ? "bad" : device.packets ? "good" : "waiting"]);
    const share = device.nominal_rate_hz ? ` of ${device.nominal_rate_hz.toFixed(0)}` : "";
    rows.push(["rate", `${device.rate_hz.toFixed(device.rate_hz < 100 ? 1 : 0)}${share} /s`]);
    if (device.packets) rows.push(["late p50, p99, max", ["p50", "p99", "max"].map((key) => micros(device.lateness_us[key])).join(", ")]);
    if (device.faulted) rows.push(["packets under a fault", device.faulted]);
    if (device.hosts.length) rows.push(["hosts", device.hosts.join(", ")]);
    for (const { name, text } of device.values) rows.push([name, text.replace(/ (?=[^ ]*$)/, "\u00a0")]);
    list.replaceChildren(...rows.flatMap(([name, text, mark]) => [element("dt", name), element("dd", text, mark)]));
    drawBins(bins, device);
  }
}

// Packets by how late they were: each bar is twice as late as the one before it.
function drawBins(svg, device) {
  svg.toggleAttribute("hidden", device.packets === 0);
  const first = 1;
  const bins = new Array(16).fill(0);
  for (const { up_to_us, packets } of device.lateness)
    bins[Math.min(bins.length - 1, Math.max(0, Math.ceil(Math.log2(up_to_us / first))))] += packets;
  const most = Math.max(1, ...bins);
  const share = (packets) => (packets ? Math.max(1, 34 * Math.log1p(packets) / Math.log1p(most)) : 0);
  svg.setAttribute("aria-label", `Histogram of lateness of ${device.name}: half of the packets within ${micros(device.lateness_us.p50)}`);
  svg.innerHTML = bins.map((packets, i) =>
    `<rect x="${i * 15 + 1}" y="${36 - share(packets)}" width="13" height="${share(packets)}"></rect>`).join("")
    + [0, 5, 10, 14].map((i) => `<text x="${i * 15 + 1}" y="46">${["1 µs", "32 µs", "1 ms", "16 ms"][[0, 5, 10, 14].indexOf(i)]}</text>`).join("");
}

function fill(select, words) {
  if ([...select.options].map((option) => option.value).join() === words.join()) return false;
  select.replaceChildren(...words.map((word) => new Option(word)));
  return true;
}

function showFaults() {
  const listed = status.devices.map((device) => device.name);
  if (fill($("fault-device"), listed)) showKinds();
  const rows = status.faults.map((fault) => {
    const row = element("li");
    const now = status.time_s * 1e9;
    const isOver = fault.ends_ns !== null && fault.ends_ns <= now;
    const state = isOver ? "over" : now < fault.begins_ns ? `in ${((fault.begins_ns - now) / 1e9).toFixed(1)} s`
      : fault.ends_ns === null ? "on" : `${((fault.ends_ns - now) / 1e9).toFixed(1)} s left`;
    row.append(element("span", `${fault.name}: ${fault.kind} of ${fault.device}, ${state}`, isOver ? "over" : ""));
    if (fault.ends_ns === null) {
      const button = element("button", "End");
      button.setAttribute("aria-label", `End ${fault.name}`);
      button.addEventListener("click", () => tellFault({ end: fault.name }));
      row.append(button);
    }
    return row;
  });
  const text = rows.map((row) => row.textContent).join();
  if ($("fault-list").dataset.text === text) return;
  const focused = document.activeElement?.getAttribute("aria-label");
  $("fault-list").dataset.text = text;
  $("fault-list").replaceChildren(...rows.reverse());
  if (focused) [...$("fault-list").querySelectorAll("button")].find((button) => button.getAttribute("aria-label") === focused)?.focus();
}

function showKinds() {
  const device = status.kinds.find((device) => device.name === $("fault-device").value);
  fill($("fault-kind"), device ? device.kinds : []);
  $("fault-keys").value = KEYS[$("fault-kind").value] || "";
}

// "a=1 b=[2, 3] c=\"x y\"" as an object.
function keysOf(text) {
  const keys = {};
  const pattern = /\s*([A-Za-z_]+)\s*=\s*("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\S+)/gy;
  let match;
  let end = 0;
  while ((match = pattern.exec(text))) {
    end = pattern.lastIndex;
    try { keys[match[1]] = JSON.parse(match[2]); } catch { keys[match[1]] = match[2]; }
  }
  if (text.slice(end).trim()) throw new Error(`write KEY=VALUE, not \`${text.slice(end).trim()}\``);
  return keys;
}

async function tellFault(request) {
  const error = $("fault-error");
  error.hidden = true;
  try {
    const told = await (await ask("/api/fault", request)).json();
    if (told.error) throw new Error(told.error);
    await lookAtStatus();
  } catch (wrong) {
    error.textContent = wrong.message;
    error.hidden = false;
  }
}

$("fault").addEventListener("submit", (event) => {
  event.preventDefault();
  const start = { device: $("fault-device").value, kind: $("fault-kind").value };
  try {
    Object.assign(start, keysOf($("fault-keys").value));
  } catch (wrong) {
    $("fault-error").textContent = wrong.message;
    $("fault-error").hidden = false;
    return;
  }
  if ($("fault-for").value.trim()) start.duration_s = Number($("fault-for").value) || $("fault-for").value;
  tellFault({ start });
});
$("fault-device").addEventListener("change", showKinds);
$("fault-kind").addEventListener("change", () => { $("fault-keys").value = KEYS[$("fault-kind").value] || ""; });

const LEGENDS = [["0 m", ""], ["dark", "bright"], ["first", "last"], ["low", "6 m up"], ["", ""], ["", ""]];
function showLegend() {
  [$("legend-low").textContent, $("legend-high").textContent] = LEGENDS[view.mode];
  if (view.mode === 0) $("legend-high").textContent = `${view.reach} m`;
  $("legend").hidden = view.mode === LABELS;
}
$("colour").addEventListener("change", () => {
  view.mode = Number($("colour").value);
  showLegend();
  showLabels();
  view.wanted = true;
});
$("size").addEventListener("input", () => { view.size = Number($("size").value); view.wanted = true; });
$("keep").addEventListener("input", () => { view.keep = Number($("keep").value); view.forget(); view.wanted = true; });
$("follow").addEventListener("change", () => { view.follow = $("follow").checked; view.wanted = true; });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { view.wanted = true; });

// As long as a button is held, the robot is told again and again; it stands when nobody says anything.
let driving = null;
function order([forward, turn]) {
  const speed = Number($("speed").value);
  ask("/api/drive", { forward_m_s: forward * speed, turn_rad_s: turn * Math.min(2, speed * 2) }).catch(() => {});
}
function drive(go) {
  stopDriving();
  order(go);
  driving = setInterval(() => order(go), 200);
}
function stopDriving() {
  if (driving === null) return;
  clearInterval(driving);
  driving = null;
  order([0, 0]);
}
for (const button of document.querySelectorAll("#drive button")) {
  const go = button.dataset.go.split(" ").map(Number);
  button.addEventListener("pointerdown", () => drive(go));
  for (const name of ["pointerup", "pointerleave", "pointercancel", "blur"]) button.addEventListener(name, stopDriving);
  button.addEventListener("keydown", (event) => {
    if ((event.key === " " || event.key === "Enter") && !event.repeat) drive(go);
  });
  button.addEventListener("keyup", stopDriving);
}
addEventListener("blur", stopDriving);
$("speed").addEventListener("input", () => { $("speed-text").textContent = `${Number($("speed").value).toFixed(1)} m/s`; });

function drawAlways() {
  view.draw();
  requestAnimationFrame(drawAlways);
}
view.ramp($("ramp"));
if (!view.gl) say("This browser has no WebGL: the cloud cannot be drawn.");
drawAlways();
again(lookAtStatus, 250);
again(lookAtCloud, 60);
