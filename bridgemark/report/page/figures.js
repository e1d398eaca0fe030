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

const gridSpread = 0.8;  // of the distance of two categories

// The range of clouds of points on each axis, with a margin.
function bounds(clouds) {
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

const share = (figure, i) => `${Math.round(100 * figure.explained[i])} %`;
const coordinate = (figure, i) => `coordinate ${figure.coordinates[i] + 1}`;

// What the axes of each kind of panel are: {limits, names}. Two dimensions have one plane for all.
function planes(figure) {
  const clouds = bounds([figure.input, figure.target, ...figure.methods.map((method) => method.samples)]);
  if (figure.projection !== "pca") {
    const plane = { limits: clouds, names: ["first coordinate", "second"] };
    return { samples: plane, conditional: plane, trajectories: plane };
  }
  const given = [figure.conditional.x0, ...figure.conditional.truth,
    ...figure.methods.flatMap((method) => method.conditional)];
  const paths = bounds(figure.methods.flatMap((method) => method.trajectories));
  return { samples: { limits: clouds, names: [0, 1].map((i) => `PC ${i + 1} (${share(figure, i)})`) },
    conditional: { limits: bounds(given), names: [0, 1].map((i) => coordinate(figure, i)) },
    trajectories: { limits: { x: [-0.03, 1.03], y: paths.y }, names: ["time", coordinate(figure, 0)] } };
}

function frame(plane, size) {
  const axis = (orient, scale, title) => ({ orient, scale, title, tickCount: 4, labelFontSize: 9,
    titleFontSize: 10 });
  return { width: size, height: size, padding: 2, autosize: { type: "fit", contains: "padding" },
    data: [], marks: [],
    scales: [{ name: "x", type: "linear", domain: plane.limits.x, range: "width", zero: false },
      { name: "y", type: "linear", domain: plane.limits.y, range: "height", zero: false }],
    axes: [axis("bottom", "x", plane.names[0]), axis("left", "y", plane.names[1])] };
}

// Where a cloud lies, in words.
function extent(points) {
  if (points.length === 0) return "without points";
  const about = (axis) => {
    const values = points.map((point) => point[axis]), mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return [mean, Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)];
  };
  const [x, y] = [about(0), about(1)];
  return `around (${x[0].toFixed(1)}, ${y[0].toFixed(1)}), spread ${x[1].toFixed(1)} by ${y[1].toFixed(1)}`;
}

const pointText = ({ x, y }) => `(${x.toFixed(1)}, ${y.toFixed(1)})`;
const place = { x: { scale: "x", field: "x" }, y: { scale: "y", field: "y" } };

// How each kind of plot is told: swatches with what they stand for.
const key = (...entries) => element("div", { class: "legend key" }, ...entries.map(([kind, colour, text]) =>
  element("span", {}, element("i", { class: kind,
    style: kind === "stroke" ? `border-color: ${colour}` : `background: ${colour}` }), text)));

// Of inputs and what starts there.
const startColours = () => (isDark() ? ["#56B4E9", "#F07F3C", "#E3A0C8", "#F2C14E"]
  : ["#0072B2", "#D55E00", "#CC79A7", "#E69F00"]);

function addCloud(spec, name, points, colour, what) {
  spec.data.push({ name, values: points.map((point) => ({ ...point,
    tip: `${what}\n${pointText(point)}` })) });
  spec.marks.push({ type: "symbol", from: { data: name }, encode: { enter: { ...place,
    size: { value: 9 }, fill: { value: colour }, fillOpacity: { value: 0.45 },
    tooltip: { field: "tip" } } } });
}

// A panel of a grid; fill(spec) puts data and marks into its frame. It is drawn once it has a width.
// `what` says in words what it shows.
function panel(figure, plane, caption, name, what, fill) {
  const holder = element("div");
  const node = element("figure", { class: "plot" }, element("figcaption", {},
    element("span", {}, caption), pictureButtons(`${name}-${caption}-${figure.pair}`, () => node.view)),
  holder);
  node.draw = () => {
    const spec = { ...frame(plane, Math.max(120, Math.floor(node.clientWidth - 16))),
      description: `${what} On ${figure.pair}, axes ${plane.names.join(" and ")}.` };
    fill(spec);
    node.view = plot(holder, spec, "canvas");
  };
  return node;
}

// ---- Conditionals -----------------------------------------------------------------------------

