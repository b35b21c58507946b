//! `Vegetation Distribution`: plants scattered by densities that the scene file gives at a few positions (zones).

use glam::{DAffine3, DMat3, DVec2, DVec3};
use rand::RngExt;

use super::super::MAX_INSTANCES;
use super::super::error::{Fault, Problem};
use super::super::json::Node;
use super::super::resolve::named;
use super::trail::Trails;
use super::{Loader, pose, streams, trail};
use crate::frames::quat_about;
use crate::world::random::{self, uniform};

/// Side of the square cells that share a density, metres.
const CELL_M: f64 = 20.0;
/// Largest number of cells times zones times species.
const MAX_WORK: u64 = 10_000_000;
/// Largest trunk diameter for which the height formula is valid, centimetres.
const MAX_DIAMETER_CM: f64 = 100.0;

struct Species {
    mesh: Option<u32>,
    /// Rotation of the mesh: from y up to z up if `Rotated` is set, otherwise none.
    turn: DAffine3,
    mesh_height: f64,
    /// Smallest and largest trunk diameter in any zone, centimetres.
    diameters: [f64; 2],
}

struct Zone {
    place: DVec2,
    /// Plants per m², by species.
    densities: Vec<f64>,
}

/// The rectangle of the ground, divided into square cells.
struct Grid {
    low: DVec2,
    high: DVec2,
    columns: u64,
    rows: u64,
}

impl Grid {
    fn cells(&self) -> u64 {
        self.columns * self.rows
    }

    /// The low and the high corner of a cell.
    fn corners(&self, cell: u64) -> [DVec2; 2] {
        let (column, row) = (cell % self.columns, cell / self.columns);
        let from = self.low + DVec2::new(column as f64, row as f64) * CELL_M;
        [from, (from + CELL_M).min(self.high)]
    }

    /// Expected number of plants of a species in a cell.
    fn expected(&self, zones: &[Zone], species: usize, cell: u64) -> f64 {
        let [from, to] = self.corners(cell);
        density(zones, species, from + CELL_M / 2.0) * (to - from).element_product()
    }
}

impl Loader<'_> {
    /// Scatters the plants, clear of `trails`.
    pub(super) fn vegetation(&mut self, node: &Node, trails: &[Vec<DVec2>]) -> Result<(), Fault> {
        let object = node.object()?;
        let mut species = Vec::new();
        for entry in object.need("Species", "an array of species")?.array()? {
            species.push(self.species(&entry)?);
        }
        let zones_node = object.need("Zones", "an array of zones")?;
        let zones = zones_node
            .array()?
            .iter()
            .map(|entry| zone(entry, &mut species))
            .collect::<Result<Vec<Zone>, Fault>>()?;
        if zones.is_empty() {
            return Err(zones_node.wrong("at least one zone"));
        }

        let [low, high] = self.ground_rectangle().ok_or_else(|| {
            node.fault(Problem::Syntax("needs a ground, and the scene has none".into()))
        })?;
        let cells = ((high - low) / CELL_M).ceil().max(DVec2::ONE);
        let work = cells.x * cells.y * zones.len() as f64 * species.len() as f64;
        let too_many = |what, count: f64, limit| {
            node.fault(Problem::TooMany { what, count: count.min(1.0e18).round() as u64, limit })
        };
        if work > MAX_WORK as f64 {
            let what = "cells of 20 m on the ground, times zones, times species";
            return Err(too_many(what, work, MAX_WORK));
        }
        let pieces: f64 = trails.iter().map(|path| trail::count(path)).sum();
        if pieces > trail::MAX_PIECES as f64 {
            return Err(too_many("metres of trail", pieces, trail::MAX_PIECES));
        }
        let grid = Grid { low, high, columns: cells.x as u64, rows: cells.y as u64 };
        // The expected number of all plants is checked before the first one is made.
        let count_in =
            |cell| (0..species.len()).map(|index| grid.expected(&zones, index, cell)).sum::<f64>();
        let planned: f64 = (0..grid.cells()).map(count_in).sum();
        let planned = planned + self.assembly.scene().instances.len() as f64;
        if planned > MAX_INSTANCES as f64 {
            return Err(too_many("plants", planned, MAX_INSTANCES as u64));
        }
        let mut clear = Trails::default();
        trails.iter().for_each(|path| clear.add(path));
        for cell in 0..grid.cells() {
            for (index, plant) in species.iter().enumerate() {
                let expected = grid.expected(&zones, index, cell);
                self.plant(node, plant, index as u64, cell, expected, grid.corners(cell), &clear);
            }
        }
        Ok(())
    }

    fn species(&mut self, node: &Node) -> Result<Species, Fault> {
        let object = node.object()?;
        let file = object.need("Mesh", "the path of an .obj file")?;
        let path = named(&self.roots.meshes, &file.string()?);
        let mesh_height = object.need("Mesh Height", "the mesh's height in metres")?.positive()?;
        let rotated = object.or("Rotated", false, Node::flag)?;
        let turn = DAffine3::from_mat3(if rotated { pose::Y_TO_Z } else { DMat3::IDENTITY });
        let diameters = [f64::INFINITY, 0.0];
        Ok(Species { mesh: self.mesh(path, None, &file), turn, mesh_height, diameters })
    }

    /// The bounding rectangle of the ground, or of the visible instances if there is no ground.
    fn ground_rectangle(&self) -> Option<[DVec2; 2]> {
        let scene = self.assembly.scene();
        let instances = if scene.ground.is_empty() { &scene.instances } else { &scene.ground };
        instances
            .iter()
            .map(|instance| self.assembly.world_bounds(instance).map(DVec3::truncate))
            .reduce(|[low, high], [l, h]| [low.min(l), high.max(h)])
    }

    /// Adds the plants of one species in one cell.
    #[allow(clippy::too_many_arguments)] // the body of a loop over cells
    fn plant(
        &mut self,
        node: &Node,
        species: &Species,
        index: u64,
        cell: u64,
        expected: f64,
        [from, to]: [DVec2; 2],
        clear: &Trails,
    ) {
        let Some(mesh) = species.mesh else { return };
        let mut rng = random::stream(self.seed, streams::VEGETATION + index, cell);
        let whole = expected.floor();
        let count = whole as u64 + u64::from(rng.random::<f64>() < expected - whole);
        for _ in 0..count {
            let p = DVec2::new(uniform(&mut rng, from.x, to.x), uniform(&mut rng, from.y, to.y));
            let yaw = random::angle(&mut rng);
            let [thin, thick] = species.diameters;
            let scale = height_m(uniform(&mut rng, thin, thick)) / species.mesh_height;
            if clear.covers(p) {
                continue;
            }
            let axes = DMat3::from_quat(quat_about(DVec3::Z, yaw)) * scale;
            let root = p.extend(self.height(p).unwrap_or(0.0));
            let world_from_mesh = DAffine3::from_mat3_translation(axes, root) * species.turn;
            self.assembly.add_instance(mesh, world_from_mesh, &node.place());
        }
    }
}

