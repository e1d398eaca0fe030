// ---- Lines and points over numbers ------------------------------------------------------------

const chartAxis = (orient, scale, title, more = {}) => ({ orient, scale, title, ...more });

// For who cannot see a chart: its title, whose points it has and where they end.
function inWords(title, points) {
  const known = points.filter((point) => Number.isFinite(point.shown)).sort((a, b) => a.shown - b.shown);
  if (known.length === 0) return title;
  const at = (point) => `${Number(point.shown.toPrecision(3))} of ${point.method}`;
  return `${title}: ${count(known.length, "point")} of ${unique(points.map((point) => point.method)).join(", ")}, ` +
    `from ${at(known[0])} to ${at(known.at(-1))}.`;
}

// legends: those beside the one of methods.
function chart(container, name, title, spec, legends = []) {
  const holder = element("div");
  const node = element("figure", { class: "plot wide" },
    element("figcaption", {}, element("span", {}, title), pictureButtons(name, () => view)), holder);
  container.append(node);
  const width = Math.max(220, Math.floor(node.clientWidth - 26));
  const narrow = width < 560;
  const form = { orient: narrow ? "bottom" : "right", direction: "vertical", columns: 1,
    labelLimit: narrow ? width - 60 : 220 };
  const lines = spec.scales.find((scale) => scale.name === "method").domain.length +
    legends.reduce((sum, legend) => sum + 1 + spec.scales.find((scale) =>
      scale.name === (legend.shape || legend.strokeDash)).domain.length, 0);
  const height = Math.min(380, Math.round(width * 0.6)) + (narrow ? 16 * lines : 0);
  const view = plot(holder, { description: inWords(title, spec.data[0].values), width, height, padding: 2,
    autosize: { type: "fit", contains: "padding" }, ...spec,
    legends: [{ fill: "method", title: "method", symbolType: "circle", ...form },
      ...legends.map((legend) => ({ ...legend, ...form }))] }, "svg");
}

const smallestKl = 1e-6;  // nats: less is round-off and stands there

// The powers of ten around values, for the lines of an axis that would have nine between two of them;
// none where there are so few that the lines between are needed.
function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values))), high = Math.ceil(Math.log10(Math.max(...values)));
  const powers = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return powers.length < 3 ? {} : { values: powers, tickCount: powers.length + 1 };
}

// The axis of values: by decades where they are above the floor and span more than one; a floor of
// null asks for none. A KL below its floor, 0 or less by noise, then stands at the lowest value;
// losses, whose floor is 0, have decades only where all are positive.
// `spans` is how many times the lowest the highest value must be for them.
function valueAxis(values, floor, spans = 10) {
  const above = values.filter((value) => value > floor);
  const low = Math.min(...above);
  const log = floor !== null && (floor > 0 || above.length === values.length) &&
    Math.max(...above) > spans * low;
  return { log, place: (value) => (log ? Math.max(value, low) : value),
    note: log && values.some((value) => value < low)
      ? ` Values below ${Number(low.toPrecision(2))} stand there: the axis has decades and no zero.` : "",
    axis: { tickCount: 6, ...(log ? { format: "~g", ...decades(above) } : {}) },
    scale: { name: "y", type: log ? "log" : "linear", range: "height", nice: true, zero: false,
      domain: { data: "points", field: "shown" } } };
}

function curves() {
  const body = byId("curve-body");
  const all = data.curves.filter(isShown);
  if (all.length === 0) {
    byId("curve-choices").replaceChildren();
    body.replaceChildren(element("p", { class: "note" }, data.curves.length === 0
      ? "No run of these results has a training log beside it." : nothingMatches));
    return;
  }
  const kindOf = (curve) => [curve.solver, curve.loss.toUpperCase()].filter(Boolean).join(" ");
  choices(byId("curve-choices"), unique(all.map((curve) => curve.pair)), (pair) => pair, (pair) => {
    const shown = all.filter((curve) => curve.pair === pair);
    const held = shown.some((curve) => curve.points.some((point) => point[3] !== null));
    body.replaceChildren(element("p", {}, "Mean loss of the updates since the last point, a line for " +
      "each run. One chart for each solver and loss, whatever their options: other losses have " +
      "another zero." + (held ? " Dashed: the loss of rows held out, which the training does not see." : "")));
    for (const kind of unique(shown.map(kindOf))) {
      lossChart(body, `training-${kind}-${pair}`, shown.filter((curve) => kindOf(curve) === kind));
    }
    const validated = shown.filter((curve) => curve.validation !== null);
    for (const score of unique(validated.map((curve) => curve.validation.score))) {
      validationChart(body, `validation-${score}-${pair}`,
        validated.filter((curve) => curve.validation.score === score));
    }
  });
}

