"use strict";
// Drives the robot with buttons and keys. While one is held, the page repeats the drive command; without commands, the
// robot stops.

const DRIVE_KEYS = {
  ArrowUp: "1 0", ArrowDown: "-1 0", ArrowLeft: "0 1", ArrowRight: "0 -1", w: "1 0", s: "-1 0", a: "0 1", d: "0 -1",
};

class Drive {
  constructor(pad, speed, ask) {
    Object.assign(this, { pad, speed, ask, held: new Map(), timer: null });
    for (const button of pad.querySelectorAll("button")) {
      const { go } = button.dataset;
      button.addEventListener("pointerdown", () => this.hold(button, go));
      for (const name of ["pointerup", "pointerleave", "pointercancel", "blur"]) button.addEventListener(name, () => this.free(button));
      button.addEventListener("keydown", (event) => {
        if ((event.key === " " || event.key === "Enter") && !event.repeat) this.hold(button, go);
      });
      button.addEventListener("keyup", (event) => { if (event.key === " " || event.key === "Enter") this.free(button); });
    }
    // Handles keys before the cloud does. Arrow keys rotate the cloud if the robot is not driven or Shift is held.
    addEventListener("keydown", (event) => {
      const go = DRIVE_KEYS[event.key];
      if (!go || pad.hidden || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.closest?.("input, select, textarea, aside, details")) return;
      event.preventDefault();
      if (!event.repeat) this.hold(event.key, go);
    }, true);
    addEventListener("keyup", (event) => this.free(event.key));
    addEventListener("blur", () => this.free());
    document.addEventListener("visibilitychange", () => this.free());
  }

  hold(by, go) {
    this.held.set(by, go.split(" ").map(Number));
    this.order();
    this.timer ??= setInterval(() => this.order(), 200);
  }

  // Releases the button or key `by`; without an argument, releases all.
  free(by) {
    if (by === undefined ? this.held.size === 0 : !this.held.has(by)) return;
    if (by === undefined) this.held.clear();
    else this.held.delete(by);
    this.order();
    if (this.held.size > 0) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  // Sends the sum of the held directions as a drive command. The middle button stops the robot.
  order() {
    const speed = Number(this.speed.value);
    const held = [...this.held.values()];
    const stops = held.some(([forward, turn]) => forward === 0 && turn === 0);
    const sum = (i) => (stops ? 0 : Math.sign(held.reduce((all, go) => all + go[i], 0)));
    this.ask("/api/drive", { forward_m_s: sum(0) * speed, turn_rad_s: sum(1) * Math.min(2, speed * 2) }).catch(() => {});
    for (const button of this.pad.querySelectorAll("button")) {
      const [forward, turn] = button.dataset.go.split(" ").map(Number);
      const isHeld = (forward && forward === sum(0)) || (turn && turn === sum(1));
      button.classList.toggle("held", this.held.size > 0 && Boolean(isHeld));
    }
  }
}