function addConditionals(spec, figure, clouds, what) {
  clouds.forEach((points, i) => addCloud(spec, `draws${i}`, spread(points, gridSpread), startColours()[i],
    `${what}, x1 given x0 ${i + 1}`));
  spec.data.push({ name: "inputs", values: figure.conditional.x0.map(([x, y], i) =>
    ({ x, y, colour: startColours()[i], tip: `x0 ${i + 1} ${pointText({ x, y })}` })) });
  spec.marks.push({ type: "symbol", from: { data: "inputs" }, encode: { enter: { ...place,
    shape: { value: "diamond" }, size: { value: 90 }, fill: { field: "colour" },
    stroke: { value: ink().text }, strokeWidth: { value: 1.5 }, tooltip: { field: "tip" } } } });
}

function conditionalPanels(figure, plane) {
  const known = figure.methods.filter((method) => !method.oracle && method.conditional.length > 0);
  const one = (name, clouds) => panel(figure, plane, name, "conditional", `Draws of ${name} given ` +
    `${count(clouds.length, "input")}: ${clouds.map((points, i) => `${i + 1} ${extent(points)}`).join("; ")}.`,
    (spec) => addConditionals(spec, figure, clouds, name));
  return [one("Truth", figure.conditional.truth),
    ...known.map((method) => one(method.name, method.conditional))];
}

// ---- Trajectories -----------------------------------------------------------------------------

const pathsEach = 4;  // of each start

// Drawn up to the signal `time`, 1 at the end. A point is a path's place from time `from` to `to`.
function addPaths(spec, paths, interpolate) {
  const values = paths.flatMap((path, id) => path.map(([x, y], n) => {
    const steps = path.length - 1;
    return { id, x, y, start: Math.floor(id / pathsEach), from: n / steps,
      to: n === steps ? 2 : (n + 1) / steps, tip: `step ${n} of ${steps}: ${interpolate === "linear" ? pointText({ x, y }) : y}` };
  }));
  spec.signals = [{ name: "time", value: 1 }];
  spec.data.push({ name: "paths", values, transform: [{ type: "filter", expr: "datum.from <= time" }] },
    { name: "starts", source: "paths", transform: [{ type: "filter", expr: "datum.from === 0" }] },
    { name: "heads", source: "paths", transform: [{ type: "filter", expr: "datum.to > time" }] });
  spec.scales.push({ name: "colour", type: "ordinal", domain: [0, 1, 2, 3],
    range: startColours() });
  spec.marks.push({ type: "group", from: { facet: { name: "path", data: "paths", groupby: "id" } },
    marks: [{ type: "line", from: { data: "path" }, encode: { enter: {
      stroke: { scale: "colour", field: "start" }, strokeWidth: { value: 1.2 },
      strokeOpacity: { value: 0.75 }, interpolate: { value: interpolate } }, update: place } }] });
  const dots = (name, size, fill, shape) => ({ type: "symbol", from: { data: name },
    encode: { enter: { size: { value: size }, fill, shape: { value: shape },
      stroke: { value: ink().page }, strokeWidth: { value: 0.8 } },
    update: { ...place, tooltip: { field: "tip" } } } });
  spec.marks.push(dots("starts", 60, { value: ink().text }, "square"),
                  dots("heads", 40, { scale: "colour", field: "start" }, "circle"));
}

const playSeconds = 5;

// Moves all panels together. Plays once when it is first seen, unless the reader wants no motion.
function motion(panels) {
  let playing = false;
  const slider = element("input", { type: "range", min: "0", max: "1", step: "0.005", value: "1",
    "aria-label": "Time of the trajectories", oninput: () => { stop(); show(Number(slider.value)); } });
  const output = element("output");
  const button = element("button", { type: "button", onclick: () => (playing ? stop() : play()) }, "Play");
  function show(time) {
    slider.value = String(time);
    output.textContent = `t = ${time.toFixed(2)}`;
    panels.forEach((node) => node.view && node.view.signal("time", time).runAsync());
  }
  function stop() {
    playing = false;
    button.textContent = "Play";
  }
  function play() {
    playing = true;
    button.textContent = "Pause";
    let time = Number(slider.value) >= 1 ? 0 : Number(slider.value);
    let last = null;
    const step = (now) => {
      if (!playing || !button.isConnected) return;
      time = Math.min(1, time + (last === null ? 0 : (now - last) / 1000 / playSeconds));
      last = now;
      show(time);
      if (time < 1) requestAnimationFrame(step);
      else stop();
    };
    requestAnimationFrame(step);
  }
  const node = element("div", { class: "motion" }, button, slider, output);
  output.textContent = "t = 1.00";
  if (!motion.seen && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      if (!motion.seen) play();
      motion.seen = true;
    });
    observer.observe(node);
  }
  return node;
}

