"use strict";
// Polls the run for new data and shows the data.

const $ = (id) => document.getElementById(id);
const token = decodeURIComponent(location.hash.slice(1));
const view = new CloudView($("cloud"));
const faults = new Faults($("fault"), ask);
const cards = new Cards($("cards"), (name) => faults.choose(name));
const pictures = new Pictures($("cameras"), $("pictures"), view, ask);
const drive = new Drive($("drive"), $("speed"), ask);
const overlay = new Overlay(view, $("tip"), $("mark"), $("names"));
const timeline = new TimeLine(view, { button: $("pause"), scrub: $("scrub"), text: $("when"), strip: $("strip") }, () => show());
let status = null;
let seenFrame = 0;
let pathLength = 0;
let labelNames = [];
let trouble = "";

async function ask(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body === undefined) return fetch(path, { headers, cache: "no-store" });
  headers["Content-Type"] = "application/json";
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

// Repeats `work` in the given period. Only one request is open at a time, so a slow page polls less often.
async function again(work, period) {
  for (;;) {
    const begun = performance.now();
    try {
      if (!document.hidden) await work();
    } catch (error) {
      trouble = error instanceof TypeError ? "The run is over, or cannot be reached." : error.message;
      showNotices();
      await new Promise((done) => setTimeout(done, 1000));
    }
    await new Promise((done) => setTimeout(done, Math.max(5, period() - (performance.now() - begun))));
  }
}

async function lookAtCloud() {
  // In a pause, new frames would replace the stored frames.
  if (timeline.isPaused) return;
  const answer = await ask(`/api/cloud?after=${seenFrame}`);
  if (answer.status !== 200 || timeline.isPaused) return;
  const body = await answer.arrayBuffer();
  seenFrame = Number(new DataView(body).getBigUint64(0, true));
  view.add(body);
  if (overlay.pointer) overlay.show();
}

// Whether labels are needed. They cost the rig time, so they are requested only while the page shows them.
function wantsLabels() { return view.mode === LABELS || (overlay.isFound && view.pace.strain === 0); }

async function lookAtStatus() {
  if (faults.forms.size === 0) await lookAtRig();
  const answer = await ask(`/api/status?path=${pathLength}${wantsLabels() ? "&labels=1" : ""}`);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  trouble = "";
  status = told;
  pathLength = told.path_length;
  labelNames = told.labels || labelNames;
  view.path.push(...told.path);
  const sum = (of) => told.devices.reduce((sum, device) => sum + of(device), 0);
  const late = sum((device) => device.sent_late + device.dropped);
  view.pace.hear(performance.now(), sum((device) => device.packets), late, Math.max(0, ...told.devices.map((device) => device.behind_s)));
  faults.show(told);
  $("drive").hidden = !told.is_driven;
  if (timeline.isPaused) return;
  cards.note(told);
  timeline.add(told);
  // A frame covers a tenth of a second and arrives later. If none has arrived after 0.3 s, the devices have sent
  // nothing.
  view.now = Math.max(view.now, told.time_s - 0.3);
  if (!view.frames.length || view.frames.at(-1).time_s < view.now - HOLD_S) view.poses = { robot: told.pose, sensors: told.sensors };
  view.wanted = true;
  show();
}