// How far each run was from the truth while it trained, against its seconds.
function validationChart(body, name, shown) {
  const { title, unit } = shown[0].validation;
  const points = shown.flatMap((curve) => curve.validation.points.map(([update, seconds, value, error]) =>
    ({ curve, update, seconds: Math.max(seconds, 0.001), value, error })));
  const scale = valueAxis(points.map((point) => point.value), smallestKl);
  const values = points.map(({ curve, update, seconds, value, error }) => ({
    method: rowName(curve), run: curve.run, seconds, shown: scale.place(value),
    tip: `${rowName(curve)}, ${curve.samples > 0 ? `set ${curve.training_set}, ` : ""}seed ${curve.seed}\n` +
      `update ${update}, ${duration(seconds)}: ${title} ${value.toPrecision(4)}` +
      (error === null ? "" : ` ± ${error.toPrecision(2)}`) }));
  body.append(element("p", {}, `${title} of the model in training on the same test rows, a line for each ` +
    "run: written while it trained, by which nothing was chosen." + scale.note));
  const at = { x: { scale: "x", field: "seconds" }, y: { scale: "y", field: "shown" } };
  chart(body, name, `${title} while training, on ${shown[0].pair}`, { data: [{ name: "points", values }],
    scales: [{ name: "x", type: "log", range: "width", nice: true,
      domain: { data: "points", field: "seconds" } }, scale.scale,
    colourScale(unique(values.map((value) => value.method)))],
    axes: [chartAxis("bottom", "x", "training time, seconds",
      { format: "~g", tickCount: 6, ...decades(values.map((value) => value.seconds)) }),
    chartAxis("left", "y", `${title}, ${unit}`, scale.axis)],
    marks: [{ type: "group", from: { facet: { name: "curve", data: "points", groupby: "run" } },
      marks: [{ type: "line", from: { data: "curve" }, encode: { enter: { ...at,
        stroke: { scale: "method", field: "method" }, strokeWidth: { value: 1.5 } } } },
      { type: "symbol", from: { data: "curve" }, encode: { enter: { ...at, size: { value: 40 },
        fill: { scale: "method", field: "method" }, tooltip: { field: "tip" } } } }] }] });
}

function lossChart(body, name, shown) {
  const names = unique(shown.map((curve) => curve.method));
  const title = [names.length === 1 ? names[0] : shown[0].solver, shown[0].loss.toUpperCase()]
    .filter(Boolean).join(" ");
  const points = shown.flatMap((curve) => curve.points.flatMap(([update, loss, seconds, heldOut]) => [
    { curve, update, loss, seconds, held: "" },
    ...(heldOut === null ? [] : [{ curve, update, loss: heldOut, seconds, held: " of rows held out" }])]));
  const losses = valueAxis(points.map((point) => point.loss), 0);
  const values = points.map(({ curve, update, loss, seconds, held }) => ({
    method: rowName(curve), run: curve.run + held, update, shown: losses.place(loss), dash: held ? [4, 3] : [1, 0],
    tip: `${rowName(curve)}, ${curve.samples > 0 ? `set ${curve.training_set}, ` : ""}seed ${curve.seed}\n` +
      `update ${update}: loss${held} ${loss.toPrecision(5)}, ${duration(seconds)}` }));
  const at = { x: { scale: "x", field: "update" }, y: { scale: "y", field: "shown" } };
  chart(body, name, `Loss of ${title} while training, on ${shown[0].pair}`, { data: [{ name: "points", values }],
    scales: [{ name: "x", type: "linear", range: "width", nice: true,
      domain: { data: "points", field: "update" } },
    losses.scale, colourScale(unique(values.map((value) => value.method)))],
    axes: [chartAxis("bottom", "x", "updates", { tickCount: 6 }),
      chartAxis("left", "y", `loss, ${title}`, losses.axis)],
    marks: [{ type: "group", from: { facet: { name: "curve", data: "points", groupby: "run" } },
      marks: [{ type: "line", from: { data: "curve" }, encode: { enter: { ...at,
        stroke: { scale: "method", field: "method" }, strokeDash: { field: "dash" }, strokeWidth: { value: 1.5 } } } },
      { type: "symbol", from: { data: "curve" }, encode: { enter: { ...at,
        size: { value: 40 }, fill: { scale: "method", field: "method" },
        fillOpacity: { value: 0 }, tooltip: { field: "tip" } },
      hover: { fillOpacity: { value: 1 } }, update: { fillOpacity: { value: 0 } } } }] }] });
}

