"use strict";
// The report: tables, plots and text from the data above. No state beyond what is on the page. What
// the data says is data: it becomes text nodes and fields of Vega's rows, never markup and never a
// part of a Vega expression.

const data = JSON.parse(document.getElementById("data").textContent);

// ---- Vega, from its modules -------------------------------------------------------------------

const loadVega = () => {
  const loaded = {};
  const load = (name) => {
    if (!loaded[name]) {
      const module = { exports: {} };
      vegaModules[name](module.exports, module, load);
      loaded[name] = module.exports;
    }
    return loaded[name];
  };
  Object.assign(load("vega-dataflow").transforms, load("vega-transforms"),
                load("vega-view-transforms"), load("vega-encode"));
  return { View: load("vega-view").View, parse: load("vega-parser").parse,
    expr: load("vega-interpreter").expressionInterpreter };
};
let vega = null;  // loaded by the first plot, so that tables stand without it

// ---- Small helpers ----------------------------------------------------------------------------

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// A part of the page that fails says so in its place, and the others stand.
function guarded(body, make) {
  try {
    make();
  } catch (error) {
    body.append(element("p", { class: "note failed" }, `This part cannot be shown: ${error}`));
  }
}

const unique = (values) => [...new Set(values)];
const measured = (cell) => cell !== null && cell.missing === undefined;
const asNumber = (value) => (value === "inf" ? Infinity : value);

function duration(seconds) {
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// One pressed button at a time; `show` is called with the chosen entry.
function choices(container, entries, label, show) {
  const buttons = entries.map((entry) => element("button", {
    type: "button",
    onclick: () => press(entry),
  }, label(entry)));
  const body = byId(container.id.replace("-choices", "-body"));
  function press(entry) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", entries[i] === entry));
    guarded(body, () => show(entry));
  }
  container.replaceChildren(...(entries.length > 1 ? buttons : []));
  if (entries.length > 0) press(entries[0]);
}

const tooltip = byId("tooltip");

