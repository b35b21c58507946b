// Finds the nearest hit of each ray, with one thread for each ray. `strike` computes a hit as `raycast/hit.rs` does,
// with the same operations in the same order. All other functions only exclude surfaces that a ray cannot hit; rounding
// never excludes a surface that it may hit.

const NONE: u32 = 0xffffffffu;
// Result for a ray that the processor must cast: it may hit a triangle with an opacity mask, a number is so small or
// large that GPUs may differ (see `BEYOND`), or the stack is full.
const UNDECIDED: u32 = 0xfffffffeu;
// Bits of a reflectance that the processor must find.
const UNKNOWN: u32 = 0xffffffffu;
const INFINITE: u32 = 0x7f800000u;
const LEAF: u32 = 0x80000000u;
const FIRST: u32 = 0x0fffffffu;
const DEPTH: u32 = 64u;
const FARTHEST: f32 = 3.4028234e38;
// Boxes are widened by this share of the largest coordinate: 17 times the largest relative rounding error of an f32.
const ROUNDING: f32 = 1e-6;

struct Params {
  // Number of rays of the batch.
  count: u32,
  // Number of rays of a pulse.
  rays: u32,
  // Whether any hit is sufficient, even if it is not the nearest.
  any: u32,
  // Number of numbers in a pulse's record: 3, 6 or 16.
  stride: u32,
  // Offsets of a pulse's rays in the beam footprint.
  offsets: array<vec4<f32>, 16>,
}

// The hit of a ray, as `Hit`; instance is `NONE` or `UNDECIDED` for a ray without one. Range, cosine and reflectance are
// bits of an f32.
struct Found { range: u32, cosine: u32, reflectance: u32, instance: u32, triangle: u32, material: u32 }

// Six vectors for each node: one with the lower corner and the exponents of the step sizes, three with the lower and
// upper bounds by axis and slot in steps, two with the codes of the children. The first nodes are the roots of the
// scenes.
@group(0) @binding(0) var<storage, read> nodes: array<vec4<u32>>;
// Three vectors for each triangle: its corners, with the index in the mesh after the first corner, whether the material
// has an opacity mask after the second, and the index into `materials` after the third.
@group(0) @binding(1) var<storage, read> triangles: array<vec4<u32>>;
// For each entrance: index into `placed`, and code of a child in the mesh's tree.
@group(0) @binding(2) var<storage, read> entrances: array<vec2<u32>>;
// For each instance four vectors of three numbers: origin, and the columns of `mesh_from_world`.
@group(0) @binding(3) var<storage, read> poses: array<f64>;
// For each instance: its index in the scene, and the largest coordinate of its mesh as the bits of an f32.
@group(0) @binding(4) var<storage, read> placed: array<vec2<u32>>;
// For each material: its index in the scene, and the bits of its reflectance, `UNKNOWN` if a map changes it.
@group(0) @binding(5) var<storage, read> materials: array<vec2<u32>>;
@group(0) @binding(6) var<uniform> params: Params;
// A pulse has 16 numbers: origin, direction, half-axes, start and range, the index of the scene, and the scene's largest
// coordinate. First 16 numbers for all pulses, of which the first `stride` are unused; then, for each pulse, its own first
// `stride` numbers.
@group(0) @binding(7) var<storage, read> pulses: array<f64>;
// Six words for each ray, as in `Found`; with `any`, only the instance.
@group(0) @binding(8) var<storage, read_write> hits: array<u32>;

