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
