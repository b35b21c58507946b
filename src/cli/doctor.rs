//! `menura doctor`: finds conditions of this host that delay packets, with remedies; also lists its GPUs.

mod findings;

use std::time::Duration;

use indicatif::ProgressBar;
use serde::Serialize;

use super::{CliError, all, console};
use crate::engine::caster;
use crate::engine::host::{self, HostFacts};
use crate::engine::launch;
use crate::engine::wakeups::{self, WakeUps};
use crate::time::duration::parse_duration;
use crate::world::raycast::GpuFacts;
use findings::{Finding, State};

/// Arguments of `menura doctor`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// How long to measure the wake-up latency
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    measure: Duration,
    /// Print facts and findings as JSON
    #[arg(long)]
    json: bool,
    /// Exit with code 1 if anything should be changed
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    facts: &'a HostFacts,
    wake_ups: &'a WakeUps,
    gpus: &'a [GpuFacts],
    findings: &'a [Finding],
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let facts = host::facts();
        // The spinner appears only on a terminal.
        let spinner = ProgressBar::new_spinner().with_message("measuring how late threads wake up");
        spinner.enable_steady_tick(Duration::from_millis(100));
        let wake_ups = wakeups::measure(self.measure);
        spinner.finish_and_clear();
        let mut findings = findings::of_host(&facts);
        for interface in &facts.interfaces {
            let queues = launch::schedulers_of(&interface.name);
            findings.push(findings::of_queue(&interface.name, queues));
        }
        let gpus = caster::gpus();
        match &gpus {
            Ok(gpus) => findings.extend(gpus.iter().map(findings::of_gpu)),
            Err(why) => findings.push(findings::without_gpu(why)),
        }
        if gpus.is_ok() {
            findings.push(findings::of_casting(caster::measure_gpu()));
        }
        findings.push(findings::of_wake_ups(&wake_ups));
        let printed = if self.json {
            let gpus = gpus.as_deref().unwrap_or_default();
            let (facts, wake_ups, findings) = (&facts, &wake_ups, &findings);
            let report = Report { facts, wake_ups, gpus, findings };
            let text = serde_json::to_string_pretty(&report)
                .map_err(|error| CliError::failed("cannot write JSON", &error))?;
            console::print(format_args!("{text}\n"))
        } else {
            console::print(page(&facts, &findings))
        };
        let open = findings.iter().filter(|finding| finding.state == State::Change).count();
        let strict = match self.strict && open > 0 {
            true => Err(CliError::Failed(format!("{open} of {} to change", findings.len()))),
            false => Ok(()),
        };
        all([printed, strict])
    }
}

fn page(facts: &HostFacts, findings: &[Finding]) -> String {
    let kind = if facts.is_virtual { ", a virtual machine" } else { "" };
    let mut out = format!(
        "{}, {} cores, Linux {}{kind}\n\n",
        facts.processor, facts.cores, facts.kernel_release
    );
    let width = findings.iter().map(|finding| finding.topic.len()).max().unwrap_or_default();
    for Finding { topic, state, found, advice } in findings {
        let word = state.word();
        let advice = advice.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        out.push_str(&format!("{word:6}  {topic:width$}  {found}{advice}\n"));
    }
    let open = findings.iter().filter(|finding| finding.state == State::Change).count();
    out.push_str(&match open {
        0 => "\nNothing to change.\n".to_owned(),
        open => format!(
            "\n{open} to change; the first matter most. Changes last until the next boot.\n"
        ),
    });
    out
}
