"use strict";
// Draws the pictures of the page, one chart for each panel, again when the slider, the width or the light changes.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const scales = JSON.parse(document.getElementById("scales").textContent);
  const widthOf = (place) => Math.max(Math.floor(place.clientWidth), 240); // a page that is not laid out yet has no width
  let printing = false;

  // What the colours are: a button for each name, which hides and shows it; of a heat map, its scale and its ends.
  const legend = (list, panel, hidden, ends, shade, redraw) => {
    const entries = new Map(panel.marks.filter((m) => m.entry && (panel.legend || m.kind === "heat")).map((m) => [m.entry, m]));
    const key = JSON.stringify([[...entries].map(([name, m]) => [name, m.kind, m.colour, m.scale]), ends, shade]);
    if (list.dataset.key !== key) { // a button keeps the focus as long as it is the same
      list.dataset.key = key;
      list.replaceChildren(...[...entries].map(([name, mark]) => entry(name, mark, hidden, ends, shade, redraw)));
    }
    for (const button of list.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(!hidden.has(button.textContent)));
    }
  };

  const entry = (name, mark, hidden, ends, shade, redraw) => {
    const item = document.createElement("li"), sign = document.createElement("i");
    if (mark.kind === "heat") {
      sign.className = "scale";
      sign.style.backgroundImage = `linear-gradient(to right, ${scales[mark.scale][shade].join(", ")})`;
      item.append(`${name}: ${ends[0]} `, sign, ` ${ends[1]}`);
      return item;
    }
    const button = document.createElement("button");
    sign.style.color = `var(--c${mark.colour % 8})`;
    sign.className = { points: "dot", bars: "dot", dashed: "dash" }[mark.kind] || "line";
    button.type = "button";
    button.append(sign, name);
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
    const hidden = new Set(), zooms = panels.map(() => null);
    let number = slider ? Number(slider.value) : 0, drawnAs = "";

    const drawPanel = (place, panel, n) => {
      const plot = place.querySelector(".plot"), shaded = dark.matches && !printing;
      place.querySelector(".panel-title").textContent = panel.title;
      plot.setAttribute("aria-label", panel.alt);
      const view = (zoom) => { zooms[n] = zoom; draw(); };
      const ends = chart(plot, panel, { width: widthOf(place), hidden, dark: shaded, zoom: zooms[n], view });
      legend(place.querySelector(".legend"), panel, hidden, ends, shaded ? 1 : 0, draw);
    };

    const draw = () => {
      const frame = frames[number];
      const widths = panels.map(widthOf);
      const wanted = JSON.stringify([number, dark.matches, printing, widths, [...hidden], zooms]);
      if (wanted === drawnAs) return;
      drawnAs = wanted;
      panels.forEach((place, n) => drawPanel(place, frame.panels[n], n));
      figure.dataset.drawn = String(number);
    };

    if (slider) {
      slider.addEventListener("input", () => {
        number = Number(slider.value);
        zooms.fill(null);
        figure.querySelector("output").textContent = frames[number].label;
        slider.setAttribute("aria-valuetext", frames[number].label);
        draw();
      });
      slider.setAttribute("aria-valuetext", frames[number].label);
    }
    const play = figure.querySelector("button.play");
    let timer = 0;
    const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; };
    const advance = () => { // one frame a tick, from the beginning if all were seen
      slider.value = String(number + 1 < frames.length ? number + 1 : 0);
      slider.dispatchEvent(new Event("input"));
      if (number + 1 === frames.length) stop();
    };
    if (play) play.addEventListener("click", () => {
      if (timer) return stop();
      timer = setInterval(advance, 150);
      play.textContent = "Stop";
    });
    new ResizeObserver(() => { if (figure.dataset.drawn) draw(); }).observe(figure);
    return draw;
  });

  const all = () => pictures.forEach((draw) => draw());
  dark.addEventListener("change", all);
  const folded = [...document.querySelectorAll("details:not([open])")];
  const print = (now) => () => { // on paper: dark on white, as wide as a sheet, nothing folded
    printing = now;
    for (const part of folded) part.open = now;
    document.documentElement.classList.toggle("printing", now);
    all();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
  all();
  document.documentElement.dataset.drawn = "all";
})();
