"use strict";
// Draws everything in the view except points: grid, path, robot and the frames of its sensors.

const AXES = ["--axis-x", "--axis-y", "--axis-z"];
const GRIDS = [0.5, 1, 5, 10, 50];

// Transforms a position from the frame of a pose to World. The pose has a position and a quaternion.
function placed([[px, py, pz], [a, b, c, w]], [x, y, z]) {
  const t = [2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)];
  return [px + x + w * t[0] + b * t[2] - c * t[1], py + y + w * t[1] + c * t[0] - a * t[2], pz + z + w * t[2] + a * t[1] - b * t[0]];
}

// Cell size of the grid, metres: at least a twelfth of the camera's distance.
function gridStep(distance) {
  return GRIDS.find((step) => step * 12 >= distance) || GRIDS[GRIDS.length - 1];
}

// Calls `draw(corners, mode, colour, shade)` for each part of the drawing.
function drawThings(view, gl, draw) {
  const { layers, poses, pathShown: path, robotSize: size } = view;
  const [x, y, z] = poses.robot[0];
  if (layers.grid) {
    const step = gridStep(view.distance);
    const reach = step * 12;
    const [gx, gy] = [Math.round(x / step) * step, Math.round(y / step) * step];
    const grid = [];
    for (let i = -reach; i <= reach; i += step)
      grid.push(gx + i, gy - reach, z, gx + i, gy + reach, z, gx - reach, gy + i, z, gx + reach, gy + i, z);
    draw(grid, gl.LINES, "--line", 1);
  }
  if (layers.path && path.length > 1) draw([...path.flat(), x, y, z], gl.LINE_STRIP, "--accent", 1);
  if (layers.robot) drawRobot(poses.robot, size, gl, draw);
  if (layers.frames) {
    const length = Math.min(2, Math.max(0.2, view.distance * 0.025));
    const axes = [[length, 0, 0], [0, length, 0], [0, 0, length]];
    for (const sensor of poses.sensors)
      axes.forEach((axis, i) => draw([...sensor[0], ...placed(sensor, axis)], gl.LINES, AXES[i], 1));
  }
}

// Draws the robot as a box, with an arrow that points forward.
function drawRobot(pose, [length, width, height], gl, draw) {
  const [l, w, h] = [length / 2, width / 2, height];
  const corner = (x, y, z) => placed(pose, [x, y, z]);
  const face = (a, b, c, d, shade) => draw([a, b, c, a, c, d].flat(), gl.TRIANGLES, "--accent", shade);
  const [low, high] = [0.12 * h, h].map((z) => [corner(l, w, z), corner(l, -w, z), corner(-l, -w, z), corner(-l, w, z)]);
  face(...high, 1);
  for (let i = 0; i < 4; i++) face(low[i], low[(i + 1) % 4], high[(i + 1) % 4], high[i], [0.8, 0.55, 0.45, 0.65][i]);
  const up = h + 0.02;
  draw([corner(l * 0.75, 0, up), corner(-l * 0.5, w * 0.6, up), corner(-l * 0.5, -w * 0.6, up)].flat(), gl.TRIANGLES, "--panel", 1);
}
