"use strict";
// Draws a panel as SVG: axes, spans, levels, curves, bars, heat maps; what is pointed at is named, a drag enlarges.
// Texts enter as text and never as markup. `chart(plot, panel, look)` draws; look = {width, hidden, dark, view, redraw}.
const chart = (() => {
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
  const LINE = 14, LONGEST = 24, RIGHT = 16, STACKED = 76; // pixels of a line; letters of an upright name; margins
  const DOT = 6, SQUARE = 5, REACH = 24; // pixels: of a point, of a dot of a matrix, from the pointer to what it means
  const scales = JSON.parse(document.getElementById("scales").textContent);
  const pen = document.createElement("canvas").getContext("2d");
  let number = 0;

  const element = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const measure = (text) => { pen.font = FONT; return pen.measureText(text).width; };
  const cut = (text, most) => { const letters = [...text]; return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text; };
  const finite = (value) => value !== null && Number.isFinite(value);
  const colour = (mark) => `var(--c${mark.colour % 8})`;

  const short = (value, step) => { // as many digits as tell neighbours apart
    if (Math.abs(value) < 1e-9 * step) return "0";
    const size = Math.abs(value), places = Math.min(Math.max(Math.ceil(Math.log10(size / step) - 1e-9) + 1, 1), 16);
    if (size >= 1e5 || size < 1e-4) return value.toExponential(places - 1).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−").replace("e-", "e−");
    return String(Number(value.toPrecision(places))).replace("-", "−");
  };
  const exact = (value) => short(value, Math.abs(value) * 1e-5 || 1);

  // An axis: where its numbers are, in pixels from `from` to `to`.
  const axis = (ends, log, from, to) => {
    const at = log ? Math.log10 : (value) => value, [low, high] = ends.map(at);
    const place = (value) => from + (at(value) - low) / (high - low) * (to - from);
    const value = (pixel) => { const v = low + (pixel - from) / (to - from) * (high - low); return log ? 10 ** v : v; };
    return { ends, log, place, value, low, high, pixels: Math.abs(to - from) };
  };

  const ticks = ({ low, high, log, pixels }, room) => {
    const most = Math.max(pixels / room, 2);
    if (log && high - low >= 0.8) {
      const stride = Math.max(Math.ceil((high - low) / most), 1), first = Math.ceil(low / stride - 1e-9) * stride;
      const powers = [];
      for (let power = first; power <= high + 1e-9; power += stride) powers.push(power);
      const digits = high - low < 2.5 ? [1, 2, 5] : [1];
      if (digits.length > 1 && powers.length) powers.unshift(powers[0] - 1);
      const far = powers.some((n) => n < -4 || n > 4); // then all are written alike
      const power = (v) => far && v !== 1 ? v.toExponential(0).replace("e+", "e").replace("e-", "e−") : short(v, v);
      return powers.flatMap((power) => digits.map((digit) => digit * 10 ** power))
        .filter((v) => v >= 10 ** low * 0.999999 && v <= 10 ** high * 1.000001).map((v) => [v, power(v)]);
    }
    const [a, b] = log ? [10 ** low, 10 ** high] : [low, high], raw = (b - a) / most, unit = 10 ** Math.floor(Math.log10(raw));
    const step = unit * [1, 2, 5, 10].find((digit) => digit * unit >= raw * 0.999999), marks = [];
    for (let n = Math.ceil(a / step - 1e-9); n * step <= b + 1e-9 * step && marks.length < 100; n++) marks.push([n * step, short(n * step, step)]);
    return marks;
  };

  const edges = (x) => { const half = x.length > 1 ? Math.abs(x[1] - x[0]) / 2 : 0.5; return [Math.min(x[0], x[x.length - 1]) - half, Math.max(x[0], x[x.length - 1]) + half]; };

  // The ends of an axis: those of everything in it; at least a decade, or something around a single value.
  const ends = (panel, which) => {
    const { log, names } = panel[which], across = which === "x";
    if (across && panel.spans.length) return [panel.spans[0][0], panel.spans[panel.spans.length - 1][1]];
    if (panel.matrix && names) return [names[0][0] - 0.6, names[names.length - 1][0] + 0.6];
    const heat = panel.marks.find((mark) => mark.kind === "heat");
    if (heat) return edges(heat[which]);
    const bars = panel.marks.find((mark) => mark.kind === "bars");
    if (bars && across) return [-0.6, bars.y.length - 0.4];
    const values = panel.marks.flatMap((mark) => mark[which]).concat(across ? [] : panel.levels.map(([y]) => y)).filter((v) => finite(v) && (!log || v > 0));
    if (bars && !log) values.push(0);
    let low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    if (low > high) [low, high] = log ? [0.1, 1] : [0, 1];
    if (log) {
      [low, high] = [Math.log10(low), Math.log10(high)];
      if (high - low < 1) [low, high] = [low - 0.5, high + 0.5]; // what is nearly constant shall look so
      const pad = 0.04 * (high - low);
      return [10 ** Math.max(low - (bars ? 4 * pad : pad), -307), 10 ** Math.min(high + 2 * pad, 307)];
    }
    const lines = across && panel.marks.every((mark) => mark.kind !== "points"), apart = high - low;
    const pad = apart > 0 ? (lines ? 0 : 0.05 * apart) : Math.abs(low) / 2 || 0.5;
    return bars && low === 0 ? [0, high + pad] : [low - pad, high + pad];
  };

  const spread = (named, scale) => { // as many names as there is room for
    let last = -Infinity;
    return named.filter(([at]) => { const here = scale.place(at); return Math.abs(here - last) >= LINE && ((last = here), true); });
  };

  const path = (mark, x, y) => {
    let text = "", down = false, before = 0;
    for (let n = 0; n < mark.x.length; n++) {
      const a = mark.x[n], b = mark.y[n];
      if (!finite(a) || !finite(b) || (x.log && a <= 0) || (y.log && b <= 0)) { down = false; continue; }
      const here = x.place(a).toFixed(1), up = y.place(b).toFixed(1);
      if (mark.kind === "points") { text += `M${here} ${up}h0`; continue; }
      text += down ? (mark.kind === "steps" ? `L${here} ${before}L${here} ${up}` : `L${here} ${up}`) : `M${here} ${up}`;
      [down, before] = [true, up];
    }
    return text;
  };

  const ink = (scale, share) => { // between the colours of a scale
    const place = Math.min(Math.max(share, 0), 1) * (scale.length - 1), n = Math.min(Math.floor(place), scale.length - 2);
    const part = (text, k) => parseInt(text.slice(2 * k + 1, 2 * k + 3), 16);
    return [0, 1, 2].map((k) => Math.round(part(scale[n], k) + (place - n) * (part(scale[n + 1], k) - part(scale[n], k))));
  };
  const range = (mark) => {
    const all = mark.z.flat().filter(finite), top = all.reduce((a, b) => Math.max(a, b), -Infinity), low = all.reduce((a, b) => Math.min(a, b), Infinity);
    const far = Math.max(Math.abs(top), Math.abs(low));
    return mark.scale === "diverging" ? [-far || -1, far || 1] : low < top ? [low, top] : [low - 0.5, low + 0.5];
  };
  const image = (mark, x, y, dark) => {
    const canvas = document.createElement("canvas"), scale = scales[mark.scale][dark ? 1 : 0], [low, high] = range(mark);
    [canvas.width, canvas.height] = [mark.x.length, mark.y.length];
    const context = canvas.getContext("2d"), pixels = context.createImageData(mark.x.length, mark.y.length);
    const upwards = y.place(mark.y[mark.y.length - 1]) < y.place(mark.y[0]);
    mark.z.forEach((row, i) => row.forEach((value, j) => {
      if (!finite(value)) return;
      pixels.data.set([...ink(scale, (value - low) / (high - low)), 255], 4 * ((upwards ? mark.y.length - 1 - i : i) * mark.x.length + j));
    }));
    context.putImageData(pixels, 0, 0);
    const across = edges(mark.x).map(x.place), up = edges(mark.y).map(y.place);
    return element("image", {
      href: canvas.toDataURL(), x: Math.min(...across), y: Math.min(...up), width: Math.abs(across[1] - across[0]),
      height: Math.abs(up[1] - up[0]), preserveAspectRatio: "none", style: "image-rendering: pixelated",
    });
  };

  const draw = (mark, x, y, panel, dark) => {
    const group = element("g", { class: "trace" });
    if (mark.kind === "heat") { if (mark.z.length && mark.z[0].length) group.append(image(mark, x, y, dark)); return group; }
    if (mark.kind === "bars") {
      mark.y.forEach((value, n) => {
        if (!finite(value) || (y.log && value <= 0)) return;
        const top = y.place(value), base = y.place(y.log ? y.ends[0] : 0);
        group.append(element("rect", { x: x.place(n - 0.35), width: x.place(n + 0.35) - x.place(n - 0.35), y: Math.min(top, base), height: Math.max(Math.abs(base - top), 1), fill: colour(mark) }));
      });
      return group;
    }
    const d = path(mark, x, y), dots = mark.kind === "points";
    if (d) group.append(element("path", {
      d, fill: "none", stroke: colour(mark), "stroke-linejoin": "round", "stroke-linecap": panel.matrix && dots ? "square" : "round",
      "stroke-width": dots ? (panel.matrix ? SQUARE : mark.x.length === 1 ? 2 * DOT : DOT) : 1.8, ...(mark.kind === "dashed" ? { "stroke-dasharray": "7 5", "stroke-linecap": "butt" } : {}),
    }));
    return group;
  };

  // What is nearest to the pointer: [distance, x, y, words].
  const nearest = (panel, hidden, x, y, px, py) => {
    let best = [REACH, 0, 0, null];
    for (const mark of panel.marks.filter((m) => !hidden.has(m.entry))) {
      if (mark.kind === "heat") {
        const closest = (list, scale, pixel) => list.reduce((n, v, k) => Math.abs(scale.place(v) - pixel) < Math.abs(scale.place(list[n]) - pixel) ? k : n, 0);
        if (!mark.x.length || !mark.y.length) continue;
        const j = closest(mark.x, x, px), i = closest(mark.y, y, py), z = mark.z[i][j];
        best = [0, x.place(mark.x[j]), y.place(mark.y[i]), [mark.name, `(${exact(mark.x[j])}, ${exact(mark.y[i])}): ${finite(z) ? exact(z) : "no value"}`]];
      } else if (mark.kind === "bars") {
        const n = Math.round(x.value(px));
        if (n >= 0 && n < mark.y.length && finite(mark.y[n])) best = [0, x.place(n), y.place(Math.max(mark.y[n], y.log ? y.ends[0] : -Infinity)), [mark.text[n], exact(mark.y[n])]];
      } else {
        mark.y.forEach((value, n) => {
          if (!finite(value) || !finite(mark.x[n]) || (y.log && value <= 0)) return;
          const a = x.place(mark.x[n]), b = y.place(value), far = Math.hypot(a - px, b - py);
          if (far < best[0]) best = [far, a, b, mark.text ? [mark.name, mark.text[n], ...(panel.matrix ? [] : [`(${exact(mark.x[n])}, ${exact(value)})`])] : [mark.name, `(${exact(mark.x[n])}, ${exact(value)})`]];
        });
      }
    }
    return best;
  };

  const listen = (plot, svg, panel, look, x, y, inner) => {
    const tip = document.createElement("div"), ring = element("circle", { r: 4, class: "ring", visibility: "hidden" });
    const brush = element("rect", { class: "brush", visibility: "hidden" });
    let start = null;
    tip.className = "tip";
    tip.hidden = true;
    svg.append(ring, brush);
    plot.append(tip);
    const inside = (event) => {
      const box = svg.getBoundingClientRect();
      return [Math.min(Math.max(event.clientX - box.left, inner.left), inner.right), Math.min(Math.max(event.clientY - box.top, inner.top), inner.bottom)];
    };
    const leave = () => { tip.hidden = true; ring.setAttribute("visibility", "hidden"); };
    svg.addEventListener("pointermove", (event) => {
      const [px, py] = inside(event);
      if (start) {
        const [left, top] = [Math.min(px, start[0]), Math.min(py, start[1])];
        for (const [key, value] of Object.entries({ x: left, y: top, width: Math.abs(px - start[0]), height: Math.abs(py - start[1]), visibility: "visible" })) brush.setAttribute(key, value);
        return leave();
      }
      const [, a, b, words] = nearest(panel, look.hidden, x, y, px, py);
      if (!words) return leave();
      tip.replaceChildren(...words.map((text) => { const line = document.createElement("div"); line.textContent = text; return line; }));
      tip.hidden = false;
      tip.style.left = `${Math.max(Math.min(a + 10, look.width - tip.offsetWidth - 2), 2)}px`;
      tip.style.top = `${Math.max(b - tip.offsetHeight - 10, 2)}px`;
      ring.setAttribute("cx", a);
      ring.setAttribute("cy", b);
      ring.setAttribute("visibility", "visible");
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0) { start = inside(event); svg.setPointerCapture(event.pointerId); event.preventDefault(); } });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [a, b] = [start, inside(event)];
      start = null;
      brush.setAttribute("visibility", "hidden");
      if (Math.abs(a[0] - b[0]) < 8 || Math.abs(a[1] - b[1]) < 8) return;
      const sorted = (scale, n) => { const values = [scale.value(a[n]), scale.value(b[n])].sort((p, q) => p - q); return values; };
      look.view({ x: sorted(x, 0), y: sorted(y, 1) });
    });
    svg.addEventListener("dblclick", () => look.view(null));
  };

  return (plot, panel, look) => {
    const { width, hidden, dark, zoom } = look, id = `clip-${number++}`;
    const xEnds = zoom ? zoom.x : ends(panel, "x"), yEnds = zoom ? zoom.y : ends(panel, "y");
    const matrix = panel.matrix;
    // margins: names of spans above, numbers and titles at the left and below
    const spans = panel.named === false ? [] : panel.spans, whole = xEnds[1] - xEnds[0];
    const guess = width - STACKED - RIGHT - 10;
    const room = spans.map(([a, b]) => (b - a) / whole * guess), across = spans.every(([, , text], n) => measure(text) + 4 <= room[n]);
    const upright = !across && room.every((pixels) => pixels >= LINE);
    const top = upright ? Math.max(...spans.map(([, , text]) => measure(cut(text, LONGEST)))) + 12 : spans.length ? 28 : 14;
    let height = (matrix ? Math.max(300, Math.min(width, 520)) : 340) + (upright ? top - 28 : 0);
    const yNames = panel.y.names, yLabels = (yNames || ticks(axis(yEnds, panel.y.log, 280, 0), 40)).map(([, text]) => text);
    const yWide = Math.min(Math.max(0, ...yLabels.map(measure)), 0.36 * width), most = Math.floor(0.36 * width / 7);
    let left = panel.stacked ? STACKED : Math.max(Math.ceil(yWide) + 12 + (panel.y.title ? 22 : 0), 44);
    let right = width - RIGHT;
    const xNames = panel.x.names, widest = xNames ? Math.max(...xNames.map(([, text]) => measure(text))) : 0;
    const flat = !xNames || (!matrix && xNames.every((name, n) => measure(name[1]) + 6 < (right - left) / xNames.length));
    const title = panel.x.title && panel.below !== false;
    let bottom = height - (flat ? 24 : Math.ceil(widest) + 12) - (title ? 22 : 6);
    if (matrix) { // columns as wide as rows are high
      const unit = Math.min((right - left) / (xEnds[1] - xEnds[0]), (bottom - top) / (yEnds[1] - yEnds[0]));
      const free = right - left - unit * (xEnds[1] - xEnds[0]), over = bottom - top - unit * (yEnds[1] - yEnds[0]);
      [left, right] = [left + free / 2, right - free / 2];
      [bottom, height] = [bottom - over, height - over];
    }
    const x = axis(xEnds, panel.x.log, left, right), y = matrix ? axis(yEnds, false, top, bottom) : axis(yEnds, panel.y.log, bottom, top);
    const svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    const clip = element("clipPath", { id }, element("rect", { x: left, y: top, width: right - left, height: bottom - top }));
    svg.append(element("defs", {}, clip));
    const seen = ([at]) => at >= Math.min(...xEnds) && at <= Math.max(...xEnds);
    const ground = element("g", { "clip-path": `url(#${id})` });
    panel.spans.forEach(([a, b, text], n) => {
      const band = element("rect", { x: x.place(a), y: top, width: Math.max(x.place(b) - x.place(a), 0), height: bottom - top, class: `band-${n % 2}` });
      const word = element("title", {});
      word.textContent = text;
      band.append(word);
      ground.append(band);
    });
    svg.append(ground);
    const write = (text, attributes) => { const made = element("text", attributes); made.textContent = text; svg.append(made); return made; };
    const xTicks = (xNames ? spread(xNames, x) : ticks(x, 70)).filter(seen), yTicks = (yNames ? spread(yNames, y) : ticks(y, 40)).filter(([at]) => at >= Math.min(...yEnds) && at <= Math.max(...yEnds));
    let end = -Infinity;
    for (const [at, text] of xTicks) {
      const here = x.place(at), half = measure(text) / 2;
      if (!matrix || !panel.marks.some((m) => m.kind === "heat")) svg.append(element("line", { x1: here, x2: here, y1: top, y2: bottom, class: "grid" }));
      if (flat && here - half < end + 6) continue;
      end = here + half;
      if (flat) write(text, { x: Math.min(here, width - half - 1), y: bottom + 17, "text-anchor": "middle", class: "xtick" });
      else write(text, { transform: `translate(${here + 4} ${bottom + 8}) rotate(-90)`, "text-anchor": "end", class: "xtick" });
    }
    for (const [at, text] of yTicks) {
      const here = y.place(at);
      if (!matrix || !panel.marks.some((m) => m.kind === "heat")) svg.append(element("line", { x1: left, x2: right, y1: here, y2: here, class: "grid" }));
      write(cut(text, most), { x: left - 7, y: here + 4, "text-anchor": "end", class: "ytick" });
    }
    svg.append(element("rect", { x: left, y: top, width: right - left, height: bottom - top, class: "frame" }));
    const marks = element("g", { class: "marks", "clip-path": `url(#${id})` });
    for (const mark of panel.marks) if (!hidden.has(mark.entry)) marks.append(draw(mark, x, y, panel, dark));
    svg.append(marks);
    panel.levels.forEach(([value, text], n) => {
      if (value < yEnds[0] || value > yEnds[1]) return;
      const here = y.place(value), [at, anchor] = [[right - 4, "end"], [left + 4, "start"], [(left + right) / 2, "middle"]][n % 3];
      svg.append(element("line", { x1: left, x2: right, y1: here, y2: here, class: "level" }));
      write(cut(text, Math.max(Math.floor((right - left) / (panel.levels.length > 1 ? 14 : 7)), 8)), { x: at, y: here - 5 < top + 12 ? here + 14 : here - 5, "text-anchor": anchor, class: "level-name" });
    });
    spans.forEach(([a, b, text], n) => {
      const here = x.place((a + b) / 2);
      if (here < left || here > right) return;
      if (across) write(text, { x: here, y: top - 8, "text-anchor": "middle", class: "span-name" });
      else if (upright) write(cut(text, LONGEST), { transform: `translate(${here + 4} ${top - 5}) rotate(-90)`, class: "span-name" });
    });
    if (title) write(panel.x.title, { x: (left + right) / 2, y: height - 6, "text-anchor": "middle", class: "axis-title" });
    if (panel.y.title) write(cut(panel.y.title, Math.floor((bottom - top) / 6.5)), { transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis-title" });
    const heat = panel.marks.find((mark) => mark.kind === "heat");
    plot.replaceChildren(svg);
    plot.dataset.values = panel.marks.flatMap((mark) => (mark.z || [mark.y]).flat()).filter(finite).length;
    plot.dataset.ground = dark ? "dark" : "light";
    listen(plot, svg, panel, look, x, y, { left, right, top, bottom });
    return heat ? range(heat).map((value) => exact(value)) : null;
  };
})();
