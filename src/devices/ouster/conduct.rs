//! Command tables of an Ouster. Commands that only other firmware supports are marked as refused.

use super::config;
use super::profile::OusterProfile;
use crate::commands::{CommandTable, Conduct};

pub(super) fn tables(profile: &OusterProfile) -> Vec<CommandTable> {
    let interface = &profile.interface;
    let mut http = CommandTable::parse("HTTP requests", include_str!("http.csv"));
    for row in &mut http.rows {
        let path = row.code.split(' ').nth(1).unwrap_or_default();
        let is_there = match path {
            _ if interface.has_tcp_commands => {
                path.starts_with("system/") && !path.contains("cmd") || path.starts_with("time")
            }
            "sensor/metadata/calibration_status" => interface.has_calibration_status,
            "sensor/metadata/imu_data_format" => interface.has_return_order,
            "system/cmd/reboot" => interface.has_reboot_command,
            _ => true,
        };
        if !is_there && row.conduct != Conduct::NotMade {
            row.conduct = Conduct::Refused;
            row.note = "status 404; only other firmware has it";
        }
    }
    let mut parameters =
        CommandTable::parse("configuration parameters", include_str!("parameters.csv"));
    for row in &mut parameters.rows {
        if !config::has(profile, row.code) {
            row.conduct = Conduct::Refused;
            row.note = "status 400; only other firmware has it";
        }
    }
    let mut tables = vec![http, parameters];
    if interface.has_tcp_commands {
        tables.push(CommandTable::parse("TCP commands", include_str!("tcp.csv")));
    }
    tables
}
