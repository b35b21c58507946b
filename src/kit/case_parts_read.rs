//! Reads the events of a case: faults, power cuts, clock steps, rogue senders, forms for a web interface.

use std::net::{Ipv4Addr, SocketAddr};

use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::kit::case::{CaseFault, ClockStep, PowerCut, Sends, Stranger, WebPost};
use crate::kit::stranger::{ADDRESS, LONGEST};
use crate::kit::toml_fields::{FORMAT, pairs, seconds, toml_of};

/// Reads a fault. The rig reader checks the keys that depend on the kind.
pub(super) fn fault(mut table: TableReader<'_>) -> Option<CaseFault> {
    let kind = table.required("kind").text("a kind of fault, docs/FAULTS.md");
    let start_s = table.required("start_s").number(&seconds(0.0));
    let on_cable = table.optional("on_cable").boolean_or(false);
    let keys = table.take_rest().into_iter().map(|entry| (entry.key, toml_of(&entry.node)));
    let keys = keys.collect();
    table.finish();
    Some(CaseFault { kind: kind?.value, start_s: start_s?, on_cable, keys })
}

pub(super) fn power_cut(mut table: TableReader<'_>) -> Option<PowerCut> {
    let off_s = table.required("off_s").number(&seconds(0.0));
    let on = table.required("on_s");
    let on_s = on.number(&seconds(0.0));
    if let (Some(off_s), Some(on_s), Some(place)) = (off_s, on_s, on.place())
        && on_s <= off_s
    {
        let label = format!("allowed: more than `off_s`, {off_s} s");
        on.fault(place.fault("`on_s` must be later than `off_s`", label));
    }
    let set = pairs(&table.optional("set"), "keys of the rig, each \"KEY=VALUE\"");
    table.finish();
    Some(PowerCut { off_s: off_s?, on_s: on_s?, set })
}

pub(super) fn clock_step(mut table: TableReader<'_>) -> Option<ClockStep> {
    let at_s = table.required("at_s").number(&seconds(0.0));
    // The limit is about a hundred years.
    let by_s = table.required("by_s").number(&Limit::new(-3.2e9..=3.2e9, "s", FORMAT));
    table.finish();
    Some(ClockStep { at_s: at_s?, by_s: by_s? })
}

pub(super) fn web_post(mut table: TableReader<'_>) -> Option<WebPost> {
    let at_s = table.required("at_s").number(&seconds(0.0));
    let path_field = table.required("path");
    let path = path_field.text("a path of the web interface, such as \"/cgi/setting\"");
    let body_field = table.required("body");
    let body = body_field.text("a form, such as \"rpm=300\"");
    if let Some(path) = &path {
        // A space or line end would break the first line of the HTTP request.
        let is_fine =
            path.value.starts_with('/') && path.value.chars().all(|c| c.is_ascii_graphic());
        if !is_fine {
            let title = format!("\"{}\" is not a path", path.value);
            let label = "allowed: `/`, then letters, digits and punctuation without spaces";
            path_field.fault(path.place.fault(title, label));
            return None;
        }
    }
    table.finish();
    Some(WebPost { at_s: at_s?, path: path?.value, body: body?.value })
}

pub(super) fn stranger(mut table: TableReader<'_>) -> Option<Stranger> {
    let words = [("garbage", Sends::Garbage), ("twin", Sends::Twin), ("bytes", Sends::Bytes)];
    let sends = table.required("sends").choice(&words, FORMAT);
    let start_s = table.required("start_s").number(&seconds(0.0));
    let duration_s = table.required("duration_s").number(&seconds(0.01));
    let rate = Limit::new(0.01..=100_000.0, "Hz", FORMAT);
    let rate_hz = table.optional("rate_hz").number_or(&rate, 1000.0);
    let size = table.optional("size_bytes");
    let size_bytes = match size.is_written() {
        true => size.integer(&Limit::new(0..=LONGEST.into(), "bytes", FORMAT)),
        false => None,
    };
    let from = stranger_address(&table.optional("from"));
    let set = pairs(&table.optional("set"), "keys of the rig, each \"KEY=VALUE\"");
    let file = table.optional("capture");
    let capture = if file.is_written() { file.text("the path of a capture") } else { None };
    if let Some(text) = &capture
        && sends == Some(Sends::Garbage)
    {
        let label = "allowed: with `sends = \"twin\"`";
        file.fault(text.place.fault("`capture` conflicts with `sends = \"garbage\"`", label));
    }
    if let Some(text) = &capture
        && !set.is_empty()
    {
        let label = "allowed: `capture` or `set`, not both";
        file.fault(text.place.fault("`set` cannot change a capture", label));
    }
    let capture = capture.map(|text| text.value.into());
    let datagrams = match sends {
        Some(Sends::Bytes) => datagrams(&table.required("datagrams")),
        _ => Some(Vec::new()),
    };
    let to = table.optional("to");
    let to = if to.is_written() {
        Some(to.text("a control of the device, such as \"gvcp\"")?.value)
    } else {
        None
    };
    table.finish();
    let (sends, start_s, duration_s) = (sends?, start_s?, duration_s?);
    Some(Stranger {
        sends,
        start_s,
        duration_s,
        rate_hz,
        size_bytes,
        from: from?,
        set,
        capture,
        datagrams: datagrams?,
        to,
    })
}

/// One or more datagrams in hexadecimal digits.
fn datagrams(field: &Field<'_>) -> Option<Vec<Vec<u8>>> {
    const ALLOWED: &str = "strings of hexadecimal digits, such as [\"42 01 00 02 00 00 00 01\"]";
    let texts = field.strings(ALLOWED)?;
    let bytes = |text: &String| -> Option<Vec<u8>> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() {
            return None;
        }
        pairs.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
    };
    let read: Option<Vec<_>> = texts.iter().map(bytes).collect();
    let read = read.filter(|datagrams| !datagrams.is_empty());
    if read.is_none()
        && let Some(place) = field.place()
    {
        field.fault(place.fault("these are not datagrams", format!("allowed: {ALLOWED}")));
    }
    read
}

/// Reads `"ADDRESS"` or `"ADDRESS:PORT"` of the loopback interface; port 0 (any port) if the port is omitted, and
/// [`ADDRESS`] if the key is missing.
fn stranger_address(field: &Field<'_>) -> Option<SocketAddr> {
    if !field.is_written() {
        return Some((ADDRESS, 0).into());
    }
    const ALLOWED: &str =
        "an address in 127.0.0.0/8 with or without a port, such as \"127.0.0.70:2368\"";
    let text = field.text(ALLOWED)?;
    let address: Option<SocketAddr> =
        text.value.parse().ok().or_else(|| Some((text.value.parse::<Ipv4Addr>().ok()?, 0).into()));
    let address = address.filter(|address| address.is_ipv4() && address.ip().is_loopback());
    if address.is_none() {
        let title = format!("a rogue sender cannot send from \"{}\"", text.value);
        field.fault(text.place.fault(title, format!("allowed: {ALLOWED}")));
    }
    address
}