/// Height of a plant with this trunk diameter, metres, by the formula of MAVS.
fn height_m(diameter_cm: f64) -> f64 {
    0.5 * (1.3 + 0.6208 * diameter_cm - 0.00308 * diameter_cm * diameter_cm)
}

/// Reads a zone; widens the range of diameters of each of its species.
fn zone(node: &Node, species: &mut [Species]) -> Result<Zone, Fault> {
    let object = node.object()?;
    let place = object.need("Coordinates", "a point [x, y]")?.numbers::<2>()?.into();
    let entries = object.need("Species", "an array, one entry a species")?;
    let entries_array = entries.array()?;
    if entries_array.len() != species.len() {
        return Err(entries.wrong(format!("an array of {} entries, one a species", species.len())));
    }
    let mut densities = Vec::new();
    for (entry, species) in entries_array.iter().zip(species) {
        let object = entry.object()?;
        let density = object.need("Density", "plants per m²")?;
        if density.number()? < 0.0 {
            return Err(density.wrong("zero or a positive number"));
        }
        densities.push(density.number()?);
        let thin = object.need("MinDiam", "the thinnest trunk in cm")?.number()?;
        let thick = object.need("MaxDiam", "the thickest trunk in cm")?.number()?;
        if !(0.0 <= thin && thin <= thick && thick <= MAX_DIAMETER_CM) {
            let expected = format!("0 <= MinDiam <= MaxDiam <= {MAX_DIAMETER_CM}");
            return Err(entry.wrong(expected));
        }
        species.diameters = [species.diameters[0].min(thin), species.diameters[1].max(thick)];
    }
    Ok(Zone { place, densities })
}

/// The zones' mean density of a species at `p`, weighted by the inverse sixth power of distance.
fn density(zones: &[Zone], species: usize, p: DVec2) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for zone in zones {
        // At a zone's position, the weight of this zone is much larger than all others.
        let weight = zone.place.distance_squared(p).max(1.0e-6).powi(-3);
        sum += weight * zone.densities[species];
        weights += weight;
    }
    // Far from all zones, the weights can underflow to 0.
    if weights > 0.0 { sum / weights } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_zone_counts_most() {
        let zones = [
            Zone { place: DVec2::ZERO, densities: vec![1.0] },
            Zone { place: DVec2::new(10.0, 0.0), densities: vec![3.0] },
        ];
        assert!((density(&zones, 0, DVec2::ZERO) - 1.0).abs() < 1e-6);
        assert!((density(&zones, 0, DVec2::new(5.0, 3.0)) - 2.0).abs() < 1e-9);
        // A zone at twice the distance has a 64th of the weight.
        let third = density(&zones, 0, DVec2::new(10.0 / 3.0, 0.0));
        assert!((third - (64.0 + 3.0) / 65.0).abs() < 1e-9, "{third}");
    }

    #[test]
    fn heights_grow_with_trunks() {
        assert!((height_m(10.0) - 0.5 * (1.3 + 6.208 - 0.308)).abs() < 1e-12);
        assert!(height_m(MAX_DIAMETER_CM) > height_m(50.0));
    }
}
