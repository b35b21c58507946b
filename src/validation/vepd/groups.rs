//! Drives by error model and course, and their distance from the reference's drives.

use std::collections::BTreeMap;
use std::path::Path;

use super::course::Course;
use super::metrics::{Drive, Score, wasserstein};
use super::recorded;
use super::variant::Variant;

/// Drives with one error model, or recorded drives.
pub struct Group {
    pub name: String,
    /// Error model; `None` for recorded drives.
    pub variant: Option<Variant>,
    pub courses: BTreeMap<Course, Drives>,
}

/// Drives of one course.
#[derive(Default)]
pub struct Drives {
    pub scores: Vec<Score>,
    /// Mean NEES of the velocity of each drive; empty for recorded drives.
    pub velocity_nees: Vec<f64>,
    /// First drive of the course.
    pub example: Drive,
}

impl Drives {
    pub fn rmse_m_s(&self) -> Vec<f64> {
        self.scores.iter().map(|score| score.rmse_m_s).collect()
    }

    pub fn flatness_differences(&self) -> Vec<f64> {
        self.scores.iter().map(|score| score.flatness_difference).collect()
    }
}

impl Group {
    pub fn all(&self, courses: &[Course], of: impl Fn(&Drives) -> Vec<f64>) -> Vec<f64> {
        courses.iter().filter_map(|course| self.courses.get(course)).flat_map(of).collect()
    }
}

/// Distances between two sets of drives.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    /// W1: Wasserstein distance between the two sets of root mean square speed errors, m/s.
    pub w1_m_s: f64,
    /// W2: Wasserstein distance between the two sets of differences of Wiener entropies.
    pub w2: f64,
}

impl Distance {
    /// Compares the drives of two groups over `courses`.
    pub fn between(group: &Group, reference: &Group, courses: &[Course]) -> Self {
        let distance = |of: fn(&Drives) -> Vec<f64>| {
            wasserstein(&group.all(courses, of), &reference.all(courses, of))
        };
        Self { w1_m_s: distance(Drives::rmse_m_s), w2: distance(Drives::flatness_differences) }
    }

    pub fn vepd(&self) -> f64 {
        0.5 * (self.w1_m_s + self.w2)
    }
}

/// Drives of all groups, and the reference with which they are compared.
pub struct Comparison {
    pub courses: Vec<Course>,
    pub groups: Vec<Group>,
    pub reference: Group,
}

impl Comparison {
    /// Courses that count for the totals: those on grass, as in table I of Mahajan et al. 2024, or all courses if none
    /// is on grass.
    pub fn counted(&self) -> Vec<Course> {
        let on_grass: Vec<Course> =
            self.courses.iter().copied().filter(|course| course.is_on_grass()).collect();
        if on_grass.is_empty() { self.courses.clone() } else { on_grass }
    }

    pub fn group(&self, variant: Variant) -> Option<&Group> {
        self.groups.iter().find(|group| group.variant == Some(variant))
    }

    /// Distance of a variant from the reference over `courses`; `None` if `courses` is empty, or if there are no drives
    /// of the variant or of one of the courses.
    pub fn distance(&self, variant: Variant, courses: &[Course]) -> Option<Distance> {
        let is_driven = courses.iter().all(|course| self.courses.contains(course));
        let group = self.group(variant).filter(|_| is_driven && !courses.is_empty())?;
        Some(Distance::between(group, &self.reference, courses))
    }

    /// Rank of a variant by VEPD among the five models of Mahajan et al. 2024 on a course; 1 is the nearest to the
    /// reference. `None` if the drives of a model are missing.
    pub fn rank(&self, variant: Variant, course: Course) -> Option<usize> {
        let own = self.distance(variant, &[course])?.vepd();
        let others: Option<Vec<f64>> = Variant::PAPER
            .iter()
            .map(|other| Some(self.distance(*other, &[course])?.vepd()))
            .collect();
        Some(others?.iter().filter(|other| **other < own).count() + 1)
    }
}

pub fn read_recorded(path: &Path) -> Result<Group, String> {
    let name = path.display().to_string();
    let mut group = Group { name, variant: None, courses: BTreeMap::new() };
    for (course, drive) in recorded::read(path)? {
        let score = drive.score().expect("read drives can be compared");
        let drives: &mut Drives = group.courses.entry(course).or_default();
        if drives.scores.is_empty() {
            drives.example = drive;
        }
        drives.scores.push(score);
    }
    Ok(group)
}

/// Reads the drives of variants, each from its folder; variants without a folder are omitted.
pub fn read_variants(
    folder: &Path,
    variants: &[Variant],
    courses: &[Course],
) -> Result<Vec<Group>, String> {
    let mut groups = Vec::new();
    for variant in variants {
        let path = folder.join(variant.word());
        if !path.exists() {
            continue;
        }
        let read = read_recorded(&path)?;
        if let Some(course) = courses.iter().find(|course| !read.courses.contains_key(course)) {
            return Err(format!("{} has no drive of {}", read.name, recorded::name_of(*course)));
        }
        groups.push(Group { name: variant.to_string(), variant: Some(*variant), ..read });
    }
    match groups.len() {
        0 => Err(format!("{} has no folder of a variant", folder.display())),
        _ => Ok(groups),
    }
}
