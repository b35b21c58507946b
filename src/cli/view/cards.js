"use strict";
// Shows a card for each device: its activity, and curves of values that change too fast to read.

// Time span of a curve, seconds.
const CURVE_S = 30;

// Text of a time in microseconds, with non-breaking spaces.
function micros(us) {
  if (us < 1000) return `${us.toFixed(us < 10 ? 1 : 0)}\u00a0µs`;
  return us < 1e6 ? `${(us / 1000).toFixed(us < 1e5 ? 1 : 0)}\u00a0ms` : `${(us / 1e6).toFixed(1)}\u00a0s`;
}

function ago(seconds) {
  if (seconds < 0.1) return `${Math.max(1, Math.round(seconds * 1000))}\u00a0ms`;
  return seconds < 100 ? `${seconds.toFixed(1)}\u00a0s` : `${(seconds / 60).toFixed(0)}\u00a0min`;
}

// The faults of a device that are in effect at the time of a status.
function faultsOn(told, name) {
  const now = told.time_s * 1e9;
  return told.faults.filter((fault) => fault.device === name && fault.begins_ns <= now && (fault.ends_ns === null || fault.ends_ns > now));
}

// Text about a device's activity, and its CSS class.
function activity(told, device) {
  const { recent } = device;
  const since = recent.age_s === null ? "" : ` for ${ago(recent.age_s)}`;
  const faults = faultsOn(told, device.name).map((fault) => fault.kind).join(", ");
  if (recent.activity === "waits-for-driver") return ["waits for a driver", "waiting"];
  if (recent.activity === "idle") return [`idle${since}: no host asks`, "waiting"];
  if (recent.activity === "silent")
    return [recent.age_s === null ? "has sent nothing" : `silent${since}${faults ? `: ${faults}` : ""}`, "bad"];
  if (recent.age_s === null) return ["starts", "waiting"];
  return [`sends, last packet ${ago(recent.age_s)} ago${faults ? `; ${faults}` : ""}`, faults ? "warn" : "good"];
}

// Text with the counts of refused, late and dropped packets; empty if there are none.
function troubles(counts) {
  return [["send_errors", "refused"], ["sent_late", "late"], ["dropped", "dropped"]]
    .filter(([key]) => counts[key] > 0).map(([key, word]) => `${counts[key]} ${word}`).join(", ");
}

class Cards {
  constructor(parent, breakDevice) {
    Object.assign(this, { parent, breakDevice });
    this.cards = new Map();
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) target.isSeen = isIntersecting;
    });
  }

  // Stores the values of a status for the curves.
  note(told) {
    for (const device of told.devices) {
      const { curves } = this.card(device.name);
      const keep = (name, numbers) => {
        if (!curves.has(name)) curves.set(name, []);
        const curve = curves.get(name);
        curve.push([told.time_s, ...numbers]);
        while (curve[0][0] < told.time_s - CURVE_S - HISTORY_S) curve.shift();
      };
      keep("rate", [device.recent.rate_hz]);
      for (const { name, numbers } of device.values) if (numbers) keep(name, numbers);
    }
  }

  card(name) {
    if (this.cards.has(name)) return this.cards.get(name);
    const card = element("article", undefined, "card");
    const head = element("h3");
    head.append(element("i", undefined, "dot"), element("span", name), element("small"));
    const button = element("button", "Fault…", "small");
    button.type = "button";
    button.setAttribute("aria-label", `Start a fault of ${name}`);
    head.append(button);
    card.append(head, element("dl"));
    card.innerHTML += '<p class="caption">lateness since the start</p><svg class="bins" viewBox="0 0 240 48" role="img"></svg>';
    card.querySelector("button").addEventListener("click", () => this.breakDevice(name));
    card.curves = new Map();
    card.rows = new Map();
    card.isSeen = true;
    this.cards.set(name, card);
    this.parent.append(card);
    this.seen.observe(card);
    return card;
  }

  // Shows a status on all visible cards.
  show(told) {
    for (const device of told.devices) {
      const card = this.card(device.name);
      if (card.isSeen) this.fill(card, told, device);
    }
  }

  fill(card, told, device) {
    const [head, list, caption, bins] = card.children;
    const { recent } = device;
    const [does, mark] = activity(told, device);
    head.children[0].className = `dot ${mark}`;
    setText(head.children[2], `${device.profile} · ${device.link}`);
    head.children[2].title = head.children[2].textContent;
    const rows = [["status", does, mark]];
    const nominal = device.nominal_rate_hz ? ` of ${device.nominal_rate_hz.toFixed(device.nominal_rate_hz < 10 ? 1 : 0)}` : "";
    if (recent.age_s !== null) rows.push(["rate now", `${recent.rate_hz.toFixed(recent.rate_hz < 100 ? 1 : 0)}${nominal} /s`, "", "rate"]);
    if (device.behind_s > 0.05) rows.push(["behind real time", ago(device.behind_s), "bad"]);
    const span = `${Math.round(Math.min(10, recent.window_s))} s`;
    const [lately, inAll] = [troubles(recent), troubles(device)];
    if (device.packets || inAll) rows.push([`missed, ${span}`, lately || "none", lately ? "bad" : "good"]);
    if (inAll && inAll !== lately) rows.push(["since the start", inAll, "waiting"]);
    if (recent.lateness_us) {
      const [p50, p99, max] = recent.lateness_us.map(micros);
      rows.push([`late, ${span}`, `p50 ${p50}, p99 ${p99}, max ${max}`]);
    }
    if (device.faulted) rows.push(["packets under a fault", device.faulted]);
    if (device.hosts.length) rows.push(["hosts", device.hosts.join(", ")]);
    for (const { name, text, numbers } of device.values)
      rows.push([name, text.replace(/ (?=[^ ]*$)/, "\u00a0"), recent.activity === "silent" ? "waiting" : "", numbers && name]);
    this.fillRows(card, list, rows, told.time_s);
    caption.hidden = device.packets === 0;
    drawBins(bins, device);
  }

  // Changes only the elements whose content differs, because layout takes longer than drawing.
  fillRows(card, list, rows, time) {
    const names = rows.map(([name, , , curve]) => `${name.replace(/\d+ s/, "")}|${curve || ""}`).join("\n");
    if (card.names !== names) {
      card.names = names;
      card.rows = rows.map(([, , , curve]) => [element("dt"), element("dd"), curve ? element("canvas", undefined, "curve") : null]);
      list.replaceChildren(...card.rows.flat().filter(Boolean));
    }
    rows.forEach(([name, text, mark, curve], i) => {
      const [term, value, canvas] = card.rows[i];
      setText(term, name);
      setParts(value, String(text), canvas ? card.curves.get(curve)?.at(-1)?.length - 1 : 1);
      if (value.className !== (mark || "")) value.className = mark || "";
      if (canvas) drawCurve(canvas, card.curves.get(curve) || [], time, curve);
    });
  }
}

