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

// ---- Colours of plots --------------------------------------------------------------------------

// What a plot is drawn with, the page's own colours.
const ink = () => {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { page: of("plot"), text: of("ink"), soft: of("soft"), line: of("line"), grid: of("grid"),
    backdrop: of("backdrop"), input: of("input"), target: of("target") };
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

// Single marks say nothing to a screen reader: the plot's description does.
const unspoken = (marks = []) => marks.map((mark) => ({ ...mark, aria: false, ...(mark.marks && { marks: unspoken(mark.marks) }) }));

function plot(container, spec, renderer) {
  vega = vega || loadVega();
  // Expressions are walked, not compiled: the page's policy allows no code made from text.
  const view = new vega.View(vega.parse({ $schema: "https://vega.github.io/schema/vega/v5.json",
    ...spec, marks: unspoken(spec.marks) }, plotConfig(ink()), { ast: true }), { expr: vega.expr, renderer, container, hover: true,
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

afterShown.push(dropPlots);

// A colour for each method with its loss and steps, at every number of training rows, from a palette that most colour-blind readers can tell apart; where
// there are more of them than colours, for each method.
// None is near the green of targets and truths.
const palette = ["#0072B2", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#8E6CC0", "#B5762A", "#7A828C", "#D6455D",
  "#A9B12F"];
const colourName = unique(data.runs.map(methodName)).length > palette.length ? (row) => row.method : methodName;
const coloured = unique(data.runs.map(colourName));
const colourNames = new Map(data.runs.map((run) => [rowName(run), colourName(run)]));
const colourOf = (name) => palette[coloured.indexOf(colourNames.get(name) ?? name) % palette.length];
// The same colour everywhere; past ten methods the colours begin again.
const colourScale = (names) => ({ name: "method", type: "ordinal", domain: names, range: names.map(colourOf) });

// Buttons that save a plot as it is shown, a PNG with twice its pixels; view() is the plot's own.
function pictureButtons(name, view) {
  return element("span", { class: "save" }, ...["svg", "png"].map((type) => element("button", {
    type: "button", title: `Save as ${type.toUpperCase()}`,
    onclick: () => view().toImageURL(type, 2).then((href) => save(`${name}.${type}`, href)),
  }, type.toUpperCase())));
}
