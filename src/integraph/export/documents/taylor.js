"use strict";
// Integrates y' = b + A y + Q(y, y), segment by segment, by Taylor series: flow(model, x, samples) gives the outputs, the
// registers at the end, the number of steps and, if samples are asked for, the registers at as many times in each segment.
const flow = (() => {
  const ORDER = 24;
  const ACCURACY = 1e-17; // the last terms of a step, relative to each register
  const STEPS = 200000; // in all
  const TINY = 1e-300;

  // Registers without terms do not move: their values go into coefficients, and the rest is linear or a product of two.
  const assemble = (segment, y, width) => {
    const moves = new Uint8Array(width + 1);
    for (const i of segment.i) moves[i] = 1;
    const movers = [...moves.keys()].filter((i) => moves[i]);
    const constant = new Map(), linear = new Map(), products = new Map(), pairs = [];
    const add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
    segment.value.forEach((value, e) => {
      const i = segment.i[e];
      const j = segment.j[e] < 0 ? width : segment.j[e], k = segment.k[e] < 0 ? width : segment.k[e];
      if (moves[j] && moves[k]) {
        const key = j * (width + 1) + k;
        if (!products.has(key)) products.set(key, pairs.push({ j, k, uses: [] }) - 1);
        pairs[products.get(key)].uses.push([i, value]);
      } else if (moves[j] || moves[k]) {
        add(linear, i * (width + 1) + (moves[j] ? j : k), value * y[moves[j] ? k : j]);
      } else {
        add(constant, i, value * y[j] * y[k]);
      }
    });
    const entries = [...linear].map(([key, value]) => [Math.floor(key / (width + 1)), key % (width + 1), value]);
    return { movers, constant: [...constant], linear: entries, pairs };
  };

  // Terms y^(n) h^n / n! of every register that moves: terms[i][n].
  const fill = (system, terms, h) => {
    for (const i of system.movers) terms[i].fill(0, 1);
    for (let n = 0; n < ORDER; n++) {
      if (n === 0) for (const [i, value] of system.constant) terms[i][1] += value;
      for (const [i, m, value] of system.linear) terms[i][n + 1] += value * terms[m][n];
      for (const { j, k, uses } of system.pairs) {
        let sum = 0;
        for (let m = 0; m <= n; m++) sum += terms[j][m] * terms[k][n - m];
        for (const [i, value] of uses) terms[i][n + 1] += value * sum;
      }
      for (const i of system.movers) terms[i][n + 1] *= h / (n + 1);
    }
  };

  // How much longer than its trial a step may be: the last terms of each register shrink like powers of the step.
  const stretch = (system, terms, first) => {
    let factor = 4;
    for (const i of system.movers) {
      const own = terms[i];
      let size = Math.max(Math.abs(own[0]), Math.abs(own[1]), TINY);
      if (own[0] === 0 && own[1] === 0) for (const term of own) size = Math.max(size, Math.abs(term));
      for (let n = first; n <= ORDER; n++) {
        const ratio = Math.abs(own[n]) / size;
        if (!Number.isFinite(ratio)) return NaN;
        if (ratio > 0) {
          const room = ACCURACY ** (n / ORDER) / ratio;
          factor = Math.min(factor, room ** (1 / (room < 1 ? n - 1 : n)));
        }
      }
    }
    return 0.95 * factor;
  };

  const sum = (own, factor) => {
    let total = 0;
    for (let n = ORDER; n > 0; n--) total = (total + own[n]) * factor;
    return total + own[0];
  };

  return (model, x, samples = 0) => {
    const width = model.registers.length, y = new Float64Array(width + 1);
    y.set(x);
    y[width] = 1;
    const terms = Array.from(y, () => new Float64Array(ORDER + 1));
    const result = { status: "done", outputs: model.outputs.map(() => NaN), steps: 0, time: 0, path: [], y };
    if (!x.every(Number.isFinite)) return { ...result, status: "input" };
    for (const segment of model.segments) {
      const system = assemble(segment, y, width), span = segment.duration;
      const record = (t, at) => samples && result.path.push({ segment, t, y: Float64Array.from(y, at) });
      record(0, (value) => value);
      let t = 0, trial = span, longest = 0, shrinks = 0, sample = 1;
      for (let i = 0; i <= width; i++) terms[i].fill(0)[0] = y[i];
      while (t < span) {
        if (++result.steps > STEPS) return { ...result, status: "steps", time: result.time + t };
        fill(system, terms, trial);
        const ahead = trial * stretch(system, terms, t === 0 ? ORDER / 2 : ORDER - 2);
        const last = ahead >= span - t, h = last ? span - t : ahead;
        const next = system.movers.map((i) => sum(terms[i], h / trial));
        if (!(h > 0) || !next.every(Number.isFinite)) {
          if (++shrinks > 40) return { ...result, status: "escape", time: result.time + t };
          trial /= 2 ** 20;
          continue;
        }
        longest = Math.max(longest, ahead);
        if (!last && ahead < 1e-13 * span && ahead < 0.03 * longest) {
          return { ...result, status: "escape", time: result.time + t };
        }
        for (; sample <= samples && (sample * span) / samples <= t + h; sample++) {
          const here = (sample * span) / samples;
          record(here, (_, i) => sum(terms[i], (here - t) / trial));
        }
        system.movers.forEach((i, n) => { terms[i][0] = y[i] = next[n]; });
        t = last ? span : t + h;
        trial = h;
      }
      result.time += span;
    }
    result.outputs = model.outputs.map(() => 0);
    for (const [output, register, weight] of model.readout) result.outputs[output] += weight * y[register];
    if (result.outputs.every(Number.isFinite)) return result;
    return { ...result, status: "escape", outputs: result.outputs.map(() => NaN) };
  };
})();