// ---- Score and time ---------------------------------------------------------------------------

const dashes = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [1, 3]];

// The Oracle's mean over the pairs of each dimension: the ceiling of what stands beside it.
function ceilings(table, dims, scale) {
  return dims.map((dim) => {
    const scores = data.runs.filter((run) => run.solver === "oracle" && !run.reverse && isShown(run) &&
      `D = ${run.dim}` === dim).map((run) => run.scores[table.score])
      .filter((score) => typeof score === "number");
    const value = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    return { dim, value, shown: scale.place(value),
      tip: `Oracle, ${dim}: ${value.toPrecision(5)}\nmean over ${scores.length} ` +
        `pair${scores.length === 1 ? "" : "s"}` };
  }).filter((ceiling) => Number.isFinite(ceiling.value) && !(scale.log && ceiling.value < smallestKl));
}

// An outside solver may not say how long it trained.
const timed = (run) => !run.outside || run.train_seconds > 0;

function scoreAndTime() {
  const body = byId("time-body");
  const scored = (table) => data.runs.filter((run) => !run.reverse && timed(run) && isShown(run) &&
    (run.samples === table.samples || run.of_every_number) && run.solver !== "oracle" && typeof run.scores[table.score] === "number");
  const scores = data.tables.filter((table) => !table.reversed_pairs && isShownNumber(table.samples) &&
    table.against_time && scored(table).length > 0).sort(whatDecidesFirst);
  if (scores.length === 0) body.replaceChildren(element("p", { class: "note" }, nothingMatches));
  choices(byId("time-choices"), scores, (table) => table.title, (table) => {
    const runs = scored(table);
    const scale = valueAxis(runs.map((run) => run.scores[table.score]),
      table.lower_is_better ? smallestKl : null);
    const values = runs.map((run) => ({ method: colourName(run), dim: `D = ${run.dim}`,
      seconds: Math.max(run.train_seconds, 0.001), shown: scale.place(run.scores[table.score]),
      tip: `${rowName(run)} on ${run.pair}, seed ${run.seed}\n${table.title} ` +
        `${run.scores[table.score].toPrecision(5)}\ntraining ${duration(run.train_seconds)} on ` +
        `${run.threads} thread${run.threads === 1 ? "" : "s"}` }));
    const dims = unique(runs.map((run) => run.dim)).sort((a, b) => a - b).map((dim) => `D = ${dim}`);
    const oracle = ceilings(table, dims, scale);
    scale.scale.domain = { fields: [{ data: "points", field: "shown" },
      { data: "oracle", field: "shown" }] };
    body.replaceChildren(element("p", {}, "Each point is a run: its training time and its score. Fits " +
      "under a millisecond stand at 1 ms. " + (oracle.length > 0
      ? "The lines are the Oracle's mean over the pairs of a dimension: the ceiling."
      : "The Oracle's value is 0 and lies below the axis.") + scale.note));
    chart(body, `time-${table.score}${table.samples > 0 ? `-n${table.samples}` : ""}`, `${table.title} against training time`, { data: [{ name: "points", values }, { name: "oracle", values: oracle }],
      scales: [{ name: "x", type: "log", range: "width", nice: true,
        domain: { data: "points", field: "seconds" } }, scale.scale,
      colourScale(unique(values.map((value) => value.method))),
      { name: "shape", type: "ordinal", domain: dims,
        range: ["circle", "square", "triangle-up", "diamond", "cross"] },
      { name: "dash", type: "ordinal", domain: oracle.map((ceiling) => ceiling.dim),
        range: dims.map((dim, i) => [dim, dashes[i % dashes.length]])
          .filter(([dim]) => oracle.some((ceiling) => ceiling.dim === dim)).map(([, dash]) => dash) }],
      axes: [chartAxis("bottom", "x", "training time, seconds",
        { format: "~g", tickCount: 6, ...decades(values.map((value) => value.seconds)) }),
        chartAxis("left", "y", table.title, scale.axis)],
      marks: [{ type: "rule", from: { data: "oracle" }, encode: { enter: {
        x: { value: 0 }, x2: { signal: "width" }, y: { scale: "y", field: "shown" },
        stroke: { value: ink().text }, strokeWidth: { value: 1.5 },
        strokeDash: { scale: "dash", field: "dim" }, tooltip: { field: "tip" } } } },
      { type: "symbol", from: { data: "points" }, encode: { enter: {
        x: { scale: "x", field: "seconds" }, y: { scale: "y", field: "shown" },
        size: { value: 70 }, fill: { scale: "method", field: "method" },
        shape: { scale: "shape", field: "dim" }, stroke: { value: ink().page },
        strokeWidth: { value: 0.5 }, tooltip: { field: "tip" } },
      update: { fillOpacity: { value: 0.85 } }, hover: { fillOpacity: { value: 1 } } } }] },
    [{ shape: "shape", title: "dimension", symbolFillColor: ink().soft, symbolStrokeWidth: 0 },
      ...(oracle.length > 0 ? [{ strokeDash: "dash", title: "Oracle", symbolType: "stroke",
        symbolStrokeColor: ink().text, symbolSize: 400 }] : [])]);
  });
}

