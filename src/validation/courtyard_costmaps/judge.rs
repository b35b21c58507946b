//! Compares the statements of Goodin et al. 2018 about four cost maps with the simulated maps.

use super::robot::SPEED_M_S;
use super::{DRIVE, Drive, GOAL_M, LMS, SHORT_DRIVE, START_M, SixtyFour};
use crate::validation::{Comparison, Scope};

/// Index of the drive with the VLP-16.
const VLP: usize = 1;
/// Index of the drive with the HDL-32E.
const HDL32: usize = 2;
/// Index of the drive with the HDL-64E.
const HDL64: usize = 3;
/// Heights, metres; the number of cells above each height is reported.
const HEIGHTS_M: [f64; 6] = [3.0, 3.5, 4.0, 4.5, 5.0, 6.0];
/// Largest accepted ratio of the length of a path to the straight distance.
const MOST_DETOUR: f64 = 1.25;

/// Number of cells above a height, 20 to 60 m from the vehicle.
fn cells_above(drive: &Drive, height_m: f64) -> usize {
    drive.cells([height_m, f64::MAX], [20.0, 60.0])
}

/// Number of cells above 3 m, 20 to 60 m from the vehicle.
pub(super) fn high_cells(drive: &Drive) -> usize {
    cells_above(drive, 3.0)
}

/// Number of cells above 4.5 m, 20 to 60 m from the vehicle.
pub(super) fn tall_cells(drive: &Drive) -> usize {
    cells_above(drive, 4.5)
}

/// Number of cells with heights of 0.2 to 0.8 m, within 15 m of the vehicle.
pub(super) fn grass_cells(drive: &Drive) -> usize {
    drive.cells([0.2, 0.8], [0.0, 15.0])
}

/// Checks whether the lidars' cell counts and spreads are in the order that the text of Goodin et al. 2018 states; also
/// checks the planned paths and the drives.
pub(super) fn comparisons(
    drives: &[Drive],
    sixty_four: SixtyFour,
    scope: &Scope,
) -> Vec<Comparison> {
    let (lms, vlp, hdl64) = (&drives[LMS], &drives[VLP], &drives[HDL64]);
    let (stray, all) = (lms.stray_cells(), lms.map.costly().count());
    let (flat_m, flat_trees) = lms.tree_spread_m();
    let (full_m, full_trees) = hdl64.tree_spread_m();
    let (peaks, rings) = vlp.ring_peaks();
    let tall = [tall_cells(vlp), tall_cells(hdl64)];
    let what = "cells above 4.5 m at 20 to 60 m, VLP-16 against HDL-64E";
    let tall = match sixty_four {
        SixtyFour::S1 | SixtyFour::S3 => ordered(
            what,
            tall,
            "only the order: at 60 m a beam at +2 degrees, the paper's highest, is 4.1 m high, one \
             at +15 degrees 18 m",
        ),
        SixtyFour::S2 => Comparison::reported(
            what,
            "more",
            format!("{} against {}", tall[0], tall[1]),
            "the paper's beams end at +2.0 degrees, those of this unit at +5.0, in the treetops",
        ),
    };
    let swept = HEIGHTS_M.map(|height_m| {
        let [vlp, hdl64] = [vlp, hdl64].map(|drive| cells_above(drive, height_m));
        format!("{vlp} against {hdl64} above {height_m} m")
    });
    let mut found = vec![
        Comparison::judged(
            "cells of the LMS-291 that are neither tree nor wall",
            "none of the grass",
            format!("{stray} of {all}"),
            "none: its plane is 2 m above level ground, grass ends at 0.6 m",
            stray == 0 && all >= 20,
        ),
        Comparison::judged(
            "spread of ranges within trees, LMS-291 against HDL-64E",
            "less",
            format!(
                "{flat_m:.2} m of {flat_trees} trees, {full_m:.2} m of {full_trees}: a factor of {:.1}",
                full_m / flat_m
            ),
            "only the order; the paper prints no factor",
            flat_m < full_m && flat_trees.min(full_trees) >= 2,
        ),
        tall,
        Comparison::reported(
            "cells above other heights at 20 to 60 m, VLP-16 against HDL-64E",
            "",
            swept.join(", "),
            "swept, because the paper prints no height: up to 4 m the HDL-64E sees trees and walls \
             too, with four times as many lasers",
        ),
        ordered(
            "cells of 0.2 to 0.8 m within 15 m, HDL-64E against VLP-16",
            [grass_cells(hdl64), grass_cells(vlp)],
            "only the order: four times as many lasers, nearly all below the horizon",
        ),
        Comparison::reported(
            "cells of 0.2 to 0.8 m within 15 m, HDL-32E",
            "",
            format!("{}", grass_cells(&drives[HDL32])),
            "the paper does not compare it",
        ),
        Comparison::judged(
            "rings of the VLP-16",
            "the map shows rings",
            format!("{peaks} of {rings} lasers have a peak where they meet the ground"),
            "all: three times the returns halfway to the next ring, in bins of 0.1 m",
            peaks == rings,
        ),
    ];
    for drive in drives {
        let (detour, driven_m) = (drive.detour(), drive.driven_m());
        found.push(Comparison::judged(
            format!("path by A*, {}", drive.name),
            "a path to the goal",
            format!("{detour:.3} of the straight line, {} cells", drive.way.len()),
            "1.00 to 1.25: the paper shows its paths without lengths; moves to only eight \
             neighbours of a cell cost up to 8 %",
            !drive.way.is_empty() && (0.999..=MOST_DETOUR).contains(&detour),
        ));
        let most_m = SPEED_M_S * scope.of(DRIVE, SHORT_DRIVE).as_secs_f64();
        found.push(Comparison::judged(
            format!("drive along the planned path, {}", drive.name),
            format!("at most {most_m:.0} m"),
            format!(
                "{driven_m:.1} m, {:.1} m nearer to the goal, {} contacts",
                START_M.distance(GOAL_M) - drive.end_m().distance(GOAL_M),
                drive.contacts
            ),
            "60 % or more of the distance at 2 m/s, because the vehicle waits for a first fix and \
             slows down to turn; no contact",
            (0.6 * most_m..=most_m).contains(&driven_m) && drive.contacts == 0,
        ));
    }
    found
}

/// Comparison in which the first number must be greater than the second.
fn ordered(what: &str, [more, less]: [usize; 2], why: &str) -> Comparison {
    let ours = format!("{more} against {less}");
    Comparison::judged(what, "more", ours, why, more > less)
}
