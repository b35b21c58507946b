//! Reads the profile of a drive base, and what a rig sets on one.

use super::BaseFamily;
use super::profile::{
    BaseIdentity, BaseProfile, BaseSettings, PROFILES, PowerSettings, WheelSettings, delay_limit,
};
use crate::config::profile::{Profile, baud_rate};
use crate::config::toml::key_types::{KeyType, Time};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::{Limit, TableReader};
use crate::serial::line_read;

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, family: BaseFamily) -> Option<BaseProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let line = root.required("line").table("[line]").and_then(line);
    let mut all = BaseSettings {
        baud_rate: 0,
        reply_delay_ns: 0,
        is_input_paced: false,
        wheels: WheelSettings::default(),
        power: PowerSettings::default(),
        dialect: (family.dialect)(),
    };
    let mut keys = Keys::of_profile(root);
    tables(&mut keys, &mut all);
    let complete = keys.finish();
    let line = line?;
    all.baud_rate = *line.baud_rates.first()?;
    all.reply_delay_ns = line.reply_delay_ns;
    all.is_input_paced = line.is_input_paced;
    Some(BaseProfile {
        family,
        identity: identity?,
        baud_rates: line.baud_rates,
        transmit_buffer_bytes: line.transmit_buffer_bytes,
        boot_ns: line.boot_ns,
        defaults: complete.map(|()| all)?,
    })
}

fn identity(mut table: TableReader<'_>) -> Option<BaseIdentity> {
    let why = "limit from the wire formats: a RoboClaw's version has 48 with its end";
    let mut text = |key| line_read::identity_text(&mut table, key, 46, why);
    let (model, firmware) = (text("model"), text("firmware"));
    let number = Limit::new(0..=i128::from(u32::MAX), "", "the wire formats: four bytes");
    let serial = table.required("serial").integer(&number);
    table.finish();
    Some(BaseIdentity { model: model?, serial: serial?, firmware: firmware? })
}

struct Line {
    baud_rates: Vec<u32>,
    transmit_buffer_bytes: usize,
    reply_delay_ns: u64,
    boot_ns: u64,
    is_input_paced: bool,
}

fn line(mut table: TableReader<'_>) -> Option<Line> {
    let rates = line_read::baud_rates(&mut table);
    let transmit_buffer_bytes = line_read::transmit_buffer_bytes(&mut table, PROFILES);
    let mut delay = |key| Time(delay_limit(), 1e6).read(&table.required(key));
    let (reply_delay_ns, boot_ns) = (delay("reply_delay_ms"), delay("boot_ms"));
    let is_input_paced = table.required("paced_input").boolean();
    table.finish();
    Some(Line {
        baud_rates: rates?,
        transmit_buffer_bytes: transmit_buffer_bytes?,
        reply_delay_ns: reply_delay_ns?,
        boot_ns: boot_ns?,
        is_input_paced: is_input_paced?,
    })
}

/// The tables that a rig may override key by key.
fn tables(keys: &mut Keys<'_>, all: &mut BaseSettings) {
    keys.table("wheels", "[wheels]", &mut all.wheels, SharedKeys::read);
    keys.table("power", "[power]", &mut all.power, SharedKeys::read);
    all.dialect = all.dialect.read(keys);
}

/// Reads the settings of a rig.
pub(super) fn settings(
    mut table: TableReader<'_>,
    profile: &Profile,
    driver: &BaseProfile,
) -> Option<BaseSettings> {
    let mut all = driver.defaults.clone();
    baud_rate::read(&mut table, profile, &driver.baud_rates, &mut all.baud_rate);
    let mut keys = Keys::of_rig(table);
    keys.time_ns("reply_delay_ms", &delay_limit(), 1e6, &mut all.reply_delay_ns);
    keys.boolean("paced_input", &mut all.is_input_paced);
    tables(&mut keys, &mut all);
    keys.finish()?;
    Some(all)
}
