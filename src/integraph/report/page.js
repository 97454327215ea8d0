"use strict";
// Draws the pictures of the page: one plotly figure for each panel, again when the slider, the width or the light changes.
(() => {
  const onDark = JSON.parse(document.getElementById("on-dark").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const finger = matchMedia("(pointer: coarse)");
  const config = {
    displaylogo: false, displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false, scrollZoom: false, doubleClick: "reset", showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const LETTER = 6.4, LINE = 14, LONGEST = 24; // pixels of the names of spans, and how many letters may stand upright
  let printing = false;

  const recolour = (value, key = "") => {
    if (typeof value === "string") return /color(scale)?$/.test(key) ? (onDark[value] || value) : value;
    if (Array.isArray(value)) return typeof value[0] === "number" && key !== "colorscale" ? value : value.map((v) => recolour(v, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, recolour(v, k)]));
  };

  const plain = (text) => text.replace(/&(amp|lt|gt|#36);/g, "x"); // as long as it will be seen

  // Names of spans: across where they all fit, else upright above the axes, else only under the pointer.
  const writeSpans = (layout, width) => {
    const names = layout.annotations.filter((a) => a.name === "span");
    if (!names.length) return 0;
    const bands = layout.shapes.filter((s) => s.type === "rect");
    const whole = bands[bands.length - 1].x1 - bands[0].x0;
    const room = bands.map((s) => (s.x1 - s.x0) / whole * (width - layout.margin.l - layout.margin.r - 10));
    const lengths = names.map((a) => plain(a.hovertext).length);
    if (lengths.every((letters, n) => letters * LETTER <= room[n])) return 0;
    const upright = room.every((pixels) => pixels >= LINE);
    let tallest = 0;
    names.forEach((a, n) => {
      if (!upright) { a.text = "▾"; return; }
      if (lengths[n] > LONGEST) a.text = a.hovertext.match(/&(amp|lt|gt|#36);|./gsu).slice(0, LONGEST - 1).join("") + "…";
      a.textangle = -90;
      tallest = Math.max(tallest, Math.min(lengths[n], LONGEST) * LETTER);
    });
    const more = Math.max(0, tallest + 8 - layout.margin.t);
    layout.margin.t += more;
    return more;
  };

  // Names on an axis: as many as there is room for. Below an axis they are upright, but those of bars where they fit.
  const writeTicks = (axis, pixels, across) => {
    if (axis.type === "log" || !axis.tickvals) return;
    const at = axis.tickvals, gaps = at.slice(1).map((x, n) => Math.abs(x - at[n]));
    const whole = axis.range ? Math.abs(axis.range[1] - axis.range[0]) : Math.abs(at[at.length - 1] - at[0]) + 1;
    const longest = Math.max(...axis.ticktext.map((text) => plain(text).length)) * LETTER * 1.15;
    axis.tickangle = across(longest, pixels * Math.min(whole, ...gaps) / whole) ? 0 : -90;
    let last = -Infinity;
    const kept = at.map((x) => Math.abs(x - last) * pixels / whole >= LINE && ((last = x), true));
    axis.tickvals = at.filter((_, n) => kept[n]);
    axis.ticktext = axis.ticktext.filter((_, n) => kept[n]);
  };

  // What the colours are: a button for each name, which hides and shows it; of a heat map, its scale.
  const legend = (list, panel, hidden, redraw) => {
    const entries = new Map(panel.data.filter((t) => t.meta && (panel.legend || t.type === "heatmap")).map((t) => [t.meta, t]));
    const key = JSON.stringify([...entries].map(([name, t]) => [name, t.line, t.marker, t.colorscale]));
    if (list.dataset.key !== key) { // a button keeps the focus as long as it is the same
      list.dataset.key = key;
      list.replaceChildren(...[...entries].map(([name, trace]) => entry(name, trace, hidden, redraw)));
    }
    for (const button of list.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(!hidden.has(button.textContent)));
    }
  };

  const entry = (name, trace, hidden, redraw) => {
    const item = document.createElement("li"), mark = document.createElement("i");
    if (trace.type === "heatmap") {
      mark.className = "scale";
      mark.style.backgroundImage = `linear-gradient(to right, ${trace.colorscale.map((step) => step[1]).join(", ")})`;
      item.append(mark, name);
      return item;
    }
    const button = document.createElement("button");
    mark.style.color = (trace.line || trace.marker).color;
    mark.className = !trace.line ? "dot" : trace.line.dash ? "dash" : "line";
    button.type = "button";
    button.append(mark, name);
    button.addEventListener("click", () => {
      if (!hidden.delete(name)) hidden.add(name);
      redraw();
    });
    item.append(button);
    return item;
  };

  const pictures = [...document.querySelectorAll("figure")].map((figure) => {
    const frames = JSON.parse(figure.querySelector(".frames").textContent);
    const slider = figure.querySelector("input[type=range]");
    const panels = [...figure.querySelectorAll(".panel")];
    const hidden = new Set();
    let number = slider ? Number(slider.value) : 0, drawnAs = "";

    const drawPanel = (place, original) => {
      const panel = dark.matches && !printing ? recolour(original) : structuredClone(original);
      const plot = place.querySelector(".plot"), layout = panel.layout;
      const width = Math.floor(place.clientWidth);
      const square = layout.yaxis.scaleanchor !== undefined;
      const more = writeSpans(layout, width);
      const height = (square ? Math.max(300, Math.min(width, 520)) : 340) + more;
      const side = Math.min(width, height) - 190; // of a matrix, about
      const bars = panel.data.some((trace) => trace.type === "bar");
      writeTicks(layout.xaxis, square ? side : width - 130, (letters, room) => bars && letters < room);
      writeTicks(layout.yaxis, square ? side : height - 130, () => true);
      Object.assign(layout, { width, height, autosize: false });
      if (finger.matches) layout.dragmode = false; // a finger scrolls the page
      for (const trace of panel.data) if (hidden.has(trace.meta)) trace.visible = false;
      place.querySelector(".panel-title").textContent = panel.title;
      plot.setAttribute("aria-label", panel.alt);
      legend(place.querySelector(".legend"), panel, hidden, draw);
      return Plotly.react(plot, panel.data, layout, config);
    };

    const draw = async () => {
      const frame = frames[number];
      const wanted = [number, dark.matches, printing, panels.map((p) => Math.floor(p.clientWidth)), [...hidden]].join();
      if (wanted === drawnAs) return;
      drawnAs = wanted;
      await Promise.all(panels.map((place, n) => drawPanel(place, frame.panels[n])));
      figure.dataset.drawn = String(number);
    };

    if (slider) {
      slider.addEventListener("input", () => {
        number = Number(slider.value);
        figure.querySelector("output").textContent = frames[number].label;
        slider.setAttribute("aria-valuetext", frames[number].label);
        draw();
      });
      slider.setAttribute("aria-valuetext", frames[number].label);
    }
    new ResizeObserver(() => { if (figure.dataset.drawn) draw(); }).observe(figure);
    return draw;
  });

  const all = async () => { for (const draw of pictures) await draw(); };
  dark.addEventListener("change", all);
  const folded = [...document.querySelectorAll("details:not([open])")];
  const print = (now) => () => { // on paper: dark on white, as wide as a sheet, nothing folded
    printing = now;
    for (const part of folded) part.open = now;
    document.documentElement.classList.toggle("printing", now);
    pictures.forEach((draw) => draw());
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
  all().then(() => { document.documentElement.dataset.drawn = "all"; });
})();
