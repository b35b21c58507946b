"use strict";
// Shows details over the cloud: the point under the pointer, names of sensors, and the scale.

// Largest distance of a point from the pointer, pixels.
const NEAR = 7;

class Overlay {
  constructor(view, tip, mark, names) {
    Object.assign(this, { view, tip, mark, names, pointer: null, isFound: false });
    const canvas = view.canvas;
    const note = (event) => {
      const box = canvas.getBoundingClientRect();
      this.pointer = event.buttons && event.pointerType === "mouse" ? null : [event.clientX - box.left, event.clientY - box.top];
      this.late ??= setTimeout(() => { this.late = null; this.show(); }, 60);
    };
    canvas.addEventListener("pointermove", note);
    canvas.addEventListener("pointerdown", note);
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "mouse") return;
      this.pointer = null;
      this.show();
    });
  }

  // Returns the point nearest to the camera among those under the pointer; `null` if there is none.
  find() {
    const { view, pointer } = this;
    const m = view.matrix();
    const [w2, h2] = [view.canvas.clientWidth / 2, view.canvas.clientHeight / 2];
    const [px, py] = pointer;
    let best = null;
    for (const { frame, device, first, count } of view.shown()) {
      const values = frame.values;
      for (let i = 0; i < count; i += view.pace.every) {
        const at = (first + i) * (POINT_BYTES / 4);
        const [x, y, z] = [values[at], values[at + 1], values[at + 2]];
        const w = m[3] * x + m[7] * y + m[11] * z + m[15];
        if (w < 0.1 || (best && w >= best.w)) continue;
        const dx = w2 * (1 + (m[0] * x + m[4] * y + m[8] * z + m[12]) / w) - px;
        const dy = h2 * (1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) - py;
        if (dx * dx + dy * dy < NEAR * NEAR) best = { w, frame, device, index: first + i, at: [x, y, z], screen: [px + dx, py + dy] };
      }
    }
    return best;
  }

  show() {
    const found = this.pointer && this.find();
    this.isFound = Boolean(found);
    this.tip.hidden = this.mark.hidden = !found;
    if (!found) return;
    const { frame, device, index, at, screen } = found;
    const data = new DataView(frame.bytes.buffer, frame.bytes.byteOffset + index * POINT_BYTES, POINT_BYTES);
    const label = data.getUint16(16, true);
    const rows = [
      ["range", `${(data.getUint16(18, true) / 100).toFixed(2)} m`],
      ["east, north, up", `${at.map((v) => v.toFixed(2)).join(", ")} m`],
      ["intensity", data.getUint8(13)],
      ["ring", data.getUint16(14, true)],
      ["object", label ? labelNames[label] || `label ${label}` : this.view.pace.strain ? "not asked for: the rig is late" : "unknown"],
    ];
    const list = element("dl");
    list.append(...rows.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
    this.tip.replaceChildren(element("strong", status?.devices[device]?.name || `device ${device}`), list);
    const [width, height] = [this.view.canvas.clientWidth, this.view.canvas.clientHeight];
    const [x, y] = screen;
    // The text is beside the point, on the side that has room.
    const left = x + 14 + this.tip.offsetWidth < width ? x + 14 : Math.max(4, x - 14 - this.tip.offsetWidth);
    const top = Math.min(Math.max(4, y - 10), height - this.tip.offsetHeight - 4);
    this.tip.style.transform = `translate(${left}px, ${top}px)`;
    this.mark.style.transform = `translate(${x}px, ${y}px)`;
  }

  // Places the names of sensors beside their frames. A name that would overlap another one is hidden.
  place(devices) {
    const { view, names } = this;
    const wanted = view.layers.names && view.layers.frames ? view.poses.sensors : [];
    while (names.children.length < wanted.length) names.append(element("span"));
    const m = view.matrix();
    const [w2, h2] = [view.canvas.clientWidth / 2, view.canvas.clientHeight / 2];
    const taken = [];
    [...names.children].forEach((name, i) => {
      const [x, y, z] = wanted[i]?.[0] || [0, 0, 0];
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      const left = w2 * (1 + (m[0] * x + m[4] * y + m[8] * z + m[12]) / w) + 8;
      const top = h2 * (1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) - 8;
      const text = devices[i]?.name || "";
      const isFree = !taken.some(([a, b, length]) => Math.abs(b - top) < 15 && left < a + length && a < left + 7 * text.length);
      name.hidden = !wanted[i] || w < 0.1 || !isFree;
      if (name.hidden) return;
      taken.push([left, top, 7 * text.length]);
      if (name.textContent !== text) name.textContent = text;
      name.style.transform = `translate(${left}px, ${top}px)`;
    });
  }

  // Shows a bar of a round length, in the scale at the view's centre.
  scale(bar, text) {
    const pixels = (this.view.canvas.clientHeight / 2) * FOCAL / this.view.distance;
    const metres = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].find((length) => length * pixels >= 44) || 100;
    bar.style.width = `${metres * pixels}px`;
    text.textContent = `${metres} m, grid ${gridStep(this.view.distance)} m`;
  }
}