// ---- Switch rate ------------------------------------------------------------------------------

// The charts below are of the score that decides who is best, the joint KL.
const decidingScore = (run) => run.scores[data.deciding.score];
const decidingAxis = `${data.deciding.title}, ${data.deciding.unit}`;

// Chain pairs with the same cores that differ in how often the truth changes its state.
function switching() {
  const runs = data.runs.filter((run) => typeof run.switch_rate === "number" && !run.reverse &&
    run.solver !== "oracle" && typeof decidingScore(run) === "number" && isShown(run));
  const base = (run) => run.pair.replace(/-chain.*$/, "-chain");
  const bases = unique(runs.map(base)).filter((name) =>
    unique(runs.filter((run) => base(run) === name).map((run) => run.switch_rate)).length > 1);
  document.querySelectorAll(".switching").forEach((node) => { node.hidden = bases.length === 0; });
  choices(byId("switching-choices"), bases, (name) => name, (name) => {
    const body = byId("switching-body");
    const shown = runs.filter((run) => base(run) === name);
    const means = unique(shown.map(rowName)).flatMap((method) => {
      const own = shown.filter((run) => rowName(run) === method);
      return unique(own.map((run) => run.switch_rate)).sort((a, b) => a - b).map((rate) => {
        const scores = own.filter((run) => run.switch_rate === rate).map(decidingScore);
        const value = scores.reduce((sum, score) => sum + score, 0) / scores.length;
        return { method, rate, value,
          tip: `${method}, switch rate ${rate}\n${data.deciding.title} ${value.toPrecision(3)}` };
      });
    });
    const scale = valueAxis(means.map((mean) => mean.value), smallestKl);
    const values = means.map((mean) => ({ ...mean, shown: scale.place(mean.value) }));
    body.replaceChildren(element("p", {}, "The truth leaves its component with this probability at " +
      "each coordinate; at 0 it is a CP bridge." + scale.note));
    const at = { x: { scale: "x", field: "rate" }, y: { scale: "y", field: "shown" } };
    chart(body, `switch-rate-${name}`, `${data.deciding.title} against the switch rate of ${name}`, { data: [{ name: "points", values }],
      scales: [{ name: "x", type: "symlog", constant: 0.01, range: "width",
        domain: { data: "points", field: "rate" } }, scale.scale,
      colourScale(unique(values.map((value) => value.method)))],
      axes: [chartAxis("bottom", "x", "switch rate",
        { values: unique(values.map((value) => value.rate)), format: "~g" }),
      chartAxis("left", "y", decidingAxis, scale.axis)],
      marks: [{ type: "group", from: { facet: { name: "line", data: "points", groupby: "method" } },
        marks: [{ type: "line", from: { data: "line" }, encode: { enter: { ...at,
          stroke: { scale: "method", field: "method" }, strokeWidth: { value: 1.5 } } } }] },
      { type: "symbol", from: { data: "points" }, encode: { enter: { ...at, size: { value: 60 },
        fill: { scale: "method", field: "method" }, stroke: { value: ink().page },
        strokeWidth: { value: 0.5 }, tooltip: { field: "tip" } } } }] });
  });
}