// ---- The section ------------------------------------------------------------------------------

function figures() {
  const shown = data.figures.filter((figure) => isShownPair(figure.pair)).map((figure) =>
    ({ ...figure, methods: figure.methods.filter((method) => isShownMethod(method.method) &&
      (method.of_every_number || isShownNumber(method.training_rows))).map((method) =>
      ({ ...method, name: rowName({ ...method, samples: method.training_rows }) })) }));
  if (shown.length === 0) {
    byId("figure-choices").replaceChildren();
    byId("figure-body").replaceChildren(element("p", { class: "note" }, data.figures.length > 0
      ? nothingMatches : "There are no models beside these results, so nothing can be drawn from them."));
    return;
  }
  choices(byId("figure-choices"), shown, (figure) => figure.pair, (figure) => {
    const plane = planes(figure), colours = ink();
    const many = figure.projection === "pca";
    const jitter = many ? 0 : gridSpread;
    const grid = (nodes) => element("div", { class: "plots" }, ...nodes);
    const clouds = [panel(figure, plane.samples, "Input and target", "samples",
      `Inputs ${extent(figure.input)}; target ${extent(figure.target)}.`, (spec) => {
      addCloud(spec, "input", spread(figure.input, jitter), colours.input, "input");
      addCloud(spec, "target", spread(figure.target, jitter), colours.target, "target");
    }), ...figure.methods.map((method) => panel(figure, plane.samples, method.name, "samples",
      `Answers of ${method.name} ${extent(method.samples)}; the target ${extent(figure.target)}.`, (spec) =>
      addCloud(spec, "samples", spread(method.samples, jitter), colourOf(method.name), method.name)))];
    const conditionals = conditionalPanels(figure, plane.conditional);
    const paths = figure.methods.filter((method) => method.trajectories.length > 0)
      .map((method) => panel(figure, plane.trajectories, method.name, "trajectories",
        `${count(method.trajectories.length, "path")} of ${method.name}, which end ${extent(method.trajectories.map((path) => path.at(-1)))}.`, (spec) => {
        if (!many) addCloud(spec, "target", spread(figure.target, jitter), colours.backdrop, "target");
        addPaths(spec, method.trajectories, many ? "step-after" : "linear");
      }));
    const projected = many ? ` Of the ${figure.dim} dimensions the first two principal components of the ` +
      `target are shown, ${share(figure, 0)} and ${share(figure, 1)} of its variance.` : "";
    const chosenTwo = many ? ` Of the ${figure.dim} dimensions coordinates ${figure.coordinates[0] + 1} and ` +
      `${figure.coordinates[1] + 1} are shown, which tell the truth's draws apart best.` : "";
    const over = many ? `: ${coordinate(figure, 0)} of ${figure.dim} against the time.` : ", over the target.";
    const starts = paths.length === 0 ? 0 :
      figure.methods.find((method) => method.trajectories.length > 0).trajectories.length / pathsEach;
    byId("figure-body").replaceChildren(
      element("p", {}, "Answers of each method, in its colour, to the same inputs, beside these and the target. A " +
        `method may match the target and still answer each input wrongly: see below.${projected}`),
      key(["dot", colours.input, "inputs x0"], ["dot", colours.target, "target x1"]), grid(clouds),
      element("h3", {}, "Conditionals"),
      element("p", {}, "Draws of x1 given three inputs that lie far apart, by the truth and by each " +
        `method. A method that ignores its input mixes the colours.${chosenTwo}`),
      key(...figure.conditional.x0.map((_, i) => ["dot", startColours()[i],
        `input ${i + 1} (diamond) and draws given it`])), grid(conditionals),
      ...answerPictures(figure),
      ...(paths.length === 0 ? [] : [element("h3", {}, "Trajectories"),
        element("p", {}, `Four paths from each of ${starts} inputs that lie far apart${over}`),
        key(["square", colours.text, "start"],
          ...startColours().slice(0, starts).map((colour, i) => ["stroke", colour, `paths from input ${i + 1}`]),
          ["dot", colours.soft, "where a path is"],
          ...(many ? [] : [["dot", colours.backdrop, "target"]])),
        motion(paths), grid(paths)]));
    [...clouds, ...conditionals, ...paths].forEach((node) => guarded(node, () => node.draw()));
  });
}
