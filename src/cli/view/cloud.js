"use strict";
// Stores the frames of the last ten seconds and draws them with WebGL. World axes: x east, y north, z up.

const POINT_BYTES = 20;
// Ranges at the end of the colour scale, metres; the view selects one of them.
const REACHES = [5, 10, 20, 50, 100, 200];
// Number of the mode in which the colour of a point shows its label.
const LABELS = 5;
// Time for which frames are stored, seconds.
const HISTORY_S = 10;
// Largest size of all stored frames, bytes.
const HISTORY_BYTES = 128e6;
// Shortest time for which the last points of a silent device are shown, seconds.
const HOLD_S = 1;

const POINT_SHADER = `
attribute vec3 at;
attribute vec4 marks;
attribute float label;
uniform mat4 view;
uniform vec3 robot;
uniform float size, mode, reach, low, lasers, shade;
varying vec3 colour;
vec3 ramp(float t) {
  // Google's Turbo, as a polynomial by its authors.
  t = clamp(t, 0.0, 1.0);
  vec4 a = vec4(1.0, t, t * t, t * t * t);
  vec2 b = a.zw * a.z;
  return clamp(vec3(
    dot(a, vec4(0.13572138, 4.61539260, -42.66032258, 132.13108234)) + dot(b, vec2(-152.94239396, 59.28637943)),
    dot(a, vec4(0.09140261, 2.19418839, 4.84296658, -14.18503333)) + dot(b, vec2(4.27729857, 2.82956604)),
    dot(a, vec4(0.10667330, 12.64194608, -60.58204836, 110.36276771)) + dot(b, vec2(-89.90310912, 27.34824973))), 0.0, 1.0);
}
void main() {
  gl_Position = view * vec4(at, 1.0);
  float laser = marks.z * 255.0 + marks.w * 65280.0;
  float device = marks.x * 255.0;
  float t = distance(at, robot) / reach;
  if (mode > 0.5) t = sqrt(marks.y);
  if (mode > 1.5) t = (laser + 0.5) / lasers;
  if (mode > 2.5) t = (at.z - low) / 6.0;
  if (mode > 3.5) t = fract(0.12 + device * 0.381966);
  if (mode > 4.5) t = fract(0.31 + label * 0.381966);
  colour = ramp(0.04 + 0.92 * t);
  if (mode > 4.5 && label < 0.5) colour = vec3(0.5);
  colour *= shade;
  gl_PointSize = size * clamp(14.0 / gl_Position.w, 0.75, 3.0);
}`;
const LINE_SHADER = `
attribute vec3 at;
uniform mat4 view;
void main() { gl_Position = view * vec4(at, 1.0); }`;
const POINT_COLOUR = `
precision mediump float;
varying vec3 colour;
void main() {
  vec2 off = gl_PointCoord - 0.5;
  if (dot(off, off) > 0.3) discard;
  gl_FragColor = vec4(colour, 1.0);
}`;
const LINE_COLOUR = "precision mediump float; uniform vec4 colour; void main() { gl_FragColor = colour; }";

class CloudView {
  constructor(canvas) {
    this.canvas = canvas;
    const software = isSoftware(document.createElement("canvas").getContext("webgl"));
    this.gl = canvas.getContext("webgl", { antialias: !software });
    this.pace = new Pace(software);
    // Stored frames, the oldest first.
    this.frames = [];
    this.bytes = 0;
    // Time span of the points that are shown together, seconds.
    this.keep = 0.3;
    // Time of the run, seconds.
    this.now = 0;
    // Time that is shown, seconds; `null` shows the newest frame.
    this.at = null;
    this.mode = 0;
    this.size = 2;
    this.reach = REACHES[0];
    this.lasers = 1;
    this.hidden = new Set();
    this.layers = { grid: true, path: true, robot: true, frames: true, names: true };
    this.robotSize = [0.6, 0.5, 0.5];
    this.poses = { robot: [[0, 0, 0], [0, 0, 0, 1]], sensors: [] };
    this.path = [];
    this.follow = true;
    this.home();
    if (!this.gl) return;
    this.points = this.program(POINT_SHADER, POINT_COLOUR);
    this.lines = this.program(LINE_SHADER, LINE_COLOUR);
    this.lineBuffer = this.gl.createBuffer();
    this.listen();
  }

