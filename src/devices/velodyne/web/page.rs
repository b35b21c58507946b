//! HTML page of the web interface: documents and forms.

use std::fmt::Write;

use serde_json::Value;

use super::{forms, state};
use crate::velodyne::Velodyne;
use crate::wire::http::HttpResponse;

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<style>
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 46em; padding: 0 1em; color: #222; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin: 1.6em 0 .4em; }
p.note { background: #fff4d0; padding: .6em .8em; border-left: 4px solid #d9a400; }
table { border-collapse: collapse; } td { padding: .1em 1.2em .1em 0; vertical-align: top; }
td:first-child { color: #666; }
form { margin: .5em 0; } label { margin-right: 1em; white-space: nowrap; }
input[type=number] { width: 6em; } #problem { color: #b00020; }
</style>
"#;

/// End of the page. Its script updates the tables once per second, as on real units, and stays on the page while the
/// unit restarts. Without the script, the forms still work; a reload shows their effect.
const TAIL: &str = r#"<script>
const problem = document.getElementById("problem");
const show = (path, value) => {
  if (value !== null && typeof value === "object") {
    for (const [key, field] of Object.entries(value)) show(path + "." + key, field);
  } else {
    const cell = document.getElementById(path);
    if (cell) cell.textContent = value;
  }
};
const refresh = async () => {
  try {
    const reply = await fetch("/cgi/snapshot.hdl");
    if (!reply.ok) throw await reply.text();
    for (const [key, part] of Object.entries(await reply.json())) show(key, part);
    if (problem.dataset.of === "refresh") problem.textContent = "";
  } catch (why) {
    problem.dataset.of = "refresh";
    problem.textContent = why;
  }
  setTimeout(refresh, 1000);
};
setTimeout(refresh, 1000);
for (const form of document.forms) form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  const reply = await fetch(form.action, { method: "POST", body });
  problem.dataset.of = "form";
  problem.textContent = reply.ok ? "" : await reply.text();
});
</script>
</body></html>
"#;

/// Makes the page.
pub fn page(unit: &Velodyne) -> HttpResponse {
    let model = escape(&unit.web.profile.model);
    let settings = state::settings(unit);
    let mut html = format!(
        "{HEAD}<title>{model}</title></head><body>\n<h1>{model}, emulated by Menura</h1>\n\
         <p class=\"note\">This is not a real {model}. The fields are those of its web interface; \
         what is saved lasts until this run of Menura ends.</p>\n"
    );
    section(&mut html, "Unit", "info", &state::info(unit));
    section(&mut html, "Status", "status", &state::status(unit));
    section(&mut html, "Settings", "config", &settings);
    html += "<h2>Change</h2>\n";
    forms(&mut html, unit, &settings);
    html += "<p id=\"problem\" role=\"alert\"></p>\n";
    section(&mut html, "Diagnosis, raw counts", "diag", &state::diagnosis(unit));
    html += TAIL;
    HttpResponse { status: 200, content_type: "text/html; charset=utf-8", body: html.into_bytes() }
}

/// Appends one document; `part` is its key in the snapshot.
fn section(html: &mut String, title: &str, part: &str, value: &Value) {
    let file = if part == "config" { "settings" } else { part };
    *html += &format!("<h2>{title} (<a href=\"/cgi/{file}.json\">{file}.json</a>)</h2>\n<table>\n");
    rows(html, part, value);
    *html += "</table>\n";
}

/// Appends a row for each simple value in `value`; `path` is the position of `value` in the snapshot.
fn rows(html: &mut String, path: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| rows(html, &format!("{path}.{key}"), value));
        }
        Value::String(text) => row(html, path, text),
        other => row(html, path, &other.to_string()),
    }
}

fn row(html: &mut String, path: &str, text: &str) {
    let (_, name) = path.split_once('.').unwrap_or_default();
    let [path, name, text] = [path, name, text].map(escape);
    // Writing to a string cannot fail.
    let _ = writeln!(html, "<tr><td>{name}</td><td id=\"{path}\">{text}</td></tr>");
}

fn forms(html: &mut String, unit: &Velodyne, settings: &Value) {
    let words: Vec<_> = unit.limits.returns.iter().map(|mode| forms::word(*mode)).collect();
    let speeds = [0, unit.limits.rpm[1], unit.limits.rpm_step];
    let (fov, host) = (&settings["fov"], &settings["host"]);
    let (net, lock) = (&settings["net"], &settings["phaselock"]);
    let port = [1, 65_535, 1];
    for (path, button, fields) in [
        (
            "setting",
            "Set",
            vec![
                number("rpm", "Speed, rpm", &settings["rpm"], speeds),
                choice("returns", "Returns", &words, &settings["returns"]),
                choice("laser", "Laser", &["On", "Off"], &settings["laser"]),
            ],
        ),
        (
            "setting/fov",
            "Set",
            vec![
                number("start", "View from", &fov["start"], [0, 359, 1]),
                number("end", "to, degrees", &fov["end"], [0, 359, 1]),
            ],
        ),
        (
            "setting/phaselock",
            "Set",
            vec![
                choice("enabled", "Phase lock", &["On", "Off"], &lock["enabled"]),
                number("offset", "Offset, 0.01 degrees", &lock["offset"], [0, 35_999, 1]),
            ],
        ),
        (
            "setting/host",
            "Set",
            vec![
                text("addr", "Host", &host["addr"]),
                number("dport", "Data port", &host["dport"], port),
                number("tport", "Telemetry port", &host["tport"], port),
            ],
        ),
        (
            "setting/net",
            "Note (the rig's link is used)",
            vec![
                text("addr", "Own address", &net["addr"]),
                text("mask", "Mask", &net["mask"]),
                text("gateway", "Gateway", &net["gateway"]),
                choice("dhcp", "DHCP", &["On", "Off"], &net["dhcp"]),
            ],
        ),
        ("save", "Save", vec![hidden("data", "submit")]),
        ("reset", "Restart", vec![hidden("reset_system", "")]),
    ] {
        let fields = fields.join("\n");
        *html += &format!(
            "<form method=\"post\" action=\"/cgi/{path}\">{fields} <button>{button}</button></form>\n"
        );
    }
}

fn number(key: &str, label: &str, value: &Value, [low, high, step]: [u32; 3]) -> String {
    format!(
        "<label>{label} <input type=\"number\" name=\"{key}\" value=\"{value}\" \
         min=\"{low}\" max=\"{high}\" step=\"{step}\"></label>"
    )
}

fn text(key: &str, label: &str, value: &Value) -> String {
    let value = escape(value.as_str().unwrap_or_default());
    format!("<label>{label} <input name=\"{key}\" value=\"{value}\" size=\"15\"></label>")
}

fn choice(key: &str, label: &str, words: &[&str], value: &Value) -> String {
    let option = |word: &&str| {
        let chosen = if value == *word { " selected" } else { "" };
        format!("<option{chosen}>{word}</option>")
    };
    let options: String = words.iter().map(option).collect();
    format!("<label>{label} <select name=\"{key}\">{options}</select></label>")
}

fn hidden(key: &str, value: &str) -> String {
    format!("<input type=\"hidden\" name=\"{key}\" value=\"{value}\">")
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
