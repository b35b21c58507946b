//! Other ranks as threads of the test, without MPI; each has its own world.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::unbounded;
use menura::config::rig::Rig;
use menura::engine::LiveWorld;
use menura::engine::ranks::lead::Lead;
use menura::engine::ranks::line::Line;
use menura::engine::ranks::pack::{Load, Loaded};
use menura::engine::ranks::serve;

/// Name of the rig; no such file exists.
const NAME: &str = "rig-of-rank-0.toml";

/// Other ranks that serve rank 0.
pub struct Others {
    /// State of the other ranks, as seen by rank 0.
    pub lead: Lead,
    /// Flag `n` ends rank `n + 1` when it is set, as a signal would.
    pub stops: Vec<Arc<AtomicBool>>,
}

/// Runs `work` as rank 0 with `others` other ranks that serve it. The other ranks have loaded no rig yet.
pub fn with_serving<R>(others: usize, work: impl FnOnce(&Others) -> R) -> R {
    let (to_others, from_lead) = unbounded::<(usize, Vec<u8>)>();
    let (to_lead, mail) = unbounded();
    let stops: Vec<_> = (0..others).map(|_| Arc::new(AtomicBool::new(false))).collect();
    std::thread::scope(|scope| {
        let mut boxes = Vec::new();
        for (index, stop) in stops.iter().enumerate() {
            let (give, own_mail) = unbounded();
            let (post, posted) = unbounded::<(usize, Vec<u8>)>();
            boxes.push(give);
            let to_lead = to_lead.clone();
            scope.spawn(move || {
                for (to, bytes) in posted {
                    assert_eq!(to, 0, "ranks speak to rank 0 only");
                    let _ = to_lead.send((index + 1, bytes));
                }
            });
            scope.spawn(move || serve::serve(&Line { post, mail: own_mail }, "here", stop));
        }
        scope.spawn(move || {
            for (to, bytes) in from_lead {
                let _ = boxes[to - 1].send((0, bytes));
            }
        });
        let lead = Lead::new(Line { post: to_others, mail }, others + 1);
        let serving = Others { lead, stops: stops.clone() };
        let done = work(&serving);
        for stop in &stops {
            stop.store(true, Ordering::Relaxed);
        }
        done
    })
}

/// Load message that rank 0 sends for the rig `text`, with some keys replaced.
pub fn load_of(text: &str, sets: &[(&str, &str)]) -> Load {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Load {
        rig: Some(NAME.to_owned()),
        files: vec![(NAME.to_owned(), text.to_owned())],
        sets: sets.iter().map(own).collect(),
        folder: std::env::current_dir().unwrap().display().to_string(),
    }
}

/// Report about the data that rank 0 itself has loaded.
pub fn loaded(rig: &Rig, world: &LiveWorld) -> Loaded {
    serve::loaded("here".to_owned(), rig, world)
}

/// Runs `work` as rank 0 with `others` other ranks that have loaded the rig `text`.
pub fn with_others<R>(
    text: &str,
    sets: &[(&str, &str)],
    rig: &Rig,
    world: &LiveWorld,
    others: usize,
    work: impl FnOnce(&Lead) -> R,
) -> R {
    with_serving(others, |serving| {
        serving.lead.load(&load_of(text, sets));
        let never = AtomicBool::new(false);
        let gathered = serving.lead.gather(&loaded(rig, world), &never);
        gathered.unwrap_or_else(|unable| panic!("{}", unable.text));
        let done = work(&serving.lead);
        serving.lead.finish(false).unwrap_or_else(|lost| panic!("{lost}"));
        done
    })
}