function showTooltip(text, x, y) {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 4))}px`;
  tooltip.style.top = `${y + 16 + height > innerHeight ? Math.max(4, y - height - 8) : y + 16}px`;
}

function hideTooltip() { tooltip.hidden = true; }

// Shows on hover, on focus and on a tap.
function attachTooltip(node, text) {
  node.tabIndex = 0;
  node.addEventListener("pointermove", (event) => showTooltip(text(), event.clientX, event.clientY));
  node.addEventListener("pointerleave", hideTooltip);
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    showTooltip(text(), box.left, box.bottom - 12);
  });
  node.addEventListener("blur", hideTooltip);
}

const plots = [];

function plot(container, spec, renderer) {
  vega = vega || loadVega();
  // Expressions are walked, not compiled: the page's policy allows no code made from text.
  const view = new vega.View(vega.parse({ $schema: "https://vega.github.io/schema/vega/v5.json",
    ...spec }, null, { ast: true }), { expr: vega.expr, renderer, container, hover: true,
    tooltip: (_handler, event, _item, value) => {
      if (value === null || value === undefined || value === "") hideTooltip();
      else showTooltip(String(value), event.clientX, event.clientY);
    } });
  plots.push(view.runAsync().catch((error) => {
    container.replaceChildren(element("p", { class: "note failed" },
      `This plot cannot be shown: ${error}`));
  }));
}

// A colour for each method, from a palette that most colour-blind readers can tell apart.
const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B4C9A",
  "#8C510A", "#35978F", "#4D4D4D", "#B2182B", "#7FBC41"];
const rowName = (row) =>
  [row.method, (row.loss || "").toUpperCase(), row.num_steps].filter(Boolean).join(" ");
const methods = unique(data.runs.map(rowName));
const methodColour = { type: "ordinal", domain: methods,
  range: methods.map((_, i) => palette[i % palette.length]) };

// ---- Summary ----------------------------------------------------------------------------------

function summary() {
  const runs = data.runs;
  const compared = data.tables.flatMap((table) => table.rows.flatMap((row) =>
    row.cells.filter((cell) => measured(cell) && cell.published !== null)
      .map((cell) => Math.abs(asNumber(cell.mean) - cell.published))));
  const card = (value, label) => element("div", { class: "card" }, element("b", {}, String(value)),
    element("span", {}, label));
  const total = runs.reduce((sum, run) => sum + run.train_seconds + run.evaluate_seconds, 0);
  const body = [element("div", { class: "cards" },
    card(runs.length, "runs"), card(unique(runs.map((run) => run.pair)).length, "pairs"),
    card(methods.length, "methods"), card(duration(total), "training and scoring, added up"),
    card(compared.length, "cells with a published value"),
    card(compared.filter((difference) => difference > 0.1).length, "of them differ by over 0.1"))];
  const main = data.tables[0];
  if (main) body.push(element("h3", {}, `Best on each pair: ${main.title.toLowerCase()}`),
                      bestTable(main));
  const machines = unique(runs.map((run) => `Bridgemark ${run.version}, ${run.device}, ${run.machine}`));
  body.push(element("p", { class: "note" }, machines.join("; ")));
  body.push(element("p", { class: "note" },
    "The Oracle is the truth scored as if it were a solver: the ceiling of every score."));
  byId("summary-body").replaceChildren(...body);
}

function bestTable(table) {
  const oracle = table.rows.find((row) => row.oracle);
  const rows = table.pairs.map((pair, column) => {
    const best = table.rows.filter((row) => measured(row.cells[column]) &&
      row.cells[column].rank === 1);
    if (best.length === 0) return null;
    const sign = table.lower_is_better ? 1 : -1;
    best.sort((a, b) => sign * (a.cells[column].mean - b.cells[column].mean));
    const ceiling = oracle && measured(oracle.cells[column]) ? oracle.cells[column].text : "";
    const names = best.map((row) => [row.method, row.details].filter(Boolean).join(" "));
    return element("tr", {}, element("th", { scope: "row" }, pair),
      element("td", {}, names.join(", ")), element("td", {}, best[0].cells[column].text),
      element("td", {}, ceiling));
  }).filter(Boolean);
  const head = element("tr", {}, ...["pair", "best methods", "score", "Oracle"].map((name) =>
    element("th", { scope: "col" }, name)));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head),
    element("tbody", {}, ...rows)));
}

// ---- Tables that sort -------------------------------------------------------------------------

// columns: [{name, key: row -> number, text or null}], rows: [{node, source}].
function sortableTable(columns, rows) {
  const body = element("tbody", {}, ...rows.map((row) => row.node));
  const heads = columns.map((column, i) => element("th", { scope: "col", "aria-sort": "none" },
    element("button", { type: "button", onclick: () => sort(i) }, column.name)));
  function sort(i) {
    const up = heads[i].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.setAttribute("aria-sort", "none"));
    heads[i].setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = columns[i].key;
    const order = rows.map((row, place) => ({ row, place, value: key(row.source) }));
    order.sort((a, b) => {
      const missing = (a.value === null) - (b.value === null);  // always last
      if (missing !== 0 || a.value === null) return missing || a.place - b.place;
      const compared = typeof a.value === "string" ? a.value.localeCompare(b.value)
                                                   : a.value - b.value;
      return (up ? compared : -compared) || a.place - b.place;
    });
    body.replaceChildren(...order.map((entry) => entry.row.node));
  }
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...heads)), body));
}

function cellTip(table, row, column) {
  const cell = row.cells[column];
  const title = `${row.method} ${row.details}`.trim() + ` on ${table.pairs[column]}`;
  if (!measured(cell)) return `${title}\n${table.title}: cannot be given, ${cell.missing}`;
  const lines = [title,
    `${table.title}: ${cell.mean === "inf" ? "infinite" : cell.mean.toPrecision(6)}` +
      (cell.error ? ` ± ${cell.error}` : "")];
  if (cell.published !== null) lines.push(`published: ${cell.published_text}`);
  lines.push(cell.runs.length === 1 ? `run ${cell.runs[0]}`
                                    : `${cell.runs.length} runs: ${cell.runs.join(", ")}`);
  return lines.join("\n");
}

function scoreTable(table) {
  const columns = [{ name: "method", key: (row) => `${row.method} ${row.details}` },
    ...table.pairs.map((pair, i) => ({ name: pair,
      key: (row) => (measured(row.cells[i]) ? asNumber(row.cells[i].mean) : null) }))];
  const rows = table.rows.map((row) => ({ source: row,
    node: element("tr", row.oracle ? { class: "oracle" } : {},
      element("th", { scope: "row" }, row.method,
        ...(row.details ? [element("span", { class: "details" }, row.details)] : [])),
      ...row.cells.map((cell, column) => {
        if (cell === null) return element("td");
        if (!measured(cell)) {
          const dash = element("td", { class: "missing" }, "–");
          attachTooltip(dash, () => cellTip(table, row, column));
          return dash;
        }
        const node = element("td", { class: `cell ${cell.band} rank${cell.rank}` },
          element("span", { class: "value" }, cell.text));
        if (cell.error) node.append(element("span", { class: "error" }, ` ±${cell.error}`));
        if (cell.published !== null) {
          node.append(element("span", { class: "published" },
            `paper ${cell.published_text}`));
        }
        attachTooltip(node, () => cellTip(table, row, column));
        return node;
      })) }));
  return sortableTable(columns, rows);
}

function legend(table) {
  const [a, b, c] = table.bounds;
  const bands = table.lower_is_better
    ? [["good", `< ${a}`], ["mid-good", `< ${b}`], ["mid-bad", `< ${c}`], ["bad", `≥ ${c}`]]
    : [["bad", `< ${a}`], ["mid-bad", `< ${b}`], ["mid-good", `< ${c}`], ["good", `≥ ${c}`]];
  return element("div", { class: "legend" }, ...bands.map(([band, text]) => element("span", {},
    element("i", { style: `background: var(--${band})` }), text)),
  element("span", {}, "bold: best, underlined: second"));
}

function tables() {
  choices(byId("table-choices"), data.tables, (table) => table.title, (table) => {
    byId("table-body").replaceChildren(
      element("p", {}, `${table.note} ${table.lower_is_better ? "Lower" : "Higher"} is better.` +
        (table.in_paper ? "" : " The paper does not have this one.")),
      legend(table), scoreTable(table),
      element("p", { class: "note" }, `${data.ties} ${data.spread}`));
  });
}

// ---- Figures ----------------------------------------------------------------------------------

// Points of a grid lie on top of each other: each is moved a little, always the same way.
function spread(points, amount) {
  let state = 12345;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296 - 0.5;
  };
  return points.map(([x, y]) => ({ x: x + amount * next(), y: y + amount * next() }));
}

function bounds(figure) {
  const clouds = [figure.input, figure.target, ...figure.methods.map((method) => method.samples)];
  const range = (axis) => {
    let low = Infinity, high = -Infinity;
    for (const cloud of clouds) {
      for (const point of cloud) {
        low = Math.min(low, point[axis]);
        high = Math.max(high, point[axis]);
      }
    }
    const margin = 0.04 * (high - low) + 0.5;
    return [low - margin, high + margin];
  };
  return { x: range(0), y: range(1) };
}

function frame(figure, limits, size) {
  const axis = (orient, scale, text) => ({ orient, scale, title: text, tickCount: 4, grid: true,
    gridColor: "#eef0f2", domainColor: "#c9ced4", tickColor: "#c9ced4", labelFontSize: 9,
    titleFontSize: 10, titleFontWeight: "normal", labelColor: "#5b6570", titleColor: "#5b6570" });
  const share = (i) => `PC ${i + 1} (${Math.round(100 * figure.explained[i])} %)`;
  const names = figure.projection === "pca" ? [share(0), share(1)] : ["first coordinate", "second"];
  return { width: size, height: size, padding: 2, autosize: { type: "fit", contains: "padding" },
    background: "#fff",
    scales: [{ name: "x", type: "linear", domain: limits.x, range: "width", zero: false },
      { name: "y", type: "linear", domain: limits.y, range: "height", zero: false }],
    axes: [axis("bottom", "x", names[0]), axis("left", "y", names[1])] };
}

const pointText = ({ x, y }) => `(${x.toFixed(1)}, ${y.toFixed(1)})`;

function cloud(name, points, colour, what) {
  const values = points.map((point) => ({ ...point, tip: `${what}\n${pointText(point)}` }));
  return { data: { name, values }, mark: { type: "symbol", from: { data: name },
    encode: { enter: { x: { scale: "x", field: "x" }, y: { scale: "y", field: "y" },
      size: { value: 9 }, fill: { value: colour }, fillOpacity: { value: 0.45 },
      tooltip: { field: "tip" } } } } };
}

const inputColour = "#8b95a1", targetColour = "#009E73";

function figurePlot(figure, limits, caption, layers, paths) {
  const holder = element("div");
  const node = element("figure", { class: "plot" }, element("figcaption", {}, caption), holder);
  node.draw = () => {
    const size = Math.max(120, Math.floor(node.clientWidth - 16));
    const spec = frame(figure, limits, size);
    spec.data = layers.map((layer) => layer.data);
    spec.marks = layers.map((layer) => layer.mark);
    if (paths) addPaths(spec, paths);
    plot(holder, spec, "canvas");
  };
  return node;
}

function addPaths(spec, paths) {
  const values = paths.flatMap((path, id) => path.map(([x, y], n) => ({ id, n, x, y,
    start: Math.floor(id / 4), steps: path.length - 1,
    tip: `${n === 0 ? "start" : "end"} ${pointText({ x, y })}` })));
  spec.data.push({ name: "paths", values }, { name: "starts", source: "paths",
    transform: [{ type: "filter", expr: "datum.n === 0" }] }, { name: "ends", source: "paths",
    transform: [{ type: "filter", expr: "datum.n === datum.steps" }] });
  spec.scales.push({ name: "colour", type: "ordinal", domain: [0, 1, 2, 3],
    range: ["#0072B2", "#D55E00", "#CC79A7", "#E69F00"] });
  const at = { x: { scale: "x", field: "x" }, y: { scale: "y", field: "y" } };
  spec.marks.push({ type: "group", from: { facet: { name: "path", data: "paths", groupby: "id" } },
    marks: [{ type: "line", from: { data: "path" }, encode: { enter: { ...at,
      stroke: { scale: "colour", field: "start" }, strokeWidth: { value: 1 },
      strokeOpacity: { value: 0.7 } } } }] });
  const dots = (name, size, fill) => ({ type: "symbol", from: { data: name },
    encode: { enter: { ...at, size: { value: size }, fill,
      stroke: { value: "#1b1f24" }, strokeWidth: { value: 0.6 }, tooltip: { field: "tip" } } } });
  spec.marks.push(dots("ends", 18, { scale: "colour", field: "start" }),
                  dots("starts", 45, { value: "#1b1f24" }));
}

function figures() {
  if (data.figures.length === 0) {
    byId("figure-body").replaceChildren(element("p", { class: "note" },
      "There are no models beside these results, so nothing can be drawn from them."));
    return;
  }
  choices(byId("figure-choices"), data.figures, (figure) => figure.pair, (figure) => {
    const limits = bounds(figure);
    const jitter = figure.projection === "pca" ? 0 : 0.8;
    const target = () => cloud("target", spread(figure.target, jitter), targetColour, "target");
    const grid = (nodes) => element("div", { class: "plots" }, ...nodes);
    const clouds = [figurePlot(figure, limits, "Input and target",
      [cloud("input", spread(figure.input, jitter), inputColour, "input"), target()]),
    ...figure.methods.map((method) => figurePlot(figure, limits, rowName(method),
      [cloud("samples", spread(method.samples, jitter), "#0072B2", rowName(method))]))];
    const paths = figure.methods.filter((method) => method.trajectories.length > 0)
      .map((method) => figurePlot(figure, limits, rowName(method), [cloud("target",
        spread(figure.target, jitter), "#d3d8dd", "target")], method.trajectories));
    const projected = figure.projection === "pca"
      ? `The ${figure.dim} dimensions are shown on the first two principal components of the target.`
      : "";
    byId("figure-body").replaceChildren(
      element("p", {}, "Answers of each method to the same 1000 inputs, beside the inputs (grey) " +
        `and the target (green). ${projected}`), grid(clouds),
      element("h3", {}, "Trajectories"),
      element("p", {}, "Four paths from each of four inputs (black), over the target (grey)."),
      grid(paths));
    [...clouds, ...paths].forEach((node) => guarded(node, () => node.draw()));
  });
}

// ---- Lines and points over numbers ------------------------------------------------------------

const chartAxis = (orient, scale, title, more = {}) => ({ orient, scale, title, grid: true,
  gridColor: "#eef0f2", domainColor: "#c9ced4", tickColor: "#c9ced4", labelColor: "#5b6570",
  titleColor: "#5b6570", titleFontWeight: "normal", ...more });

function chart(container, spec) {
  const holder = element("div");
  const node = element("figure", { class: "plot wide" }, holder);
  container.append(node);
  const width = Math.max(220, Math.floor(node.clientWidth - 26));
  plot(holder, { width, height: Math.min(380, Math.round(width * 0.6)), padding: 2,
    autosize: { type: "fit", contains: "padding" }, background: "#fff", ...spec,
    legends: [{ fill: "method", orient: width < 560 ? "bottom" : "right", columns: 1,
      symbolType: "circle", labelLimit: 220 }] }, "svg");
}

function curves() {
  const body = byId("curve-body");
  if (data.curves.length === 0) {
    body.replaceChildren(element("p", { class: "note" },
      "No run of these results has a training log beside it."));
    return;
  }
  const pairs = unique(data.curves.map((curve) => curve.pair));
  choices(byId("curve-choices"), pairs, (pair) => pair, (pair) => {
    const shown = data.curves.filter((curve) => curve.pair === pair);
    const kinds = unique(shown.map((curve) => `${curve.method} ${curve.loss}`.trim()));
    body.replaceChildren(element("p", {}, "Mean loss of the updates since the last point. Each " +
      "loss has its own zero, so only curves of one kind compare."));
    // One chart for each loss: they have nothing in common but the axis of updates.
    for (const kind of kinds) {
      const curvesOfKind = shown.filter((curve) => `${curve.method} ${curve.loss}`.trim() === kind);
      const values = curvesOfKind.flatMap((curve) => curve.points.map(([update, loss, seconds]) => ({
        method: rowName(curve), run: curve.run, seed: curve.seed, update, loss,
        tip: `${rowName(curve)}, seed ${curve.seed}\nupdate ${update}: loss ${loss.toFixed(4)}, ` +
          duration(seconds) })));
      chart(body, { data: [{ name: "points", values }],
        scales: [{ name: "x", type: "linear", range: "width", nice: true,
          domain: { data: "points", field: "update" } },
        { name: "y", type: "linear", range: "height", nice: true, zero: false,
          domain: { data: "points", field: "loss" } }, { name: "method", ...methodColour,
          domain: unique(values.map((value) => value.method)),
          range: unique(values.map((value) => value.method))
            .map((name) => methodColour.range[methods.indexOf(name)]) }],
        axes: [chartAxis("bottom", "x", "updates", { tickCount: 6 }),
          chartAxis("left", "y", `loss, ${kind}`, { tickCount: 6 })],
        marks: [{ type: "group", from: { facet: { name: "curve", data: "points", groupby: "run" } },
          marks: [{ type: "line", from: { data: "curve" }, encode: { enter: {
            x: { scale: "x", field: "update" }, y: { scale: "y", field: "loss" },
            stroke: { scale: "method", field: "method" }, strokeWidth: { value: 1.5 } } } },
          { type: "symbol", from: { data: "curve" }, encode: { enter: {
            x: { scale: "x", field: "update" }, y: { scale: "y", field: "loss" },
            size: { value: 40 }, fill: { scale: "method", field: "method" },
            fillOpacity: { value: 0 }, tooltip: { field: "tip" } },
          hover: { fillOpacity: { value: 1 } }, update: { fillOpacity: { value: 0 } } } }] }] });
    }
  });
}

function scoreAndTime() {
  const scores = data.tables.filter((table) => !table.reversed_pairs &&
    ["exact_conditional_shape_score", "sampled_conditional_shape_score", "conditional_shape_score",
      "conditional_trend_score", "joint_kl", "forward_trajectory_kl"].includes(table.score));
  choices(byId("time-choices"), scores, (table) => table.title, (table) => {
    const body = byId("time-body");
    const values = data.runs.filter((run) => !run.reverse && !run.outside && run.solver !== "oracle" &&
      typeof run.scores[table.score] === "number").map((run) => ({ method: rowName(run),
      seconds: Math.max(run.train_seconds, 0.001), value: run.scores[table.score], dim: `D = ${run.dim}`,
      tip: `${rowName(run)} on ${run.pair}, seed ${run.seed}\n${table.title} ` +
        `${run.scores[table.score].toPrecision(5)}\ntraining ${duration(run.train_seconds)} on ` +
        `${run.threads} thread${run.threads === 1 ? "" : "s"}` }));
    body.replaceChildren(element("p", {}, "Each point is a run: its training time on the machine " +
      "above and its score; the shape tells the dimension. Fits under a millisecond stand at 1 ms."));
    if (values.length === 0) return;
    const names = unique(values.map((value) => value.method));
    chart(body, { data: [{ name: "points", values }],
      scales: [{ name: "x", type: "log", range: "width", nice: true,
        domain: { data: "points", field: "seconds" } },
      { name: "y", type: table.lower_is_better ? "symlog" : "linear", constant: 0.01,
        range: "height", nice: true, zero: false, domain: { data: "points", field: "value" } },
      { name: "method", type: "ordinal", domain: names,
        range: names.map((name) => methodColour.range[methods.indexOf(name)]) },
      { name: "shape", type: "ordinal", domain: unique(values.map((value) => value.dim)),
        range: ["circle", "square", "triangle-up", "diamond", "cross"] }],
      axes: [chartAxis("bottom", "x", "training time, seconds", { format: "~g", tickCount: 6 }),
        chartAxis("left", "y", table.title, { tickCount: 6 })],
      marks: [{ type: "symbol", from: { data: "points" }, encode: { enter: {
        x: { scale: "x", field: "seconds" }, y: { scale: "y", field: "value" },
        size: { value: 70 }, fill: { scale: "method", field: "method" },
        shape: { scale: "shape", field: "dim" }, stroke: { value: "#fff" },
        strokeWidth: { value: 0.5 }, tooltip: { field: "tip" } },
      update: { fillOpacity: { value: 0.8 } }, hover: { fillOpacity: { value: 1 } } } }] });
  });
}

// ---- Switch rate ------------------------------------------------------------------------------

// Chain pairs with the same cores that differ in how often the truth changes its state.
function switching() {
  const runs = data.runs.filter((run) => typeof run.switch_rate === "number" && !run.reverse &&
    run.solver !== "oracle" && typeof run.scores.joint_kl === "number");
  const base = (run) => run.pair.replace(/-chain.*$/, "-chain");
  const bases = unique(runs.map(base)).filter((name) =>
    unique(runs.filter((run) => base(run) === name).map((run) => run.switch_rate)).length > 1);
  if (bases.length === 0) {
    document.querySelectorAll(".switching").forEach((node) => node.remove());
    return;
  }
  choices(byId("switching-choices"), bases, (name) => name, (name) => {
    const body = byId("switching-body");
    const shown = runs.filter((run) => base(run) === name);
    const values = unique(shown.map(rowName)).flatMap((method) => {
      const own = shown.filter((run) => rowName(run) === method);
      return unique(own.map((run) => run.switch_rate)).sort((a, b) => a - b).map((rate) => {
        const scores = own.filter((run) => run.switch_rate === rate).map((run) => run.scores.joint_kl);
        const value = scores.reduce((sum, score) => sum + score, 0) / scores.length;
        return { method, rate, value: Math.max(value, 0.001),
          tip: `${method}, switch rate ${rate}\njoint KL ${value.toPrecision(3)}` };
      });
    });
    const names = unique(values.map((value) => value.method));
    body.replaceChildren(element("p", {}, "The truth leaves its component with this probability at " +
      "each coordinate; at 0 it is a CP bridge. Values below 0.001 stand there."));
    const at = { x: { scale: "x", field: "rate" }, y: { scale: "y", field: "value" } };
    chart(body, { data: [{ name: "points", values }],
      scales: [{ name: "x", type: "symlog", constant: 0.01, range: "width",
        domain: { data: "points", field: "rate" } },
      { name: "y", type: "log", range: "height", nice: true,
        domain: { data: "points", field: "value" } },
      { name: "method", type: "ordinal", domain: names,
        range: names.map((method) => methodColour.range[methods.indexOf(method)]) }],
      axes: [chartAxis("bottom", "x", "switch rate",
        { values: unique(values.map((value) => value.rate)), format: "~g" }),
      chartAxis("left", "y", "joint KL, nats", { format: "~g", tickCount: 6 })],
      marks: [{ type: "group", from: { facet: { name: "line", data: "points", groupby: "method" } },
        marks: [{ type: "line", from: { data: "line" }, encode: { enter: { ...at,
          stroke: { scale: "method", field: "method" }, strokeWidth: { value: 1.5 } } } }] },
      { type: "symbol", from: { data: "points" }, encode: { enter: { ...at, size: { value: 60 },
        fill: { scale: "method", field: "method" }, stroke: { value: "#fff" },
        strokeWidth: { value: 0.5 }, tooltip: { field: "tip" } } } }] });
  });
}

// ---- Text in Markdown -------------------------------------------------------------------------

// As much of Markdown as the corrections page uses: headings, paragraphs, lists, tables, code.
function inline(text) {
  const parts = [];
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)/g;
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(last, match.index));
    if (match[1] !== undefined) parts.push(element("code", {}, match[1]));
    else if (match[2] !== undefined) parts.push(element("b", {}, match[2]));
    else if (/^https:/.test(match[4])) parts.push(element("a", { href: match[4] }, match[3]));
    else parts.push(match[3]);  // a page of the repository is not part of the report
    last = match.index + match[0].length;
  }
  parts.push(text.slice(last));
  return parts;
}

function markdown(text) {
  const nodes = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const block = (test) => {
      const taken = [];
      while (i < lines.length && test(lines[i])) taken.push(lines[i++]);
      return taken;
    };
    if (line.trim() === "" || line.startsWith("# ")) {
      ++i;
    } else if (line.startsWith("```")) {
      ++i;
      nodes.push(element("pre", {}, block((next) => !next.startsWith("```")).join("\n")));
      ++i;
    } else if (line.startsWith("#")) {
      nodes.push(element("h3", {}, ...inline(line.replace(/^#+ /, ""))));
      ++i;
    } else if (line.startsWith("|")) {
      const cells = (row) => row.split("|").slice(1, -1).map((cell) => cell.trim());
      const [head, , ...rows] = block((next) => next.startsWith("|"));
      nodes.push(element("div", { class: "scroll" }, element("table", {},
        element("thead", {}, element("tr", {}, ...cells(head).map((cell) =>
          element("th", {}, ...inline(cell))))),
        element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row).map((cell) =>
          element("td", {}, ...inline(cell)))))))));
    } else if (line.startsWith("- ")) {
      const items = [];
      for (const taken of block((next) => next.startsWith("- ") || next.startsWith("  "))) {
        if (taken.startsWith("- ")) items.push(taken.slice(2));
        else items[items.length - 1] += " " + taken.trim();
      }
      nodes.push(element("ul", {}, ...items.map((item) => element("li", {}, ...inline(item)))));
    } else {
      const plain = (next) => next.trim() !== "" && !/^(#|\||- |```)/.test(next);
      nodes.push(element("p", {}, ...inline(block(plain).join(" "))));
    }
  }
  return nodes;
}