// ---- Training rows ----------------------------------------------------------------------------

const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// The deciding score of each solver against the rows that it was trained on, where runs differ in them.
// Endless draws have no place on the axis: they are a line over its whole width.
function errorAndRows() {
  const runs = data.runs.filter((run) => !run.of_every_number && run.solver !== "oracle" &&
    typeof decidingScore(run) === "number" && isShown(run));
  const numbers = (own) => unique(own.map((run) => run.samples));
  const pairs = unique(runs.map((run) => run.pair)).filter((pair) => {
    const own = runs.filter((run) => run.pair === pair);
    return numbers(own).length > 1 && own.some((run) => run.samples > 0);
  });
  document.querySelectorAll(".rows").forEach((node) => { node.hidden = pairs.length === 0; });
  choices(byId("rows-choices"), pairs, (pair) => pair, (pair) => {
    const shown = runs.filter((run) => run.pair === pair);
    const means = unique(shown.map(methodName)).flatMap((method) => {
      const own = shown.filter((run) => methodName(run) === method);
      return numbers(own).sort((a, b) => a - b).map((samples) => {
        const here = own.filter((run) => run.samples === samples);
        const value = meanOf(unique(here.map((run) => run.training_set)).map((set) =>
          meanOf(here.filter((run) => run.training_set === set).map(decidingScore))));
        return { method, samples, value, tip: `${method}, ${rowsName(samples)}\n${data.deciding.title} ` +
          `${value.toPrecision(3)}, mean of ${here.length} run${here.length === 1 ? "" : "s"}` };
      });
    });
    rowsChart(byId("rows-body"), pair, means);
  });
}

function rowsChart(body, pair, means) {
  const scale = valueAxis(means.map((mean) => mean.value), smallestKl, 1);
  const values = means.map((mean) => ({ ...mean, shown: scale.place(mean.value) }));
  const finite = values.filter((value) => value.samples > 0);
  const endless = values.filter((value) => value.samples === 0);
  scale.scale.domain = { fields: [{ data: "points", field: "shown" }, { data: "endless", field: "shown" }] };
  body.replaceChildren(element("p", {}, "Each point is the mean over training sets of a solver that saw n " +
    "unpaired rows of either end." + (endless.length > 0
    ? " The dashed lines are the same solvers with endless draws." : "") + scale.note));
  const at = { x: { scale: "x", field: "samples" }, y: { scale: "y", field: "shown" } };
  const stroke = { scale: "method", field: "method" };
  chart(body, `joint-kl-and-rows-${pair}`, `${data.deciding.title} against training rows, on ${pair}`, { data: [{ name: "points", values: finite },
    { name: "endless", values: endless }],
  scales: [{ name: "x", type: "log", range: "width", domain: { data: "points", field: "samples" } }, scale.scale,
    colourScale(unique(values.map((value) => value.method)))],
  axes: [chartAxis("bottom", "x", "training rows a side, n",
    { format: "~g", values: unique(finite.map((value) => value.samples)) }),
  chartAxis("left", "y", decidingAxis, scale.axis)],
  marks: [{ type: "rule", from: { data: "endless" }, encode: { enter: { x: { value: 0 },
    x2: { signal: "width" }, y: at.y, stroke, strokeWidth: { value: 1.5 }, strokeDash: { value: [6, 3] },
    tooltip: { field: "tip" } } } },
  { type: "group", from: { facet: { name: "line", data: "points", groupby: "method" } },
    marks: [{ type: "line", from: { data: "line" }, encode: { enter: { ...at, stroke,
      strokeWidth: { value: 1.5 } } } }] },
  { type: "symbol", from: { data: "points" }, encode: { enter: { ...at, size: { value: 60 },
    fill: stroke, stroke: { value: ink().page }, strokeWidth: { value: 0.5 },
    tooltip: { field: "tip" } } } }] });
}