async function lookAtRig() {
  const answer = await ask("/api/rig");
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  faults.set(told.devices);
  pictures.set(told.devices, token);
  view.robotSize = told.robot_size_m;
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Shows the status of the run at the selected time.
function show() {
  const told = timeline.shown();
  if (!told) return;
  const name = told.rig.split("/").pop();
  setText($("rig"), name);
  if (document.title !== `${name} · Menura`) document.title = `${name} · Menura`;
  setText($("clock"), `${told.time_s.toFixed(1)} s · ×${told.real_time_factor.toFixed(1)} of real time`);
  const [x, y, z] = told.pose[0];
  const [a, b, c, w] = told.pose[1];
  const yaw = (Math.atan2(2 * (w * c + a * b), 1 - 2 * (b * b + c * c)) * 180) / Math.PI;
  setText($("pose"), `east ${x.toFixed(2)}, north ${y.toFixed(2)}, up ${z.toFixed(2)} m, yaw ${yaw.toFixed(1)}°`
    + (told.contacts ? `, ${told.contacts} contact${told.contacts > 1 ? "s" : ""}` : ""));
  cards.show(told);
  showClouds(told);
  showLabels();
  showLegend();
  showNotices();
}

// Shows messages above the cloud: errors, silent and waiting devices, and late devices.
function showNotices() {
  const told = timeline.shown();
  const lines = trouble ? [[trouble, "bad"]] : [];
  if (!view.gl) lines.push(["This browser has no WebGL: the cloud cannot be drawn.", "bad"]);
  for (const device of told?.devices || []) {
    const [does, mark] = activity(told, device);
    if (device.recent.activity === "silent") lines.push([`${device.name}: ${does}`, mark]);
    else if (device.recent.activity === "waits-for-driver") lines.push([`${device.name} ${does} at ${device.link}`, mark]);
  }
  const late = (told?.devices || []).filter(({ behind_s, recent }) => behind_s > 0.1 || isMuch(recent.sent_late + recent.dropped, recent.rate_hz * recent.window_s));
  const parts = late.slice(0, 3).map(({ name, behind_s, recent: { sent_late, dropped } }) =>
    `${name} ${[behind_s > 0.1 && `${ago(behind_s)} behind`, troubles({ sent_late, dropped })].filter(Boolean).join(", ")}`);
  if (late.length > 3) parts.push(`${late.length - 3} more`);
  if (late.length) lines.push([`Late in the last ${Math.round(late[0].recent.window_s)} s: ${parts.join("; ")}.`, "bad"]);
  setText($("pace"), view.pace.text());
  const text = lines.flat().join("\n");
  if ($("notices").dataset.text === text) return;
  $("notices").dataset.text = text;
  $("notices").replaceChildren(...lines.map(([line, mark]) => element("li", line, mark)));
}

// Shows a check box for the points of each device that has points.
function showClouds(told) {
  const known = $("clouds").children.length;
  const devices = told.devices.filter((device) => device.points > 0);
  if (devices.length === known) return;
  $("clouds").replaceChildren(...devices.map((device) => {
    const index = told.devices.indexOf(device);
    const label = element("label", undefined, "check");
    const box = element("input");
    box.type = "checkbox";
    box.checked = !view.hidden.has(index);
    box.addEventListener("change", () => {
      if (box.checked) view.hidden.delete(index);
      else view.hidden.add(index);
      view.wanted = true;
    });
    label.append(box, ` points of ${device.name}`);
    return label;
  }));
}

// Lists the 24 most frequent labels of the points that are shown, in the order of their numbers.
function showLabels() {
  $("labels").hidden = view.mode !== LABELS || !labelNames.length;
  if ($("labels").hidden) return;
  const counts = [...view.labels()].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([label]) => label).sort((a, b) => a - b);
  if ($("labels").dataset.shown === counts.join()) return;
  $("labels").dataset.shown = counts.join();
  $("labels").replaceChildren(...counts.map((label) => {
    const row = element("li", labelNames[label] || `label ${label}`);
    const mark = element("canvas");
    [mark.width, mark.height] = [12, 12];
    const context = mark.getContext("2d");
    context.fillStyle = labelColour(label);
    context.fillRect(0, 0, 12, 12);
    row.prepend(mark);
    return row;
  }));
}

const LEGENDS = [["0 m", ""], ["dark", "bright"], ["first", "last"], ["low", "6 m up"], ["", ""], ["", ""]];
function showLegend() {
  const [low, high] = LEGENDS[view.mode];
  setText($("legend-low"), low);
  setText($("legend-high"), view.mode === 0 ? `${view.reach} m` : high);
  $("ranges").hidden = view.mode >= 4;
}

function listen() {
  $("colour").addEventListener("change", () => {
    view.mode = Number($("colour").value);
    showLegend();
    showLabels();
    view.wanted = true;
  });
  $("size").addEventListener("input", () => { view.size = Number($("size").value); view.wanted = true; });
  $("keep").addEventListener("input", () => {
    view.keep = Number($("keep").value);
    $("keep-text").textContent = `${view.keep.toFixed(1)} s`;
    view.wanted = true;
  });
  $("follow").addEventListener("change", () => { view.follow = $("follow").checked; view.wanted = true; });
  for (const box of document.querySelectorAll("[data-layer]"))
    box.addEventListener("change", () => { view.layers[box.dataset.layer] = box.checked; view.wanted = true; });
  $("above").addEventListener("click", () => view.fromAbove());
  $("home").addEventListener("click", () => view.home());
  $("speed").addEventListener("input", () => { $("speed-text").textContent = `${Number($("speed").value).toFixed(1)} m/s`; });
  $("cloud").addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    timeline.pause(!timeline.isPaused);
  });
  // A click elsewhere closes the list of layers.
  addEventListener("pointerdown", (event) => { if (!event.target.closest?.("#layers")) $("layers").open = false; });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    view.colours = new Map();
    view.ramp($("ramp"));
    $("labels").dataset.shown = "";
    view.wanted = true;
    show();
  });
}

function drawAlways() {
  requestAnimationFrame(drawAlways);
  if (!view.draw()) return;
  overlay.place(status?.devices || []);
  overlay.scale($("scale-bar"), $("scale-text"));
}

listen();
view.ramp($("ramp"));
if (matchMedia("(max-width: 60rem)").matches) $("faults").open = false;
requestAnimationFrame(drawAlways);
// A page that draws less often also polls less often.
again(lookAtStatus, () => 250 * (1 + view.pace.strain));
again(() => pictures.look(), () => Math.max(100, view.pace.period));
again(lookAtCloud, () => Math.max(60, view.pace.period));
