"use strict";
// The form that starts a fault, with a field for each key and its limits, and the list of faults.

// Initial values of required keys.
const EXAMPLES = {
  probability: 0.1, delay_ms: 5, rate: 0.0001, offset_m: "[5, 0, 0]", lasers: "[3, 7]", transmission: 0.3, reduction: 0.3, id: 1,
  category: "TEST", level: "WARNING", message: "a test", counts: 1000, battery_v: 10.5, charge_percent: 10, rise_c: 30,
};

class Faults {
  constructor(form, ask) {
    Object.assign(this, { form, ask });
    this.forms = new Map();
    $("fault-device").addEventListener("change", () => this.showKinds());
    $("fault-kind").addEventListener("change", () => this.showKeys());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
  }

  // Stores the faults that each device supports, from the server's list of devices.
  set(devices) {
    this.forms = new Map(devices.map(({ name, faults }) => [name, faults]));
    $("fault-device").replaceChildren(...devices.map(({ name }) => new Option(name)));
    this.showKinds();
  }

  choose(name) {
    $("faults").open = true;
    $("fault-device").value = name;
    this.showKinds();
    $("faults").scrollIntoView({ block: "nearest" });
    $("fault-kind").focus();
  }

  showKinds() {
    const kinds = this.forms.get($("fault-device").value) || [];
    $("fault-kind").replaceChildren(...kinds.map(({ kind }) => new Option(kind)));
    this.showKeys();
  }

  get keys() {
    const kinds = this.forms.get($("fault-device").value) || [];
    const keys = kinds.find(({ kind }) => kind === $("fault-kind").value)?.keys || [];
    return [...keys].sort((a, b) => b.is_required - a.is_required);
  }

  showKeys() {
    $("fault-error").hidden = true;
    $("fault-keys").replaceChildren(...this.keys.map((key) => {
      const label = element("label");
      label.title = key.sets;
      const name = key.unit ? `${key.name.replace(/_[a-z]+$/, "").replaceAll("_", " ")}, ${key.unit}` : key.name.replaceAll("_", " ");
      label.append(`${name}${key.is_required ? " *" : ""}`, this.field(key));
      const hint = element("small", key.words.length ? "" : key.form === "boolean" ? "" : shortened(key.allowed));
      label.append(hint);
      return label;
    }));
  }

  field(key) {
    const given = key.is_required ? EXAMPLES[key.name] : undefined;
    let field;
    if (key.words.length || key.form === "boolean") {
      field = element("select");
      const words = key.form === "boolean" ? ["true", "false"] : key.words;
      const none = key.default === null ? "—" : `default: ${key.default}`;
      if (!key.is_required) field.append(new Option(none, ""));
      field.append(...words.map((word) => new Option(word)));
      if (given !== undefined && words.includes(given)) field.value = given;
    } else {
      field = element("input");
      field.autocomplete = "off";
      field.spellcheck = false;
      if (key.form === "number" || key.form === "integer") {
        field.type = "number";
        field.step = key.form === "integer" ? 1 : "any";
        if (key.least !== null) [field.min, field.max] = [key.least, key.most];
      }
      field.placeholder = key.default === null ? (key.is_required ? "required" : "optional") : `default: ${key.default}`;
      if (given !== undefined) field.value = given;
    }
    field.name = key.name;
    field.required = key.is_required;
    return field;
  }

  async start() {
    const start = { device: $("fault-device").value, kind: $("fault-kind").value };
    for (const key of this.keys) {
      const text = this.form.elements[key.name].value.trim();
      if (text) start[key.name] = valueOf(text, key.form);
    }
    const seconds = $("fault-for").value.trim();
    if (seconds) start.duration_s = Number(seconds);
    await this.tell({ start });
  }

  async tell(request) {
    const error = $("fault-error");
    error.hidden = true;
    try {
      const told = await (await this.ask("/api/fault", request)).json();
      if (told.error) throw new Error(told.error);
    } catch (wrong) {
      error.textContent = wrong.message;
      error.hidden = false;
    }
  }

  // Shows the faults of the run, the newest first.
  show(told) {
    const now = told.time_s * 1e9;
    let on = 0;
    const rows = told.faults.map((fault) => {
      const row = element("li");
      const isOver = fault.ends_ns !== null && fault.ends_ns <= now;
      on += !isOver && now >= fault.begins_ns;
      const state = isOver ? "over" : now < fault.begins_ns ? `in ${((fault.begins_ns - now) / 1e9).toFixed(1)} s`
        : fault.ends_ns === null ? "on" : `${((fault.ends_ns - now) / 1e9).toFixed(1)} s left`;
      row.append(element("span", `${fault.name}: ${fault.kind} of ${fault.device}, ${state}`, isOver ? "over" : ""));
      if (fault.ends_ns === null) {
        const button = element("button", "End", "small");
        button.setAttribute("aria-label", `End ${fault.name}`);
        button.addEventListener("click", () => this.tell({ end: fault.name }));
        row.append(button);
      }
      return row;
    });
    setText($("fault-count"), on ? `${on} on` : "");
    const text = rows.map((row) => row.textContent).join();
    if ($("fault-list").dataset.text === text) return;
    const focused = document.activeElement?.getAttribute("aria-label");
    $("fault-list").dataset.text = text;
    $("fault-list").replaceChildren(...rows.reverse());
    if (focused) [...$("fault-list").querySelectorAll("button")].find((button) => button.getAttribute("aria-label") === focused)?.focus();
  }
}

// Parses the value of a key as JSON. Text that is not valid JSON is sent to the server as a string; the server then
// reports the error.
function valueOf(text, form) {
  if (form === "text" || form === "words") return text;
  try { return JSON.parse(text); } catch { return text; }
}

function shortened(allowed) {
  return allowed.length > 60 ? `${allowed.slice(0, 58)}…` : allowed;
}
