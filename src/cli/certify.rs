//! `--certificate` and `--require`: evidence of the timing of `run` and `replay`.

use super::out_file::OutFile;
use super::{CliError, all, certificate_page, percentiles};
use crate::engine::certificate::Certificate;
use crate::engine::certificate::require::{self, Requirement};
use crate::links::part_file::OutPath;

/// Options for the certificate and the timing requirements of a run.
#[derive(Debug, clap::Args)]
pub struct CertifyArgs {
    /// Write a certificate: for every packet, when it was due, submitted to the kernel, and sent
    ///
    /// The file is JSON, or a page with charts if the name ends in .html. May be repeated.
    #[arg(long, value_name = "FILE")]
    certificate: Vec<OutPath>,

    /// Require conditions on timing, as in p99.9<100us,late=0; exit with code 3 if one is not met
    ///
    /// Conditions are [DEVICE:]METRIC<LIMIT (or <=, =, >=, >), separated by commas. Metrics with a
    /// time (ns, us, ms or s) are p50, p99.9 and so on, max, mean, and drift (per second). Counts
    /// are late, dropped, thinned, refused, unstamped and packets. Times come from transmit
    /// timestamps, or from the submission to the kernel if there are none. A condition without
    /// DEVICE applies to every device that had something to send; a device that has sent nothing
    /// does not meet it.
    #[arg(long, value_name = "LIST", value_parser = require::parse_list)]
    require: Vec<Requirements>,
}

/// Conditions of one `--require`. With this type, clap does not treat each condition as a separate
/// value.
type Requirements = Vec<Requirement>;

/// The opened certificate files, and the requirements on timing.
pub struct Certifier {
    files: Vec<OutFile>,
    /// The conditions of all `--require` options.
    pub required: Vec<Requirement>,
}

impl CertifyArgs {
    /// Checks that every device named in a condition is one of `devices`, and opens the files.
    pub fn open(&self, devices: &[&str]) -> Result<Certifier, CliError> {
        let required: Vec<_> = self.require.iter().flatten().cloned().collect();
        for name in required.iter().filter_map(Requirement::device) {
            if !devices.contains(&name) {
                return Err(CliError::Input(format!(
                    "error: --require names an unknown device `{name}`; allowed: {}",
                    devices.join(", "),
                )));
            }
        }
        let files = self.certificate.iter().map(|path| OutFile::create("certificate", path));
        Ok(Certifier { files: files.collect::<Result<_, _>>()?, required })
    }
}

impl Certifier {
    /// Whether a certificate or a requirement was requested.
    pub fn is_wanted(&self) -> bool {
        !self.files.is_empty() || !self.required.is_empty()
    }

    /// Writes every file, even if another one fails, and reports the verdicts of the requirements.
    pub fn finish(self, certificate: &Certificate) -> Certified {
        let write = |file: OutFile| match file.is_page() {
            true => file.write(&certificate_page::page(certificate)),
            false => file.write_json(certificate),
        };
        let written: Vec<_> = self.files.into_iter().map(write).collect();
        // Unmet requirements come first.
        let (met, unmet): (Vec<_>, Vec<_>) =
            certificate.requirements.iter().partition(|verdict| verdict.is_met);
        let mut text: String = unmet.iter().map(|verdict| format!("{verdict}\n")).collect();
        for device in certificate.devices.iter().filter(|device| device.departed.count > 0) {
            let departed = &device.departed;
            let shares =
                [("50", departed.p50_us), ("99", departed.p99_us), ("99.9", departed.p99_9_us)];
            text += &format!(
                "{}: departed {} after they were due, drift {:.3} us/s; {} of {} packets without \
                 timestamp\n",
                device.name,
                percentiles::describe(departed.count, &shares, departed.max_us),
                departed.drift_us_per_s,
                device.packets.saturating_sub(departed.count),
                device.packets,
            );
        }
        text.extend(met.iter().map(|verdict| format!("{verdict}\n")));
        let verdict = match unmet.len() {
            0 => Ok(()),
            count => Err(CliError::Unmet(format!(
                "{count} of {} requirements not met",
                certificate.requirements.len()
            ))),
        };
        Certified { written: all(written), text, verdict }
    }
}

/// Result of writing a certificate and checking its requirements.
pub struct Certified {
    /// Error if a file could not be written.
    pub written: Result<(), CliError>,
    /// Text to print: verdicts of the requirements, and how late the packets of each device departed.
    pub text: String,
    /// Error if a requirement is not met.
    pub verdict: Result<(), CliError>,
}
