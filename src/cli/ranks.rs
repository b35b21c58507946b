//! The role of this process if MPI started several processes, for `run` and `record`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::rig_args::RigArgs;
use super::{CliError, console, stop};
use crate::config::rig::Rig;
use crate::config::toml::read_files::noting_files;
use crate::engine::LiveWorld;
use crate::engine::caster::{for_few_rays, has_cameras};
use crate::engine::ranks::launcher;
use crate::engine::ranks::lead::{Lead, RankFigures};
use crate::engine::ranks::pack::Load;
use crate::engine::ranks::serve;
use crate::engine::ranks::station::Station;
use crate::engine::workers::RemoteWorkers;

/// Function that connects this process to the other MPI processes of the run. The error is the reason for a failure.
pub type Connect = fn() -> Result<Station, String>;

/// Function that connects the processes of this program. If it is unset, starting several processes together is an
/// error.
pub static CONNECT: OnceLock<Connect> = OnceLock::new();

/// Connection of rank 0 to the other MPI processes (ranks); empty if the run has a single process.
pub struct Ranks {
    job: Option<Job>,
}

/// State of rank 0.
struct Job {
    /// Connection to the other ranks; dropped before `station` leaves the MPI session.
    lead: Option<Lead>,
    host: String,
    /// Whether the other ranks were asked to end.
    is_over: bool,
    /// Set by signals, and if a rank is lost.
    stop: Arc<AtomicBool>,
    station: Option<Station>,
}

/// Connects to the processes that were started with this one, if any. In a process that measures for rank 0, returns
/// `None` after all work is done.
pub fn join() -> Result<Option<Ranks>, CliError> {
    let Some(processes) = launcher::processes() else {
        return Ok(Some(Ranks { job: None }));
    };
    join_others(processes)
}

fn join_others(processes: usize) -> Result<Option<Ranks>, CliError> {
    let connect = CONNECT.get().ok_or_else(|| {
        CliError::Input(format!(
            "error: this is one of {processes} processes that were started together (mpirun, srun), and \
             `menura` cannot share work with others: each would send the packets of the whole rig\n  \
             = help: start `menura-mpi`, which `cargo build --release -p menura-mpi` builds (docs/SCALE.md), \
             or start one process\n"
        ))
    })?;
    let stop = stop::stop_on_launchers_signal()?;
    let station = connect().map_err(CliError::Failed)?;
    if station.processes != processes {
        return Err(CliError::Input(format!(
            "error: {processes} processes were started together, and the MPI of this build of menura sees \
             {}: start them by the `mpirun` of the MPI that it was built with\n",
            station.processes,
        )));
    }
    if station.rank == 0 {
        let lead = Some(Lead::new(station.line.clone(), station.processes));
        let (host, station) = (station.host.clone(), Some(station));
        let job = Job { lead, host, is_over: false, stop, station };
        return Ok(Some(Ranks { job: Some(job) }));
    }
    serve::serve(&station.line, &station.host, &stop);
    station.leave();
    Ok(None)
}

impl Ranks {
    /// Returns the flag that stops the command: it is set by a signal and, if there are other ranks, by the loss of
    /// one. A single process catches signals from this call on.
    pub fn stop(&self) -> Result<Arc<AtomicBool>, CliError> {
        match &self.job {
            Some(job) => Ok(Arc::clone(&job.stop)),
            None => stop::stop_on_signal(),
        }
    }

    fn lead(&self) -> Option<&Lead> {
        self.job.as_ref()?.lead.as_ref()
    }

    /// Reads the rig, and requests that the other ranks load it, without waiting for them.
    pub fn load(&self, args: &RigArgs) -> Result<Rig, CliError> {
        let Some(lead) = self.lead() else { return args.load() };
        let (rig, files) = noting_files(|| args.load());
        let rig = rig?;
        let folder = std::env::current_dir()
            .map_err(|error| CliError::failed("the current folder does not exist", &error))?;
        let sets = args.overrides();
        lead.load(&Load {
            rig: args.rig.as_ref().map(|path| path.display().to_string()),
            files,
            sets: sets.into_iter().map(|set| (set.key, set.value)).collect(),
            folder: folder.display().to_string(),
        });
        Ok(rig)
    }

    /// A copy of `rig` for loading the world of this process. If there are other ranks, they cast the rays of lidars,
    /// and this process opens a GPU only for the images of cameras.
    pub fn for_own_rays(&self, rig: &Rig) -> Rig {
        match self.lead() {
            Some(_) if !has_cameras(rig) => for_few_rays(rig),
            _ => rig.clone(),
        }
    }

    /// Waits until the other ranks have loaded the same data as this process, and prints a line about each.
    pub fn gather(&self, rig: &Rig, world: &LiveWorld) -> Result<(), CliError> {
        let Some(job) = &self.job else { return Ok(()) };
        let Some(lead) = &job.lead else { return Ok(()) };
        let own = serve::loaded(job.host.clone(), rig, world);
        lead.gather(&own, &job.stop).map_err(|unable| match unable.is_input {
            true => CliError::Input(format!("error: {}\n", unable.text.trim_end())),
            false => CliError::Failed(unable.text),
        })?;
        lead.stop_if_lost(Arc::clone(&job.stop));
        for RankFigures { rank, host, workers, caster, .. } in lead.figures() {
            console::say(format_args!(
                "rank {rank} on {host} measures with {workers} threads; rays are cast by: {caster}"
            ));
        }
        Ok(())
    }

    /// The other ranks as ray casters; `None` without other ranks.
    pub fn workers(&self) -> Option<&dyn RemoteWorkers> {
        self.lead().map(|lead| lead as &dyn RemoteWorkers)
    }

    /// Lines about the traffic between the ranks; empty without other ranks.
    pub fn summary(&self) -> String {
        let figures = self.lead().map(Lead::figures).unwrap_or_default();
        figures.iter().map(line).collect()
    }

    /// Ends the other ranks; the error names the ranks that were lost.
    pub fn finish(mut self) -> Result<(), CliError> {
        let Some(job) = &mut self.job else { return Ok(()) };
        job.is_over = true;
        let Some(lead) = job.lead.take() else { return Ok(()) };
        let finished = lead.finish(job.stop.load(Ordering::Relaxed));
        drop(lead);
        if let Some(station) = job.station.take() {
            match finished {
                Ok(()) => station.leave(),
                // Leaving the MPI session would wait for the lost ranks, so this process does not leave it. The
                // launcher ends the remaining ranks.
                Err(_) => std::mem::forget(station),
            }
        }
        finished.map_err(|text| {
            CliError::Failed(format!("{text}; the files contain the data up to then"))
        })
    }
}

/// Ends the other ranks even if the command fails before its work.
impl Drop for Ranks {
    fn drop(&mut self) {
        if let Some(job) = self.job.take().filter(|job| !job.is_over) {
            let _ = Self { job: Some(job) }.finish();
        }
    }
}

fn line(figures: &RankFigures) -> String {
    let RankFigures { rank, host, workers, answers, caster, .. } = figures;
    let RankFigures { order_bytes, answer_bytes, away_ns, busy_ns, .. } = figures;
    let each = |all: u64| all as f64 / (*answers).max(1) as f64;
    format!(
        "rank {rank} on {host}: {answers} requests by {workers} threads; each {:.0} bytes sent and \
         {:.0} received, {:.0} us round trip, {:.0} us of it computing; rays were cast by: \
         {caster}\n",
        each(*order_bytes),
        each(*answer_bytes),
        each(*away_ns) / 1e3,
        each(*busy_ns) / 1e3,
    )
}
