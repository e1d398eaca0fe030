"use strict";
// The report: tables, plots and text from the data above. No state beyond the page and its address.
// What the data says is data: it becomes text nodes and fields of Vega's rows, never markup and never a
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

const chosen = new Map();  // the label last pressed in each group, which stays when it is made again

// One pressed button at a time; `show` is called with the chosen entry.
function choices(container, entries, label, show) {
  const buttons = entries.map((entry) => element("button", {
    type: "button",
    onclick: () => press(entry),
  }, label(entry)));
  const body = byId(container.id.replace("-choices", "-body"));
  function press(entry) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", entries[i] === entry));
    chosen.set(container.id, label(entry));
    guarded(body, () => show(entry));
    dropPlots();
  }
  container.replaceChildren(...(entries.length > 1 ? buttons : []));
  const kept = entries.find((entry) => label(entry) === chosen.get(container.id));
  if (entries.length > 0) press(kept || entries[0]);
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

// ---- Light and dark ---------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = null;  // what the reader chose; the system's choice until then

const isDark = () => (theme === null ? prefersDark.matches : theme === "dark");

// What a plot is drawn with, the page's own colours.
const ink = () => {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { page: of("plot"), text: of("ink"), soft: of("soft"), line: of("line"), grid: of("grid"),
    backdrop: of("backdrop"), input: of("input"), target: of("target"), samples: of("samples") };
};

// Of every axis and legend, so that no plot names a colour of text or lines itself.
function plotConfig(colours) {
  const text = { labelColor: colours.soft, titleColor: colours.soft, titleFontWeight: "normal" };
  return { background: colours.page, font: "system-ui, 'DejaVu Sans', sans-serif",
    axis: { ...text, grid: true, gridColor: colours.grid, domainColor: colours.line,
      tickColor: colours.line },
    legend: { ...text, symbolBaseStrokeColor: colours.soft } };
}

// ---- Plots ------------------------------------------------------------------------------------

let plots = [];  // {view, drawn} of all that are on the page

function plot(container, spec, renderer) {
  vega = vega || loadVega();
  // Expressions are walked, not compiled: the page's policy allows no code made from text.
  const view = new vega.View(vega.parse({ $schema: "https://vega.github.io/schema/vega/v5.json",
    ...spec }, plotConfig(ink()), { ast: true }), { expr: vega.expr, renderer, container, hover: true,
    tooltip: (_handler, event, _item, value) => {
      if (value === null || value === undefined || value === "") hideTooltip();
      else showTooltip(String(value), event.clientX, event.clientY);
    } });
  const drawn = view.runAsync().catch((error) => {
    container.replaceChildren(element("p", { class: "note failed" },
      `This plot cannot be shown: ${error}`));
  });
  plots.push({ container, view, drawn });
  return view;
}

// Plots that are no longer on the page stop listening.
function dropPlots() {
  plots = plots.filter((entry) => {
    if (entry.container.isConnected) return true;
    entry.view.finalize();
    return false;
  });
}

// A colour for each method, from a palette that most colour-blind readers can tell apart.
const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8E6CC0",
  "#B5762A", "#35978F", "#7A828C", "#D6455D", "#7FBC41"];
const rowName = (row) =>
  [row.method, (row.loss || "").toUpperCase(), row.num_steps].filter(Boolean).join(" ");
const methods = unique(data.runs.map(rowName));
const colourOf = (name) => palette[methods.indexOf(name) % palette.length];
const colourScale = (names) => ({ name: "method", type: "ordinal", domain: names,
  range: names.map(colourOf) });

// ---- Filters, kept in the address -------------------------------------------------------------

// #SECTION?family=..&dim=..&solver=..&theme=..: a name may come several times, none means all.
const nothingMatches = "Nothing matches the filters.";
const filters = [
  { name: "family", title: "family", values: unique(data.runs.map((run) => run.family)) },
  { name: "dim", title: "dimension", label: (dim) => `D = ${dim}`,
    values: unique(data.runs.map((run) => run.dim)).sort((a, b) => a - b).map(String) },
  { name: "solver", title: "solver",
    values: unique(data.runs.filter((run) => run.solver !== "oracle").map((run) => run.method)) },
].map((filter) => ({ ...filter, chosen: new Set() }));
const pairFacts = new Map(data.runs.map((run) => [run.pair, run]));
const oracleNames = new Set(data.runs.filter((run) => run.solver === "oracle").map((run) => run.method));

const passes = (filter, value) => filter.chosen.size === 0 || filter.chosen.has(String(value));

function isShownPair(pair) {
  const facts = pairFacts.get(pair);
  return facts === undefined || (passes(filters[0], facts.family) && passes(filters[1], facts.dim));
}

// The Oracle stays beside any solver: it is the ceiling.
const isShownMethod = (method) => passes(filters[2], method) || oracleNames.has(method);
const isShown = (row) => isShownPair(row.pair) && isShownMethod(row.method);

const currentSection = () => location.hash.slice(1).split("?")[0];

function address(section) {
  const query = new URLSearchParams();
  for (const filter of filters) {
    for (const value of filter.chosen) query.append(filter.name, value);
  }
  if (theme !== null) query.set("theme", theme);
  return `#${section}${query.size > 0 ? `?${query}` : ""}`;
}

function readAddress() {
  const query = new URLSearchParams(location.hash.split("?").slice(1).join("?"));
  for (const filter of filters) {
    filter.chosen = new Set(query.getAll(filter.name).filter((value) => filter.values.includes(value)));
  }
  theme = ["light", "dark"].includes(query.get("theme")) ? query.get("theme") : null;
}

function showFilters() {
  const changed = () => {
    history.replaceState(null, "", address(currentSection()));
    render();
  };
  const groups = filters.filter((filter) => filter.values.length > 1).map((filter) =>
    element("div", { class: "choices", role: "group", "aria-label": filter.title },
      element("span", { class: "group" }, filter.title),
      ...filter.values.map((value) => element("button", { type: "button",
        "aria-pressed": filter.chosen.has(value),
        onclick: () => {
          if (!filter.chosen.delete(value)) filter.chosen.add(value);
          changed();
        } }, filter.label ? filter.label(value) : value))));
  const clear = element("button", { type: "button", class: "clear", onclick: () => {
    filters.forEach((filter) => filter.chosen.clear());
    changed();
  } }, "Show all");
  const any = filters.some((filter) => filter.chosen.size > 0);
  byId("filters").replaceChildren(...groups, ...(any ? [clear] : []));
  byId("filters").hidden = groups.length === 0;
}

// ---- Downloads --------------------------------------------------------------------------------

function save(name, href) {
  element("a", { href, download: name.replace(/[^\w.-]+/g, "-") }).click();
}

function saveText(name, text, type) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  save(name, href);
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// Buttons that save a plot as it is shown, a PNG with twice its pixels; view() is the plot's own.
function pictureButtons(name, view) {
  return element("span", { class: "save" }, ...["svg", "png"].map((type) => element("button", {
    type: "button", title: `Save as ${type.toUpperCase()}`,
    onclick: () => view().toImageURL(type, 2).then((href) => save(`${name}.${type}`, href)),
  }, type.toUpperCase())));
}
