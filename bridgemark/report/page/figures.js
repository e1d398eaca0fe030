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
