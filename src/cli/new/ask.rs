//! Asks for devices, links and the scene on a terminal.

use std::io::{self, BufRead, Write};

use super::draft;
use crate::config::profile::Interface;
use crate::config::rig::scenes::BUILTIN;
use crate::devices::families::catalogue;

/// Value of `--link` for a device whose link `menura new` chooses: one with a free address on this computer.
pub const AUTO: &str = "auto";

/// The answers, as the options of `menura new`.
#[derive(Debug, PartialEq)]
pub struct Answers {
    /// Values of `--device`.
    pub devices: Vec<String>,
    /// Values of `--link`.
    pub links: Vec<String>,
    /// Value of `--scene`.
    pub scene: Option<String>,
}

/// Asks for devices and links, and for the scene if `scene` is `None`.
///
/// # Errors
/// The terminal cannot be read or written, or its input ends before a device is named.
pub fn ask(
    input: &mut impl BufRead,
    output: &mut impl Write,
    scene: Option<String>,
) -> io::Result<Answers> {
    let profiles = catalogue().profiles();
    for (index, profile) in profiles.iter().enumerate() {
        writeln!(output, "{:>3}  {:<32} {}", index + 1, profile.name, profile.summary)?;
    }
    let devices: Vec<String> = loop {
        let line = question(input, output, "Devices, by number or name, separated by blanks: ")?;
        let found: Vec<Result<&str, &str>> = line
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .map(|word| {
                let numbered =
                    word.parse::<usize>().ok().and_then(|n| profiles.get(n.wrapping_sub(1)));
                let name = word.split_once('=').map_or(word, |(_, profile)| profile);
                match numbered {
                    Some(profile) => Ok(&*profile.name),
                    None if profiles.iter().any(|profile| profile.name == name) => Ok(word),
                    None => Err(word),
                }
            })
            .collect();
        if let Some(Err(wrong)) = found.iter().find(|word| word.is_err()) {
            writeln!(output, "There is no device `{wrong}`.")?;
        } else if !found.is_empty() {
            break found.into_iter().flatten().map(str::to_owned).collect();
        }
    };
    let links = devices.iter().map(|device| link(input, output, device));
    let links = links.collect::<io::Result<Vec<String>>>()?;
    let scene = match scene {
        Some(scene) => Some(scene),
        None => {
            let names: Vec<_> = BUILTIN.iter().map(|scene| scene.name).collect();
            let text = format!("Scene: {}, or a file [{}]: ", names.join(", "), names[0]);
            Some(question(input, output, &text)?).filter(|scene| !scene.is_empty())
        }
    };
    Ok(Answers { devices, links, scene })
}

/// Asks for the link of a device; `device` is the value of its `--device`.
fn link(input: &mut impl BufRead, output: &mut impl Write, device: &str) -> io::Result<String> {
    let profile = device.split_once('=').map_or(device, |(_, profile)| profile);
    let interface = catalogue().by_name(profile).map(|profile| profile.product.interface);
    let ways: &[&str] = match interface {
        Some(Interface::Datagrams) => &["udp:ADDRESS:PORT"],
        Some(Interface::Server) => &["tcp:ADDRESS:PORT"],
        Some(Interface::Line) | None => &["serial:PORT", "pty:PATH", "tcp:ADDRESS:PORT"],
    };
    let text = format!("Link of {device}: {} [one on this computer]: ", ways.join(", "));
    loop {
        let answer = question(input, output, &text)?;
        if answer.is_empty() {
            return Ok(AUTO.to_owned());
        }
        let kind = |text: &str| text.split_once(':').map(|(kind, _)| kind.to_owned());
        if draft::link_of(&answer).is_ok() && ways.iter().any(|way| kind(way) == kind(&answer)) {
            return Ok(answer);
        }
        writeln!(output, "This device does not support the link `{answer}`.")?;
    }
}

fn question(input: &mut impl BufRead, output: &mut impl Write, text: &str) -> io::Result<String> {
    write!(output, "{text}")?;
    output.flush()?;
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the input ended without an answer",
        ));
    }
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> (Option<Answers>, String) {
        let mut output = Vec::new();
        let answers = ask(&mut text.as_bytes(), &mut output, None).ok();
        (answers, String::from_utf8(output).unwrap())
    }

    #[test]
    fn devices_are_numbers_or_names_and_a_wrong_one_is_asked_for_again() {
        let first = &catalogue().profiles()[0].name;
        let (answers, output) = answered("9999\n1 roof=velodyne-vlp16-3.0\n\n\n\n");
        let answers = answers.unwrap();
        assert_eq!(answers.links, [AUTO, AUTO]);
        assert_eq!(answers.devices, [first.as_str(), "roof=velodyne-vlp16-3.0"]);
        assert_eq!(answers.scene, None);
        assert!(output.contains("There is no device `9999`."), "{output}");
        for profile in catalogue().profiles() {
            assert!(output.contains(&profile.name) && output.contains(&profile.summary));
        }
    }

    #[test]
    fn each_device_is_asked_for_its_link_and_a_wrong_one_is_asked_for_again() {
        let devices = "gps=ublox-m8n velodyne-vlp16-3.0 sick-lms111\n";
        let links = "udp:10.0.0.1:5\nserial:/dev/ttyUSB0\n\ncarrier-pigeon\ntcp:10.0.0.2:2111\n";
        let (answers, output) = answered(&[devices, links, "room\n"].concat());
        let answers = answers.unwrap();
        assert_eq!(answers.links, ["serial:/dev/ttyUSB0", AUTO, "tcp:10.0.0.2:2111"]);
        assert_eq!(answers.scene.as_deref(), Some("room"));
        assert!(output.contains("does not support the link `udp:10.0.0.1:5`."), "{output}");
        assert!(output.contains("does not support the link `carrier-pigeon`."), "{output}");
        assert_eq!(output.matches("Link of gps=ublox-m8n: serial:PORT, pty:PATH").count(), 2);
        assert!(output.contains("Link of velodyne-vlp16-3.0: udp:ADDRESS:PORT ["), "{output}");
    }

    #[test]
    fn an_end_without_answers_is_an_error() {
        assert_eq!(answered("").0, None);
        assert_eq!(answered("\n\n").0, None);
    }
}