fn inverse(x: f32) -> f32 {
  let size = abs(x);
  var y = bitcast<f32>(0x7ef311c7u - bitcast<u32>(size));
  y = y * (2.0 - size * y);
  y = y * (2.0 - size * y);
  y = y * (2.0 - size * y);
  return bitcast<f32>((bitcast<u32>(y) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}

fn inverse_root(x: f32) -> f32 {
  let half = 0.5 * x;
  var y = bitcast<f32>(0x5f375a86u - (bitcast<u32>(x) >> 1u));
  y = y * (1.5 - half * (y * y));
  y = y * (1.5 - half * (y * y));
  y = y * (1.5 - half * (y * y));
  return y;
}

fn inner(a: vec3<f64>, b: vec3<f64>) -> f64 {
  return (a.x * b.x + a.y * b.y) + a.z * b.z;
}

// Place of a pulse's number `index` in `pulses`.
fn place_of(pulse: u32, index: u32) -> u32 {
  return select(index, 16u + params.stride * pulse + index, index < params.stride);
}

fn pulse_vector(pulse: u32, index: u32) -> vec3<f64> {
  let at = place_of(pulse, 3u * index);
  return vec3<f64>(pulses[at], pulses[at + 1u], pulses[at + 2u]);
}

fn pulse_number(pulse: u32, index: u32) -> f32 {
  return f32(pulses[place_of(pulse, index)]);
}

fn pose_vector(place: u32, index: u32) -> vec3<f64> {
  let at = 12u * place + 3u * index;
  return vec3<f64>(poses[at], poses[at + 1u], poses[at + 2u]);
}

fn to_mesh(place: u32, v: vec3<f64>) -> vec3<f64> {
  let x = pose_vector(place, 1u);
  let y = pose_vector(place, 2u);
  let z = pose_vector(place, 3u);
  return (x * v.x + y * v.y) + z * v.z;
}

fn direction_of(pulse: u32, offset: vec2<f32>) -> vec3<f64> {
  let u = pulse_vector(pulse, 2u);
  let v = pulse_vector(pulse, 3u);
  return (pulse_vector(pulse, 1u) + u * f64(offset.x)) + v * f64(offset.y);
}

// The axis along which the absolute component of `direction` is largest.
fn axis_of(direction: vec3<f64>) -> u32 {
  let size = abs(direction);
  if (size.x > size.y && size.x > size.z) { return 0u; }
  if (size.y > size.z) { return 1u; }
  return 2u;
}

// The vector with its components rotated so that the one along `axis` is last.
fn turned(v: vec3<f64>, axis: u32) -> vec3<f64> {
  return select(select(v, v.zxy, axis == 1u), v.yzx, axis == 0u);
}

fn turned_f32(v: vec3<f32>, axis: u32) -> vec3<f32> {
  return select(select(v, v.zxy, axis == 1u), v.yzx, axis == 0u);
}

const MISSED: u32 = 0u;
const MET: u32 = 1u;
// A number is so small or large that GPUs may differ.
const BEYOND: u32 = 2u;

struct Struck { outcome: u32, range: f32, cosine: f32 }

// Computes the same as `hit::strike` and then `hit::finish_one`.
fn strike(pulse: u32, offset: vec2<f32>, place: u32, v0: vec3<f32>, v1: vec3<f32>, v2: vec3<f32>) -> Struck {
  let missed = Struck(MISSED, 0.0, 0.0);
  let by_u = f64(offset.x);
  let by_v = f64(offset.y);
  let pulse_direction = pulse_vector(pulse, 1u);
  let half_axis_u = pulse_vector(pulse, 2u);
  let half_axis_v = pulse_vector(pulse, 3u);
  let away = pulse_vector(pulse, 0u) - pose_vector(place, 0u);

  let in_mesh_direction = to_mesh(place, (pulse_direction + half_axis_u * by_u) + half_axis_v * by_v);
  let origin = to_mesh(place, away);
  let axis = axis_of(in_mesh_direction);
  let d = turned(in_mesh_direction, axis);
  let a = vec3<f64>(v0);
  let b = vec3<f64>(v1);
  let c = vec3<f64>(v2);
  let from_a = turned(a - origin, axis);
  let from_b = turned(b - origin, axis);
  let from_c = turned(c - origin, axis);
  let ax = from_a.x * d.z - d.x * from_a.z;
  let ay = from_a.y * d.z - d.y * from_a.z;
  let bx = from_b.x * d.z - d.x * from_b.z;
  let by = from_b.y * d.z - d.y * from_b.z;
  let cx = from_c.x * d.z - d.x * from_c.z;
  let cy = from_c.y * d.z - d.y * from_c.z;
  let u = cx * by - cy * bx;
  let v = ax * cy - ay * cx;
  let w = bx * ay - by * ax;
  let is_inside = (u >= 0.0lf && v >= 0.0lf && w >= 0.0lf) || (u <= 0.0lf && v <= 0.0lf && w <= 0.0lf);
  if (!is_inside || (u + v) + w == 0.0lf) { return missed; }

  let e = b - a;
  let f = c - a;
  let in_mesh = vec3<f64>(e.y * f.z - e.z * f.y, e.z * f.x - e.x * f.z, e.x * f.y - e.y * f.x);
  let normal = vec3<f64>(
    inner(pose_vector(place, 1u), in_mesh),
    inner(pose_vector(place, 2u), in_mesh),
    inner(pose_vector(place, 3u), in_mesh),
  );
  let size = f32(inner(normal, normal));
  let far = f32(inner(in_mesh, a) - inner(normal, away));
  let along = f32((inner(normal, pulse_direction) + by_u * inner(normal, half_axis_u)) + by_v * inner(normal, half_axis_v));
  if (along == 0.0) { return missed; }
  let squared_u = f32(inner(half_axis_u, half_axis_u));
  let squared_v = f32(inner(half_axis_v, half_axis_v));
  let squared = 1.0 + ((offset.x * offset.x) * squared_u + (offset.y * offset.y) * squared_v);
  let root = inverse_root(squared);
  let distance = (far * inverse(along)) * (squared * root);
  let is_plain = size > 1e-30 && size < 1e30 && abs(along) > 1e-25 && abs(along) < 1e25
    && (far == 0.0 || (abs(far) > 1e-25 && abs(far) < 1e25 && abs(distance) > 1e-25 && abs(distance) < 1e25));
  if (!is_plain) { return Struck(BEYOND, 0.0, 0.0); }
  let range = distance - pulse_number(pulse, 12u);
  let cosine = abs(along) * (root * inverse_root(size));
  let counts = range > 0.0 && range <= pulse_number(pulse, 13u) && cosine >= 1e-9;
  return Struck(select(MISSED, MET, counts), range, select(1.0, cosine, cosine < 1.0));
}

// The ray in the frame of the scene or of a mesh, in single precision, for the search.
struct Sight {
  origin: vec3<f32>,
  direction: vec3<f32>,
  inverse: vec3<f32>,
  // Bound of all coordinates of the origin and the boxes.
  reach: f32,
  // A bit for each axis along which the ray's coordinate decreases: 4 for x, 2 for y, 1 for z.
  octant: u32,
  axis: u32,
}

fn sight(origin: vec3<f64>, direction: vec3<f64>, extent: f32) -> Sight {
  let o = vec3<f32>(origin);
  let d = vec3<f32>(direction);
  let tiny = vec3<f32>(1e-18);
  let size = max(abs(d), tiny);
  let is_down = d < vec3<f32>(0.0);
  let flat = 1.0 / size;
  let reach = max(max(abs(o.x), abs(o.y)), abs(o.z)) + extent;
  let octant = select(0u, 4u, is_down.x) | select(0u, 2u, is_down.y) | select(0u, 1u, is_down.z);
  return Sight(o, d, select(flat, -flat, is_down), reach, octant, axis_of(direction));
}

fn bytes(word: u32) -> vec4<f32> {
  return vec4<f32>(vec4<u32>(word, word >> 8u, word >> 16u, word >> 24u) & vec4<u32>(255u));
}

// A bit for each of four boxes that the ray meets. `x`, `y` and `z` have the boxes' near and far bounds along the axes.
fn meets(x: vec2<u32>, y: vec2<u32>, z: vec2<u32>, step: vec3<f32>, low: vec3<f32>, high: vec3<f32>, start: f32, end: f32) -> u32 {
  let near = max(max(bytes(x.x) * step.x + low.x, bytes(y.x) * step.y + low.y), max(bytes(z.x) * step.z + low.z, vec4<f32>(start)));
  let far = min(min(bytes(x.y) * step.x + high.x, bytes(y.y) * step.y + high.y), min(bytes(z.y) * step.z + high.z, vec4<f32>(end)));
  let met = near <= far;
  return select(0u, 1u, met.x) | select(0u, 2u, met.y) | select(0u, 4u, met.z) | select(0u, 8u, met.w);
}

// The children that the ray meets, as bits in the order in which the ray meets them: bit `k` is slot `k ^ octant`.
fn children(node: u32, s: Sight, start: f32, end: f32) -> u32 {
  let at = 6u * node;
  let head = nodes[at];
  let first = nodes[at + 1u];
  let second = nodes[at + 2u];
  let third = nodes[at + 3u];
  let exponents = vec3<u32>(head.w, head.w >> 8u, head.w >> 16u) & vec3<u32>(255u);
  let step = bitcast<vec3<f32>>(exponents << vec3<u32>(23u)) * s.inverse;
  let base = (bitcast<vec3<f32>>(head.xyz) - s.origin) * s.inverse;
  let margin = abs(s.inverse) * (2.0 * ROUNDING * s.reach);
  let low = base - margin;
  let high = base + margin;
  let is_down = s.inverse < vec3<f32>(0.0);
  let near_x = select(first.xy, second.zw, is_down.x);
  let far_x = select(second.zw, first.xy, is_down.x);
  let near_y = select(first.zw, third.xy, is_down.y);
  let far_y = select(third.xy, first.zw, is_down.y);
  let near_z = select(second.xy, third.zw, is_down.z);
  let far_z = select(third.zw, second.xy, is_down.z);
  var met = meets(vec2<u32>(near_x.x, far_x.x), vec2<u32>(near_y.x, far_y.x), vec2<u32>(near_z.x, far_z.x), step, low, high, start, end);
  met |= meets(vec2<u32>(near_x.y, far_x.y), vec2<u32>(near_y.y, far_y.y), vec2<u32>(near_z.y, far_z.y), step, low, high, start, end) << 4u;
  met &= head.w >> 24u;
  met = select(met, ((met & 0x55u) << 1u) | ((met >> 1u) & 0x55u), (s.octant & 1u) != 0u);
  met = select(met, ((met & 0x33u) << 2u) | ((met >> 2u) & 0x33u), (s.octant & 2u) != 0u);
  met = select(met, ((met & 0x0fu) << 4u) | (met >> 4u), (s.octant & 4u) != 0u);
  return met;
}

// Whether the ray may hit a triangle between `start` and `end`. Returns false only if the ray misses by more than the
// rounding errors.
fn may_hit(s: Sight, v0: vec3<f32>, v1: vec3<f32>, v2: vec3<f32>, start: f32, end: f32) -> bool {
  let d = turned_f32(s.direction, s.axis);
  let a = turned_f32(v0 - s.origin, s.axis);
  let b = turned_f32(v1 - s.origin, s.axis);
  let c = turned_f32(v2 - s.origin, s.axis);
  let ax = a.x * d.z - d.x * a.z;
  let ay = a.y * d.z - d.y * a.z;
  let bx = b.x * d.z - d.x * b.z;
  let by = b.y * d.z - d.y * b.z;
  let cx = c.x * d.z - d.x * c.z;
  let cy = c.y * d.z - d.y * c.z;
  let u = cx * by - cy * bx;
  let v = ax * cy - ay * cx;
  let w = bx * ay - by * ax;
  // `reach`: bound of the corners' distance from the origin. `blur`: bound of the sheared coordinates' error.
  let reach = 2.0 * s.reach;
  let blur = ROUNDING * reach * abs(d.z);
  let most = max(max(max(abs(ax), abs(ay)), max(abs(bx), abs(by))), max(abs(cx), abs(cy)));
  let doubt = most * (4.0 * blur + ROUNDING * most) + 4.0 * blur * blur;
  let beside = min(min(u, v), w) < -doubt && max(max(u, v), w) > doubt;
  let flat = turned_f32(s.inverse, s.axis).z;
  let depths = vec3<f32>(a.z, b.z, c.z) * flat;
  let margin = ROUNDING * reach * abs(flat);
  let near = min(min(depths.x, depths.y), depths.z) - margin;
  let far = max(max(depths.x, depths.y), depths.z) + margin;
  return !beside && near <= end && far >= start;
}

fn trace(pulse: u32, offset: vec2<f32>) -> Found {
  let undecided = Found(0u, 0u, UNKNOWN, UNDECIDED, 0u, 0u);
  let origin = pulse_vector(pulse, 0u);
  let direction = direction_of(pulse, offset);
  let start_m = pulse_number(pulse, 12u);
  let half_axis_u = pulse_vector(pulse, 2u);
  let half_axis_v = pulse_vector(pulse, 3u);
  let squared = 1.0 + ((offset.x * offset.x) * f32(inner(half_axis_u, half_axis_u))
    + (offset.y * offset.y) * f32(inner(half_axis_v, half_axis_v)));
  // Depths are in units of the length of the ray's direction. `start` and `end` include a margin for rounding.
  let depth_per_m = inverse_root(squared);
  let start = start_m * depth_per_m * 0.99999;
  var end = min((start_m + min(pulse_number(pulse, 13u), 1e30)) * depth_per_m * 1.00001, 1e30);

  let whole = sight(origin, direction, pulse_number(pulse, 15u));
  var s = whole;
  var stack: array<vec2<u32>, DEPTH>;
  var stacked = 0u;
  // Height of the stack when the ray entered the mesh of instance `place`; `NONE` outside of meshes.
  var entered = NONE;
  var place = 0u;
  var instance = NONE;
  var best = Found(INFINITE, 0u, 0u, NONE, NONE, NONE);
  var best_range = FARTHEST;
  var masked_range = FARTHEST;
  // Index of a node, and the bits of its children that remain to be visited.
  var group = vec2<u32>(0u, 0u);
  // The scene's index is in the lower bits of a normal f32 of 2^23 or more, because GPUs may change subnormal numbers.
  var code = bitcast<u32>(pulse_number(pulse, 14u)) & 0x7fffffu;
  loop {
    if ((code & LEAF) == 0u) {
      if (group.y != 0u) {
        if (stacked >= DEPTH) { return undecided; }
        stack[stacked] = group;
        stacked += 1u;
      }
      group = vec2<u32>(code, children(code, s, start, end));
    } else if (entered == NONE) {
      if (group.y != 0u) {
        if (stacked >= DEPTH) { return undecided; }
        stack[stacked] = group;
        stacked += 1u;
      }
      let entrance = entrances[code & FIRST];
      place = entrance.x;
      entered = stacked;
      instance = placed[place].x;
      s = sight(to_mesh(place, origin - pose_vector(place, 0u)), to_mesh(place, direction), bitcast<f32>(placed[place].y));
      group = vec2<u32>(0u, 0u);
      code = entrance.y;
      continue;
    } else {
      let first = code & FIRST;
      let after = first + ((code >> 28u) & 7u) + 1u;
      for (var triangle = first; triangle < after; triangle += 1u) {
        let corner_0 = triangles[3u * triangle];
        let corner_1 = triangles[3u * triangle + 1u];
        let corner_2 = triangles[3u * triangle + 2u];
        let v0 = bitcast<vec3<f32>>(corner_0.xyz);
        let v1 = bitcast<vec3<f32>>(corner_1.xyz);
        let v2 = bitcast<vec3<f32>>(corner_2.xyz);
        if (!may_hit(s, v0, v1, v2, start, end)) { continue; }
        let struck = strike(pulse, offset, place, v0, v1, v2);
        if (struck.outcome == BEYOND) { return undecided; }
        if (struck.outcome == MISSED) { continue; }
        if (corner_1.w != 0u) {
          masked_range = min(masked_range, struck.range);
          continue;
        }
        let is_first = instance < best.instance || (instance == best.instance && corner_0.w < best.triangle);
        if (struck.range < best_range || (struck.range == best_range && is_first)) {
          best = Found(bitcast<u32>(struck.range), bitcast<u32>(struck.cosine), 0u, instance, corner_0.w, corner_2.w);
          best_range = struck.range;
          if (params.any != 0u) { return best; }
          end = min(end, (best_range + start_m) * depth_per_m * 1.00001);
        }
      }
    }
    if (group.y == 0u) {
      if (stacked == entered) {
        entered = NONE;
        s = whole;
      }
      if (stacked == 0u) { break; }
      stacked -= 1u;
      group = stack[stacked];
    }
    let slot = firstTrailingBit(group.y) ^ s.octant;
    group.y &= group.y - 1u;
    code = nodes[6u * group.x + 4u + (slot >> 2u)][slot & 3u];
  }
  // If a masked triangle is no farther than the hit, its texture decides whether the ray passes.
  if (masked_range <= best_range && masked_range < FARTHEST) { return undecided; }
  return best;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let index = id.x;
  if (index >= params.count) { return; }
  let pulse = index / params.rays;
  var found = trace(pulse, params.offsets[index - pulse * params.rays].xy);
  if (params.any != 0u) {
    hits[index] = found.instance;
    return;
  }
  if (found.instance < UNDECIDED) {
    let material = materials[found.material];
    found.material = material.x;
    found.reflectance = material.y;
  }
  hits[6u * index] = found.range;
  hits[6u * index + 1u] = found.cosine;
  hits[6u * index + 2u] = found.reflectance;
  hits[6u * index + 3u] = found.instance;
  hits[6u * index + 4u] = found.triangle;
  hits[6u * index + 5u] = found.material;
}