  home() {
    this.turn = -2.2;
    this.tilt = 0.5;
    this.distance = 34;
    this.centre = [0, 0, 3];
    this.wanted = true;
  }

  fromAbove() {
    [this.turn, this.tilt] = [-Math.PI / 2, 1.55];
    this.wanted = true;
  }

  program(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    const names = {};
    for (const [count, get, where] of [
      [gl.ACTIVE_UNIFORMS, "getActiveUniform", "getUniformLocation"],
      [gl.ACTIVE_ATTRIBUTES, "getActiveAttrib", "getAttribLocation"]]) {
      for (let i = 0; i < gl.getProgramParameter(program, count); i++) {
        const { name } = gl[get](program, i);
        names[name] = gl[where](program, name);
      }
    }
    return { program, names };
  }

  // Adds a frame from the server: its number, the length of its header, the header, and the points.
  add(body) {
    const length = new DataView(body).getUint32(8, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 12, length)));
    const bytes = new Uint8Array(body, 12 + length);
    const frame = { ...head, bytes, values: new Float32Array(body, 12 + length, bytes.length / 4), buffer: null,
      pathLength: this.path.length };
    frame.labels = this.labelsOf(bytes);
    this.frames.push(frame);
    this.bytes += bytes.length;
    while (this.frames[0].time_s < frame.time_s - HISTORY_S || this.bytes > HISTORY_BYTES) this.drop();
    this.now = Math.max(this.now, frame.time_s);
    if (bytes.length > 0) this.fitColours(bytes);
    this.wanted = true;
  }

  drop() {
    const frame = this.frames.shift();
    this.bytes -= frame.bytes.length;
    if (frame.buffer) this.gl.deleteBuffer(frame.buffer);
  }

  // Time that is shown, seconds.
  get time() { return this.at ?? this.now; }

  // Part of the robot's path up to the time that is shown.
  get pathShown() {
    return this.at === null ? this.path : this.path.slice(0, this.frameAt(this.at)?.pathLength);
  }

  frameAt(time) {
    return this.frames.findLast((frame) => frame.time_s <= time + 1e-6) || this.frames[0];
  }

  // The points that are shown, as parts of frames: frame, device, index of the first point, and number of points.
  shown() {
    const time = this.time;
    const parts = [];
    const devices = this.frames.at(-1)?.points.length || 0;
    for (let device = 0; device < devices; device++) {
      if (this.hidden.has(device)) continue;
      const own = this.frames.filter((frame) => frame.points[device] > 0 && frame.time_s <= time + 1e-6);
      const newest = own.at(-1)?.time_s;
      // A slow scanner has long pauses between its scans.
      const gap = own.length > 1 ? newest - own.at(-2).time_s : 0;
      if (newest === undefined || time - newest > Math.max(HOLD_S, 2.5 * gap)) continue;
      for (const frame of own.filter((frame) => frame.time_s > newest - this.keep + 0.05 || frame.time_s === newest)) {
        const first = frame.points.slice(0, device).reduce((sum, count) => sum + count, 0);
        parts.push({ frame, device, first, count: frame.points[device] });
      }
    }
    return parts;
  }

  // Fits the colour scales to the points: the number of lasers, and the range that contains 90 % of the points.
  fitColours(bytes) {
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const ranges = [];
    const step = POINT_BYTES * Math.max(1, Math.floor(bytes.byteLength / POINT_BYTES / 2000));
    for (let at = 0; at + POINT_BYTES <= bytes.byteLength; at += step) {
      this.lasers = Math.max(this.lasers, data.getUint16(at + 14, true) + 1);
      ranges.push(data.getUint16(at + 18, true) / 100);
    }
    const most = ranges.sort((a, b) => a - b)[Math.floor(0.9 * ranges.length)];
    const fitting = REACHES.find((reach) => reach >= most) || REACHES[REACHES.length - 1];
    // Hysteresis: without it, the scale could change back and forth.
    if (fitting > this.reach || most < 0.4 * this.reach) this.reach = fitting;
  }

  // Number of points by label; empty unless colours show labels.
  labelsOf(bytes) {
    const counts = new Map();
    if (this.mode !== LABELS) return counts;
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 16; at < bytes.byteLength; at += POINT_BYTES) {
      const label = data.getUint16(at, true);
      counts.set(label, (counts.get(label) || 0) + 1);
    }
    return counts;
  }

  labels() {
    const all = new Map();
    for (const frame of new Set(this.shown().map(({ frame }) => frame)))
      for (const [label, count] of frame.labels) all.set(label, (all.get(label) || 0) + count);
    return all;
  }

  count() { return this.shown().reduce((sum, { count }) => sum + count, 0); }

  listen() {
    const canvas = this.canvas;
    const held = new Map();
    const gap = () => {
      const [a, b] = [...held.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const before = held.size === 2 ? gap() : 0;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (held.size === 2) this.zoom(before / Math.max(gap(), 1));
      else if (event.shiftKey || event.buttons & 2) this.pan(dx, dy);
      else this.orbit(-dx * 0.006, dy * 0.006);
    });
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, (event) => held.delete(event.pointerId));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const keys = {
        ArrowLeft: () => this.orbit(0.1, 0), ArrowRight: () => this.orbit(-0.1, 0),
        ArrowUp: () => this.orbit(0, 0.08), ArrowDown: () => this.orbit(0, -0.08),
        "+": () => this.zoom(0.85), "=": () => this.zoom(0.85), "-": () => this.zoom(1.18),
        Home: () => this.home(), t: () => this.fromAbove(),
      };
      // Arrow keys that drive the robot have been handled already.
      if (!keys[event.key] || event.defaultPrevented || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  orbit(turn, tilt) {
    this.turn += turn;
    this.tilt = Math.min(1.55, Math.max(-0.2, this.tilt + tilt));
    this.wanted = true;
  }

  zoom(factor) {
    this.distance = Math.min(400, Math.max(2, this.distance * factor));
    this.wanted = true;
  }

  pan(dx, dy) {
    const step = this.distance / this.canvas.clientHeight;
    const [sin, cos] = [Math.sin(this.turn), Math.cos(this.turn)];
    this.centre[0] += (sin * dx + cos * dy) * -step;
    this.centre[1] += (-cos * dx + sin * dy) * -step;
    this.wanted = true;
  }

  matrix() {
    const aspect = this.canvas.width / Math.max(1, this.canvas.height);
    const target = [0, 1, 2].map((i) => this.centre[i] + (this.follow ? this.poses.robot[0][i] : 0));
    const [ct, st] = [Math.cos(this.tilt), Math.sin(this.tilt)];
    const back = [Math.cos(this.turn) * ct, Math.sin(this.turn) * ct, st];
    const right = [-Math.sin(this.turn), Math.cos(this.turn), 0];
    const up = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2],
      back[0] * right[1] - back[1] * right[0]];
    const eye = target.map((c, i) => c + back[i] * this.distance);
    const dot = (a) => -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]);
    const [near, far] = [0.1, 2000];
    const [p, q] = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const rows = [
      [...right, dot(right)].map((v) => (v * FOCAL) / aspect),
      [...up, dot(up)].map((v) => v * FOCAL),
      [...back, dot(back)].map((v) => v * p),
      [...back, dot(back)].map((v) => -v),
    ];
    rows[2][3] += q;
    return new Float32Array([0, 1, 2, 3].flatMap((column) => rows.map((row) => row[column])));
  }

  // Draws a picture if something has changed and the next picture is due; returns whether it has drawn.
  draw(now = performance.now(), always = false) {
    const gl = this.gl;
    const scale = this.pace.software ? 1 : Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((v) => Math.round(v * scale));
    if (width !== this.canvas.width || height !== this.canvas.height) {
      Object.assign(this.canvas, { width, height });
      this.wanted = always = true;
    }
    if (!gl || !this.wanted || !(always || this.pace.isReady(now))) return false;
    this.wanted = false;
    const frame = this.frameAt(this.time);
    // Without a recent frame, the poses of the status are used.
    if (frame && (this.at !== null || frame.time_s > this.now - HOLD_S)) this.poses = frame.poses;
    gl.viewport(0, 0, width, height);
    gl.clearColor(...this.colour("--ground"), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    const view = this.matrix();
    this.drawLines(view);
    this.drawPoints(view, scale);
    // Reading a pixel waits until the GPU has finished, so the elapsed time is the cost of the picture.
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    this.pace.drew(now, performance.now() - now);
    return true;
  }

  drawPoints(view, scale) {
    const gl = this.gl;
    const { program, names } = this.points;
    gl.useProgram(program);
    gl.uniformMatrix4fv(names.view, false, view);
    gl.uniform3fv(names.robot, this.poses.robot[0]);
    const { every } = this.pace;
    const low = this.poses.robot[0][2] - 0.5;
    for (const [name, value] of Object.entries({
      size: this.size * scale * (1 + 0.1 * (every - 1)), mode: this.mode, reach: this.reach, low, lasers: this.lasers,
      shade: isDark() ? 1 : 0.82 }))
      gl.uniform1f(names[name], value);
    const attributes = [names.at, names.marks, names.label];
    attributes.forEach((place) => gl.enableVertexAttribArray(place));
    const shown = this.shown();
    for (const { frame, first, count } of shown) {
      this.upload(frame);
      const [from, step] = [first * POINT_BYTES, POINT_BYTES * every];
      gl.vertexAttribPointer(names.at, 3, gl.FLOAT, false, step, from);
      gl.vertexAttribPointer(names.marks, 4, gl.UNSIGNED_BYTE, true, step, from + 12);
      gl.vertexAttribPointer(names.label, 1, gl.UNSIGNED_SHORT, false, step, from + 16);
      gl.drawArrays(gl.POINTS, 0, Math.floor(count / every));
    }
    attributes.slice(1).forEach((place) => gl.disableVertexAttribArray(place));
    const inUse = new Set(shown.map(({ frame }) => frame));
    for (const frame of this.frames) {
      if (!frame.buffer || inUse.has(frame)) continue;
      gl.deleteBuffer(frame.buffer);
      frame.buffer = null;
    }
  }

  upload(frame) {
    const gl = this.gl;
    const isNew = !frame.buffer;
    if (isNew) frame.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, frame.buffer);
    if (isNew) gl.bufferData(gl.ARRAY_BUFFER, frame.bytes, gl.STATIC_DRAW);
  }

  drawLines(view) {
    const gl = this.gl;
    const { program, names } = this.lines;
    gl.useProgram(program);
    gl.uniformMatrix4fv(names.view, false, view);
    gl.enableVertexAttribArray(names.at);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lineBuffer);
    drawThings(this, gl, (corners, mode, colour, shade) => {
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STREAM_DRAW);
      gl.vertexAttribPointer(names.at, 3, gl.FLOAT, false, 0, 0);
      gl.uniform4f(names.colour, ...this.colour(colour).map((v) => v * shade), 1);
      gl.drawArrays(mode, 0, corners.length / 3);
    });
  }

  // A colour of the page's style sheet as red, green and blue, each from 0 to 1.
  colour(name) {
    this.colours ??= new Map();
    if (!this.colours.has(name)) {
      const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      this.colours.set(name, [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255));
    }
    return this.colours.get(name);
  }

  ramp(canvas) {
    const context = canvas.getContext("2d");
    for (let i = 0; i < canvas.width; i++) {
      context.fillStyle = turbo(i / (canvas.width - 1));
      context.fillRect(i, 0, 1, 1);
    }
  }
}

// Focal length in units of half the picture's height: half of the vertical field of view is 0.45 rad.
const FOCAL = 1 / Math.tan(0.45);

function isDark() { return matchMedia("(prefers-color-scheme: dark)").matches; }

// Colour of the shader's function `ramp` at `share`, 0 to 1. It is darker on a light background, where bright yellow
// and green are hard to see.
function turbo(share) {
  const t = 0.04 + 0.92 * share;
  const shade = isDark() ? 255 : 0.82 * 255;
  const poly = (c) => Math.round(shade * Math.min(1, Math.max(0, c.reduceRight((sum, a) => sum * t + a, 0))));
  const red = poly([0.13572138, 4.6153926, -42.66032258, 132.13108234, -152.94239396, 59.28637943]);
  const green = poly([0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604]);
  const blue = poly([0.1066733, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973]);
  return `rgb(${red} ${green} ${blue})`;
}

// Colour of a label, as in the shader.
function labelColour(label) {
  return label === 0 ? "rgb(128 128 128)" : turbo((0.31 + label * 0.381966) % 1);
}
