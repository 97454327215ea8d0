"use strict";
// Fills the page: sliders for the inputs, the outputs, the registers over time, the equations. Texts are set as texts.
(() => {
  const model = JSON.parse(document.getElementById("model").textContent);
  const SLIDERS = 16, OUTPUTS = 64, LINES = 48, ROWS = 40, PARTS = 16, SAMPLES = 400;
  const SAYS = {
    done: "", input: "an input is not a finite number", steps: "too many steps",
    escape: "the solution escapes: it leaves every bound at t = ",
  };
  const place = (name) => document.getElementById(name);
  const make = (kind, ...contents) => {
    const element = document.createElement(kind);
    element.append(...contents);
    return element;
  };
  const drawn = (kind, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(6))).replace("-", "\u2212") : "none");
  const GREEK = {
    alpha: "\u03b1", beta: "\u03b2", gamma: "\u03b3", delta: "\u03b4", eps: "\u03b5", lam: "\u03bb", mu: "\u03bc", nu: "\u03bd",
    omega: "\u03c9", phi: "\u03c6", psi: "\u03c8", rho: "\u03c1", sigma: "\u03c3", theta: "\u03b8",
  };
  const named = (name) => {
    const [, letters, index] = name.match(/^(.*?)([\d_]*)$/);
    return make("i", (Object.hasOwn(GREEK, letters) ? GREEK[letters] : letters) || name, ...(index && letters ? [make("sub", index.replace(/^_/, "").replaceAll("_", ","))] : []));
  };

  // inputs
  const x = [...model.start], shown = Math.min(x.length, SLIDERS), fields = [];
  const all = place("all");
  const change = (n, value, from) => {
    x[n] = value;
    for (const field of fields[n] || []) if (field !== from) field.value = Number.isFinite(value) ? value : "";
    if (from !== all) all.value = x.join(", ");
    ask();
  };
  for (let n = 0; n < shown; n++) {
    const slider = make("input"), number = make("input"), name = `input-${n}`;
    const label = make("label", named(model.registers[n]));
    Object.assign(slider, { type: "range", min: model.low[n], max: model.high[n], step: "any", value: x[n], id: name });
    Object.assign(number, { type: "number", step: "any", value: x[n], autocomplete: "off" });
    number.setAttribute("aria-label", model.registers[n]);
    label.htmlFor = name;
    label.title = model.meanings[n];
    fields[n] = [slider, number];
    slider.addEventListener("input", () => change(n, Number(slider.value), slider));
    number.addEventListener("input", () => change(n, number.value === "" ? NaN : Number(number.value), number));
    place("sliders").append(make("div", label, slider, number));
  }
  all.value = x.join(", ");
  all.addEventListener("input", () => {
    const parts = all.value.split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
    x.forEach((_, n) => change(n, n < parts.length && parts.length === x.length ? parts[n] : NaN, all));
  });

  // registers over time
  const lines = model.registers.slice(0, LINES), hidden = new Set(), entries = [];
  const colour = (n) => `var(--c${n % 8})`;
  lines.forEach((name, n) => {
    const sign = make("b"), value = make("span"), button = make("button", sign, named(name), " ", value);
    sign.style.background = colour(n);
    button.type = "button";
    button.title = model.meanings[n];
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      if (!hidden.delete(n)) hidden.add(n);
      button.setAttribute("aria-pressed", String(!hidden.has(n)));
      draw();
    });
    entries.push(value);
    place("legend").append(make("li", button));
  });
  const durations = model.segments.map((segment) => segment.duration);
  const even = Math.min(...durations) < Math.max(...durations) / 20; // short segments would not be seen
  const widths = even ? durations.map(() => 1) : durations;
  const edges = widths.reduce((sums, width) => [...sums, sums.at(-1) + width], [0]);
  const times = durations.reduce((sums, duration) => [...sums, sums.at(-1) + duration], [0]);
  const starts = new Map(model.segments.map((segment, n) => [segment, n]));
  const compress = place("compress");
  const height = (value) => (compress.checked ? Math.sign(value) * Math.log10(1 + Math.abs(value)) : value);
  // Values beside the grid: multiples of 1, 2 or 5 times a power of ten, or powers of ten where large values are compressed.
  const ticks = (bottom, top) => {
    if (compress.checked) {
      const powers = Array.from({ length: 309 }, (_, n) => 10 ** n);
      return [...powers.map((value) => -value), 0, ...powers].filter((v) => height(v) >= bottom && height(v) <= top);
    }
    const rough = (top - bottom) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const first = Math.ceil(bottom / step), count = Math.floor(top / step) - first + 1;
    return Array.from({ length: count }, (_, n) => (first + n) * step);
  };
  let result, pointer = null;

  const draw = () => {
    const svg = place("chart"), wide = Math.max(svg.clientWidth, 240), high = 340, left = 58, low = high - 26;
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    const path = result.path.filter((point) => point.y.every(Number.isFinite));
    const values = path.flatMap((point) => lines.map((_, n) => n).filter((n) => !hidden.has(n)).map((n) => height(point.y[n])));
    let bottom = values.reduce((a, b) => Math.min(a, b), 0), top = values.reduce((a, b) => Math.max(a, b), 0);
    if (top === bottom) [bottom, top] = [bottom - 1, top + 1];
    const at = (point) => {
      const n = starts.get(point.segment);
      return left + ((edges[n] + (point.t / durations[n]) * widths[n]) / edges.at(-1)) * (wide - left - 8);
    };
    const up = (value) => low - ((value - bottom) / (top - bottom)) * (low - 12);
    const word = (text, attributes) => {
      const element = drawn("text", attributes);
      element.textContent = text;
      return element;
    };
    const parts = [];
    widths.forEach((width, n) => {
      const from = left + (edges[n] / edges.at(-1)) * (wide - left - 8), to = left + (edges[n + 1] / edges.at(-1)) * (wide - left - 8);
      parts.push(drawn("rect", { x: from, y: 12, width: to - from, height: low - 12, class: n % 2 ? "odd" : "band" }));
      if (to - from > 46 || n === 0) parts.push(word(short(times[n]), { x: from, y: high - 8, class: "tick" }));
    });
    parts.push(word(`t = ${short(times.at(-1))}`, { x: wide - 8, y: high - 8, class: "end" }));
    for (const value of ticks(bottom, top)) {
      const y = up(height(value));
      parts.push(drawn("line", { x1: left, x2: wide - 8, y1: y, y2: y, class: "grid" }));
      parts.push(word(short(value), { x: left - 6, y: y + 4, class: "end" }));
    }
    const pixels = path.map(at);
    lines.forEach((_, n) => {
      if (hidden.has(n)) return;
      const d = path.map((point, m) => `${m ? "L" : "M"}${pixels[m].toFixed(1)} ${up(height(point.y[n])).toFixed(1)}`).join("");
      const line = drawn("path", { d, class: "line" });
      line.style.stroke = colour(n);
      parts.push(line);
    });
    let here = path.at(-1);
    if (pointer !== null && path.length) {
      const nearest = pixels.reduce((best, pixel, m) => (Math.abs(pixel - pointer) < Math.abs(pixels[best] - pointer) ? m : best), 0);
      here = path[nearest];
      parts.push(drawn("line", { x1: pixels[nearest], x2: pixels[nearest], y1: 12, y2: low, class: "pointer" }));
    }
    svg.replaceChildren(...parts);
    entries.forEach((entry, n) => { entry.textContent = here ? short(here.y[n]) : ""; });
    place("moment").textContent = here ? `at t = ${short(times[starts.get(here.segment)] + here.t)}` : "";
  };

  const update = () => {
    const begin = performance.now();
    result = flow(model, x, Math.max(12, Math.ceil(SAMPLES / Math.max(model.segments.length, 1))));
    const spent = performance.now() - begin;
    place("outputs").replaceChildren(...model.outputs.slice(0, OUTPUTS).map((name, n) => {
      const value = make("output", Number.isFinite(result.outputs[n]) ? String(result.outputs[n]) : "no value");
      return make("div", named(name), value);
    }));
    const where = result.status === "escape" ? `${short(result.time)}` : "";
    place("status").textContent = SAYS[result.status] + where;
    const rest = model.outputs.length - OUTPUTS;
    place("effort").textContent = `${rest > 0 ? `${rest} more outputs; ` : ""}${result.steps} Taylor steps of order 24, ${spent.toFixed(1)} ms`;
    draw();
    document.documentElement.dataset.drawn = "all";
  };
  let asked = false;
  const ask = () => {
    if (!asked) requestAnimationFrame(() => { asked = false; update(); });
    asked = true;
  };

  // equations
  const number = (value) => {
    const [mantissa, power] = value.toPrecision(6).split("e");
    const digits = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return power ? [`${digits}\u00b710`, make("sup", String(Number(power)).replace("-", "\u2212"))] : [digits];
  };
  const equation = (segment, row) => {
    const line = make("p", named(model.registers[segment.i[row[0]]]), "\u2032 = ");
    row.slice(0, PARTS).forEach((e, n) => {
      const value = segment.value[e], factors = [segment.j[e], segment.k[e]].filter((f) => f >= 0);
      line.append(value < 0 ? (n ? " \u2212 " : "\u2212") : n ? " + " : "");
      if (Math.abs(value) !== 1 || !factors.length) line.append(...number(Math.abs(value)), factors.length ? "\u2009" : "");
      if (factors.length === 2 && factors[0] === factors[1]) line.append(named(model.registers[factors[0]]), make("sup", "2"));
      else factors.forEach((f, m) => line.append(m ? "\u2009" : "", named(model.registers[f])));
    });
    if (row.length > PARTS) line.append(` + \u2026 ${row.length - PARTS} more terms`);
    return line;
  };
  model.segments.forEach((segment, n) => {
    const box = make("details", make("summary", `Segment ${n + 1}: ${segment.label || "no name"}, duration ${short(segment.duration)}`));
    box.addEventListener("toggle", () => {
      if (box.dataset.filled) return;
      box.dataset.filled = "yes";
      const rows = [];
      segment.i.forEach((i, e) => (e && i === segment.i[e - 1] ? rows.at(-1).push(e) : rows.push([e])));
      const list = make("div", ...rows.slice(0, ROWS).map((row) => equation(segment, row)));
      list.className = "columns";
      box.append(list);
      if (rows.length > ROWS) box.append(make("p", `\u2026 and ${rows.length - ROWS} more registers`));
      if (!rows.length) box.append(make("p", "nothing moves"));
    });
    box.open = n < 3;
    place("equations").append(box);
  });

  place("about").append(...model.about.map((line) => make("li", line)));
  place("source").textContent = model.source;
  place("more").textContent = x.length > shown ? `Sliders for the first ${shown} of ${x.length} inputs.` : "";
  place("undrawn").textContent = [
    model.registers.length > LINES ? `The first ${LINES} of ${model.registers.length} registers are drawn.` : "",
    even ? "Segments are drawn with the same width, though their durations differ." : "",
  ].join(" ");
  compress.addEventListener("change", draw);
  place("chart").addEventListener("pointermove", (event) => {
    pointer = event.clientX - place("chart").getBoundingClientRect().left;
    draw();
  });
  place("chart").addEventListener("pointerleave", () => { pointer = null; draw(); });
  addEventListener("resize", draw);
  window.integraph = { run: (values) => flow(model, values) };
  update();
})();