// ---- Reproduce --------------------------------------------------------------------------------

// A comment of a shell ends with its line.
const oneLine = (text) => text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ");

function reproduce() {
  const nodes = [element("p", {}, `Made by bridgemark ${data.version}. The same file and seeds give ` +
    "the same scores on any number of threads; times depend on the machine.")];
  if (data.file) {
    nodes.push(element("h3", {}, "The experiment"),
      element("pre", {}, "bridgemark run experiment.toml -o DIR\nbridgemark report DIR -o report.html"),
      element("details", {}, element("summary", {}, "experiment.toml"),
        element("pre", {}, data.file)));
  }
  const columns = [{ name: "run", key: (run) => run.run }, { name: "trained", key: (run) => run.train_seconds },
    { name: "scored", key: (run) => run.evaluate_seconds },
    { name: "memory", key: (run) => run.peak_memory_bytes },
    { name: "threads", key: (run) => run.threads }];
  const rows = data.runs.map((run) => ({ source: run, node: element("tr", {},
    element("th", { scope: "row" }, run.run), element("td", {}, run.outside ? "–" : duration(run.train_seconds)),
    element("td", {}, duration(run.evaluate_seconds)),
    element("td", {}, `${Math.round(run.peak_memory_bytes / 1048576)} MiB`),
    element("td", {}, String(run.threads))) }));
  nodes.push(element("h3", {}, "The runs"), sortableTable(columns, rows));
  nodes.push(element("details", {}, element("summary", {}, "Commands of each run"),
    element("pre", {}, data.runs.map((run) => [`# ${oneLine(run.run)}`, ...run.commands].join("\n"))
      .join("\n\n"))));
  byId("reproduce-body").replaceChildren(...nodes);
}

const sections = { summary, table: tables, figure: figures, curve: curves, time: scoreAndTime, switching,
  corrections: () => byId("corrections-body").replaceChildren(...markdown(data.corrections)),
  reproduce };
for (const [name, make] of Object.entries(sections)) guarded(byId(`${name}-body`), make);
Promise.all(plots).then(() => { document.body.dataset.ready = "yes"; });
