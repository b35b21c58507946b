//! HTML pages without external files, for reports: light and printable.

use crate::plot::escape;

/// Style of all pages.
const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;color:#1c2127;max-width:880px;\
margin:24px auto;padding:0 12px}h1{font-size:22px;margin:0}h2{font-size:17px;margin:28px 0 6px;\
border-bottom:2px solid #1f6fb4}h3{font-size:13px;margin:14px 0 2px;color:#555}\
table{border-collapse:collapse;margin:6px 0}td,th{padding:2px 12px 2px 0;text-align:right;\
vertical-align:top}td:first-child,th:first-child,table.facts td{text-align:left}\
th{font-weight:600;border-bottom:1px solid #bbb}.met{color:#1a7f37;font-weight:600}\
.unmet{color:#c0262d;font-weight:600}.note{color:#555}code{font-size:11px;\
word-break:break-all}svg{max-width:100%;height:auto}";

/// A complete page with the title `title`; `style` is added to the common style, `body` is HTML.
pub fn page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>{}</title><style>{STYLE}{style}</style></head><body>\n{body}</body></html>\n",
        escape(title)
    )
}
