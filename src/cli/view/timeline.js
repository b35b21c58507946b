"use strict";
// Pauses the view, and shows earlier instants of the last ten seconds.

class TimeLine {
  constructor(view, parts, changed) {
    Object.assign(this, parts, { view, changed });
    // Statuses of the run in the last ten seconds.
    this.statuses = [];
    this.button.addEventListener("click", () => this.pause(!this.isPaused));
    this.scrub.addEventListener("input", () => {
      this.pause(true);
      view.at = this.end + Number(this.scrub.value);
      this.moved();
    });
  }

  get isPaused() { return this.view.at !== null; }

  pause(isPaused) {
    if (isPaused === this.isPaused) return;
    this.end = this.view.now;
    this.view.at = isPaused ? this.end : null;
    this.scrub.value = 0;
    // No status was stored during the pause, so statuses before the pause are discarded.
    if (!isPaused) this.statuses = [];
    this.moved();
  }

  moved() {
    this.view.wanted = true;
    this.button.textContent = this.isPaused ? "▶" : "❚❚";
    this.button.setAttribute("aria-label", this.isPaused ? "Go on" : "Pause");
    this.scrub.min = -Math.max(1, Math.ceil(Math.min(HISTORY_S, this.span)));
    const back = Number(this.scrub.value);
    this.text.textContent = !this.isPaused ? "live" : back === 0 ? "paused" : `${back.toFixed(1)} s`;
    this.text.className = this.isPaused ? "held" : "";
    this.marks();
    this.changed();
  }

  get span() {
    const first = Math.min(this.view.frames[0]?.time_s ?? Infinity, this.statuses[0]?.time_s ?? Infinity);
    return Math.max(0, (this.isPaused ? this.end : this.view.now) - first);
  }

  add(told) {
    this.statuses.push(told);
    while (this.statuses[0].time_s < told.time_s - HISTORY_S) this.statuses.shift();
    const least = -Math.max(1, Math.ceil(Math.min(HISTORY_S, this.span)));
    if (Number(this.scrub.min) !== least) this.scrub.min = least;
    this.marks();
  }

  // The status of the run at the time that is shown.
  shown() {
    if (!this.isPaused) return this.statuses.at(-1);
    return this.statuses.findLast((told) => told.time_s <= this.view.at + 0.05) || this.statuses[0];
  }

  // Marks periods below the slider: those with a fault, and those with refused, late or dropped packets.
  marks() {
    const canvas = this.strip;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0) return;
    if (canvas.width !== width) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    const end = this.isPaused ? this.end : this.view.now;
    const length = -Number(this.scrub.min);
    const x = (time) => Math.min(1, Math.max(0, 1 - (end - time) / length)) * width;
    const bar = (from, to, colour, top, high) => {
      context.fillStyle = cssColour(colour);
      context.fillRect(x(from), top, Math.max(1.5, x(to) - x(from)), high);
    };
    bar(end - this.span, end, "--line", height / 2 - 1, 2);
    for (const fault of this.statuses.at(-1)?.faults || []) {
      const to = fault.ends_ns === null ? end : fault.ends_ns / 1e9;
      if (to > end - length && fault.begins_ns / 1e9 < end) bar(fault.begins_ns / 1e9, to, "--warn", 0, height);
    }
    this.statuses.forEach((told, i) => {
      if (i > 0 && misses(told) > misses(this.statuses[i - 1])) bar(this.statuses[i - 1].time_s, told.time_s, "--bad", height / 2, height / 2);
    });
  }
}

function misses(told) {
  return told.devices.reduce((sum, device) => sum + device.sent_late + device.dropped + device.send_errors, 0);
}

function cssColour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
