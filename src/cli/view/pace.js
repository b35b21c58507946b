"use strict";
// Adapts the drawing to the machine. The page often runs on the processors that the rig needs, and often without a
// graphics card. It measures the time per picture. If a picture takes long or a device is late, it draws fewer pictures
// and points.

// Allowed values of n if only every n-th point is drawn. With odd numbers, each laser keeps some of its points. Larger
// numbers would hardly save time.
const STEPS = [1, 3, 5];
const MOST_STRAIN = 4;
// Longest time between two pictures, milliseconds, even if the rig is late: the page may not be the cause.
const LONGEST_MS = 500;

function isSoftware(gl) {
  const about = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

// Whether the number of late packets is worth a message: on a shared machine, a few packets are always late.
function isMuch(late, packets) { return late > 0.01 * (packets + late); }

class Pace {
  constructor(software) {
    this.software = software;
    // Mean time for one picture, milliseconds.
    this.cost = 20;
    this.first = true;
    // 0 while every device is on time. Each increase by 1 halves the processor time that the page may use.
    this.strain = 0;
    this.step = 0;
    this.drawn = 0;
    this.changed = 0;
    this.strained = 0;
    this.before = null;
    this.pictures = [];
  }

  // Share of a processor that drawing may use.
  get share() { return (this.software ? 0.25 : 0.6) / 2 ** this.strain; }

  // Time from one picture to the next, milliseconds.
  get period() { return Math.min(LONGEST_MS, Math.max(16, this.cost / this.share)); }

  // Every n-th point is drawn; this is n.
  get every() { return STEPS[this.step]; }

  isReady(now) { return now - this.drawn >= this.period; }

  // Records that a picture was drawn at `now` and took `cost`, both in milliseconds.
  drew(now, cost) {
    // The time of the first picture is ignored, because it includes work that is done only once.
    if (this.first) cost = this.cost;
    this.first = false;
    this.cost += (cost - this.cost) * (cost > this.cost ? 0.3 : 0.1);
    this.drawn = now;
    this.pictures.push(now);
    while (this.pictures[0] < now - 3000) this.pictures.shift();
    if (now - this.changed < 1000) return;
    const step = this.period > 200 ? this.step + 1 : this.period < 60 ? this.step - 1 : this.step;
    if (!STEPS[step] || step === this.step) return;
    this.step = step;
    this.changed = now;
  }

  // Adapts the strain to the state of the rig: numbers of packets and of late packets so far, and delay behind real
  // time, seconds.
  hear(now, packets, late, behind) {
    const before = this.before || { packets, late };
    this.before = { packets, late };
    const isLate = isMuch(late - before.late, packets - before.packets) || behind > 0.1;
    if (isLate && now - this.strained > 1000 && this.strain < MOST_STRAIN) this.strain++;
    else if (!isLate && now - this.strained > 5000 && this.strain > 0) this.strain--;
    else return;
    this.strained = now;
  }

  // Text about reduced drawing, for the user; empty while the page draws everything.
  text() {
    if (this.step === 0 && this.strain === 0) return "";
    const rate = this.pictures.length / 3;
    const points = this.every > 1 ? `1 of ${this.every} points, ` : "";
    return `This page draws ${points}${rate < 1.5 ? rate.toFixed(1) : rate.toFixed(0)} pictures per second`
      + (this.software ? " (no graphics card)." : ".");
  }
}
