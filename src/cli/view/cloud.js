"use strict";
// Draws points, the robot, its path and the ground with WebGL. World axes: x east, y north, z up.

const POINT_BYTES = 20;
// The ranges that the last colour may stand for, metres.
const REACHES = [5, 10, 20, 50, 100, 200];
// The mode in which colour shows the label.
const LABELS = 5;

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
    this.gl = canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
    this.frames = [];
    this.keep = 3;
    this.mode = 0;
    this.size = 2;
    this.reach = REACHES[0];
    this.lasers = 1;
    this.robot = [0, 0, 0];
    this.quaternion = [0, 0, 0, 1];
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

  // A frame of the cloud, as the server sends it: points of POINT_BYTES bytes.
  add(bytes) {
    const gl = this.gl;
    if (!gl || bytes.byteLength === 0) return;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STATIC_DRAW);
    this.frames.push({ buffer, count: bytes.byteLength / POINT_BYTES, labels: this.labelsOf(bytes) });
    this.fitColours(bytes);
    this.forget();
    this.wanted = true;
  }

  // Colours reach as far as the points do: to the last laser, and to the range that most points are within.
  fitColours(bytes) {
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const ranges = [];
    const step = POINT_BYTES * Math.max(1, Math.floor(bytes.byteLength / POINT_BYTES / 2000));
    for (let at = 0; at + POINT_BYTES <= bytes.byteLength; at += POINT_BYTES) {
      this.lasers = Math.max(this.lasers, data.getUint16(at + 14, true) + 1);
      if (at % step === 0) ranges.push(Math.hypot(...[0, 1, 2].map((i) => data.getFloat32(at + 4 * i, true) - this.robot[i])));
    }
    const most = ranges.sort((a, b) => a - b)[Math.floor(0.9 * ranges.length)];
    const fitting = REACHES.find((reach) => reach >= most) || REACHES[REACHES.length - 1];
    // Not to and fro.
    if (fitting > this.reach || most < 0.4 * this.reach) this.reach = fitting;
  }

  // How many points have each label.
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
    for (const { labels } of this.frames)
      for (const [label, count] of labels) all.set(label, (all.get(label) || 0) + count);
    return all;
  }

  forget() {
    while (this.frames.length > this.keep) this.gl.deleteBuffer(this.frames.shift().buffer);
  }

  count() { return this.frames.reduce((sum, frame) => sum + frame.count, 0); }

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
        Home: () => this.home(),
      };
      if (!keys[event.key]) return;
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
    const target = [0, 1, 2].map((i) => this.centre[i] + (this.follow ? this.robot[i] : 0));
    const [ct, st] = [Math.cos(this.tilt), Math.sin(this.tilt)];
    const back = [Math.cos(this.turn) * ct, Math.sin(this.turn) * ct, st];
    const right = [-Math.sin(this.turn), Math.cos(this.turn), 0];
    const up = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2],
      back[0] * right[1] - back[1] * right[0]];
    const eye = target.map((c, i) => c + back[i] * this.distance);
    const dot = (a) => -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]);
    const [near, far] = [0.1, 2000];
    const f = 1 / Math.tan(0.45);
    const [p, q] = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const rows = [
      [...right, dot(right)].map((v) => (v * f) / aspect),
      [...up, dot(up)].map((v) => v * f),
      [...back, dot(back)].map((v) => v * p),
      [...back, dot(back)].map((v) => -v),
    ];
    rows[2][3] += q;
    return new Float32Array([0, 1, 2, 3].flatMap((column) => rows.map((row) => row[column])));
  }

  rotated([x, y, z]) {
    const [a, b, c, w] = this.quaternion;
    const t = [2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)];
    return [x + w * t[0] + b * t[2] - c * t[1], y + w * t[1] + c * t[0] - a * t[2], z + w * t[2] + a * t[1] - b * t[0]]
      .map((v, i) => v + this.robot[i]);
  }

  draw() {
    const gl = this.gl;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((v) => Math.round(v * scale));
    if (width !== this.canvas.width || height !== this.canvas.height) {
      Object.assign(this.canvas, { width, height });
      this.wanted = true;
    }
    if (!gl || !this.wanted) return;
    this.wanted = false;
    const style = getComputedStyle(document.documentElement);
    const rgb = (name) => {
      const text = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255);
    };
    gl.viewport(0, 0, width, height);
    gl.clearColor(...rgb("--ground"), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    const view = this.matrix();
    this.drawLines(view, rgb);
    const { program, names } = this.points;
    gl.useProgram(program);
    gl.uniformMatrix4fv(names.view, false, view);
    gl.uniform3fv(names.robot, this.robot);
    const low = this.robot[2] - 0.5;
    for (const [name, value] of Object.entries({
      size: this.size * scale, mode: this.mode, reach: this.reach, low, lasers: this.lasers, shade: this.shade() }))
      gl.uniform1f(names[name], value);
    gl.enableVertexAttribArray(names.at);
    gl.enableVertexAttribArray(names.marks);
    gl.enableVertexAttribArray(names.label);
    for (const { buffer, count } of this.frames) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.vertexAttribPointer(names.at, 3, gl.FLOAT, false, POINT_BYTES, 0);
      gl.vertexAttribPointer(names.marks, 4, gl.UNSIGNED_BYTE, true, POINT_BYTES, 12);
      gl.vertexAttribPointer(names.label, 1, gl.UNSIGNED_SHORT, false, POINT_BYTES, 16);
      gl.drawArrays(gl.POINTS, 0, count);
    }
    gl.disableVertexAttribArray(names.marks);
    gl.disableVertexAttribArray(names.label);
  }

  // On light ground, bright yellow and green are hard to see.
  shade() { return matchMedia("(prefers-color-scheme: dark)").matches ? 1 : 0.82; }

  drawLines(view, rgb) {
    const gl = this.gl;
    const { program, names } = this.lines;
    gl.useProgram(program);
    gl.uniformMatrix4fv(names.view, false, view);
    gl.enableVertexAttribArray(names.at);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lineBuffer);
    const line = (corners, mode, colour) => {
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STREAM_DRAW);
      gl.vertexAttribPointer(names.at, 3, gl.FLOAT, false, 0, 0);
      gl.uniform4f(names.colour, ...rgb(colour), 1);
      gl.drawArrays(mode, 0, corners.length / 3);
    };
    const [x, y, z] = this.robot;
    const [gx, gy] = [Math.round(x / 5) * 5, Math.round(y / 5) * 5];
    const grid = [];
    for (let i = -50; i <= 50; i += 5)
      grid.push(gx + i, gy - 50, z, gx + i, gy + 50, z, gx - 50, gy + i, z, gx + 50, gy + i, z);
    line(grid, gl.LINES, "--line");
    if (this.path.length > 1) line([...this.path.flat(), x, y, z], gl.LINE_STRIP, "--accent");
    const corner = (fx, ly, uz) => this.rotated([fx, ly, uz]);
    const [front, left, right, top] = [corner(0.9, 0, 0.1), corner(-0.5, 0.45, 0.1), corner(-0.5, -0.45, 0.1), corner(-0.3, 0, 0.6)];
    line([front, left, top, front, right, top, left, right, top].flat(), gl.TRIANGLES, "--accent");
  }

  ramp(canvas) {
    const context = canvas.getContext("2d");
    for (let i = 0; i < canvas.width; i++) {
      context.fillStyle = turbo(i / (canvas.width - 1));
      context.fillRect(i, 0, 1, 1);
    }
  }
}

// The colour of the shader's ramp at `share` of it.
function turbo(share) {
  const t = 0.04 + 0.92 * share;
  const poly = (c) => Math.round(255 * Math.min(1, Math.max(0, c.reduceRight((sum, a) => sum * t + a, 0))));
  const red = poly([0.13572138, 4.6153926, -42.66032258, 132.13108234, -152.94239396, 59.28637943]);
  const green = poly([0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604]);
  const blue = poly([0.1066733, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973]);
  return `rgb(${red} ${green} ${blue})`;
}

// As the shader has it.
function labelColour(label) {
  return label === 0 ? "rgb(128 128 128)" : turbo((0.31 + label * 0.381966) % 1);
}