// Sets the text of a value. The numbers of three axes get the colours of their curves.
function setParts(node, text, axes) {
  if (!(axes > 1)) return setText(node, text);
  const parts = text.match(/^(.*?,)(.*?,)(.*)$/)?.slice(1) || [text];
  if (node.children.length !== parts.length) node.replaceChildren(...parts.map((_, axis) => element("span", "", `axis-${"xyz"[axis]}`)));
  parts.forEach((part, i) => setText(node.children[i], part));
}

function setText(node, text) { if (node.textContent !== text) node.textContent = text; }

// Draws the last half minute of one number or of the numbers of three axes. The scale of a rate starts at 0.
function drawCurve(canvas, points, time, name) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, width, height);
  const shown = points.filter(([at]) => at >= time - CURVE_S && at <= time + 0.3);
  if (shown.length < 2) return;
  const all = shown.flatMap((point) => point.slice(1));
  let [low, high] = [Math.min(...all), Math.max(...all)];
  if (name === "rate") low = 0;
  const least = Math.max(1e-3, 0.02 * Math.max(Math.abs(low), Math.abs(high)));
  if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const label = 46;
  const x = (at) => label + (width - label) * (1 - Math.max(0, time - at) / CURVE_S);
  const y = (value) => height - 2 - (height - 4) * (value - low) / (high - low);
  context.font = "9px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillStyle = cssColour("--soft");
  const text = (value) => value.toFixed(high - low < 0.1 ? 3 : high - low < 1 ? 2 : high - low < 20 ? 1 : 0);
  context.fillText(text(high), label - 5, 8);
  context.fillText(text(low), label - 5, height - 1);
  context.lineWidth = 1.3;
  for (let axis = 1; axis < shown[0].length; axis++) {
    context.strokeStyle = cssColour(shown[0].length === 2 ? "--accent" : AXES[axis - 1]);
    context.beginPath();
    for (const point of shown) context.lineTo(x(point[0]), y(point[axis]));
    context.stroke();
  }
}

// Draws a histogram of the packets by their lateness. The upper limit doubles from bar to bar.
function drawBins(svg, device) {
  svg.toggleAttribute("hidden", device.packets === 0);
  const first = 1;
  const bins = new Array(16).fill(0);
  for (const { up_to_us, packets } of device.lateness)
    bins[Math.min(bins.length - 1, Math.max(0, Math.ceil(Math.log2(up_to_us / first))))] += packets;
  const most = Math.max(1, ...bins);
  // Heights are whole pixels, so that few bars change from one status to the next.
  const share = (packets) => (packets ? Math.max(1, Math.round(34 * Math.log1p(packets) / Math.log1p(most))) : 0);
  const heights = bins.map(share).join();
  if (svg.dataset.heights === heights) return;
  svg.dataset.heights = heights;
  svg.setAttribute("aria-label", `Histogram of lateness of ${device.name}: half of the packets within ${micros(device.lateness_us.p50)}`);
  svg.innerHTML = bins.map((packets, i) =>
    `<rect x="${i * 15 + 1}" y="${36 - share(packets)}" width="13" height="${share(packets)}"></rect>`).join("")
    + [0, 5, 10, 14].map((i) => `<text x="${i * 15 + 1}" y="46">${["1 µs", "32 µs", "1 ms", "16 ms"][[0, 5, 10, 14].indexOf(i)]}</text>`).join("");
}
