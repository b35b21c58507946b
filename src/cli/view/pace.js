"use strict";
// How much the page draws. It often runs on the processors that the rig needs, and often without a graphics card:
// so it measures what a picture costs, and draws fewer pictures and fewer points when that is much or a device is late.

// Every n-th point is drawn. Odd numbers leave no laser out; with fewer points than these, the picture hardly costs less.
const STEPS = [1, 3, 5];
const MOST_STRAIN = 4;
// However late the rig is, two pictures a second are drawn: the page may not be what makes it late.
const LONGEST_MS = 500;

function isSoftware(gl) {
  const about = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

// Whether so many of the packets are worth a word: on a machine that others use as well, a few are always late.
function isMuch(late, packets) { return late > 0.01 * (packets + late); }

class Pace {
  constructor(software) {
    this.software = software;
    // What one picture costs, milliseconds.
    this.cost = 20;
    this.first = true;
    // 0 while every device is on time; each step halves what the page may take.
    this.strain = 0;
    this.step = 0;
    this.drawn = 0;
    this.changed = 0;
    this.strained = 0;
    this.before = null;
    this.pictures = [];
  }

  // The share of a processor that drawing may take.
  get share() { return (this.software ? 0.25 : 0.6) / 2 ** this.strain; }

  // Milliseconds from one picture to the next.
  get period() { return Math.min(LONGEST_MS, Math.max(16, this.cost / this.share)); }

  // Every how manieth point is drawn.
  get every() { return STEPS[this.step]; }

  isReady(now) { return now - this.drawn >= this.period; }

  // A picture was drawn at `now` and took so long.
  drew(now, cost) {
    // The first picture has to wait for much that comes once.
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

  // What the rig says of itself: packets and late packets so far, and how far it is behind, seconds.
  hear(now, packets, late, behind) {
    const before = this.before || { packets, late };
    this.before = { packets, late };
    const isLate = isMuch(late - before.late, packets - before.packets) || behind > 0.1;
    if (isLate && now - this.strained > 1000 && this.strain < MOST_STRAIN) this.strain++;
    else if (!isLate && now - this.strained > 5000 && this.strain > 0) this.strain--;
    else return;
    this.strained = now;
  }

  // What it does without, for people; nothing while it draws everything.
  text() {
    if (this.step === 0 && this.strain === 0) return "";
    const rate = this.pictures.length / 3;
    const points = this.every > 1 ? `1 of ${this.every} points, ` : "";
    return `This page draws ${points}${rate < 1.5 ? rate.toFixed(1) : rate.toFixed(0)} pictures per second`
      + (this.software ? " (no graphics card)." : ".");
  }
}
