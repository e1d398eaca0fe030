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

const smallestKl = 1e-6;  // nats: less is round-off and stands there

// The axis of values: by decades where they are above the floor and span more than one; a floor of
// null asks for none. A KL below its floor, 0 or less by noise, then stands at the lowest value;
// losses, whose floor is 0, have decades only where all are positive.
function valueAxis(values, floor) {
  const above = values.filter((value) => value > floor);
  const low = Math.min(...above);
  const log = floor !== null && (floor > 0 || above.length === values.length) &&
    Math.max(...above) > 10 * low;
  return { place: (value) => (log ? Math.max(value, low) : value),
    note: log && values.some((value) => value < low)
      ? ` Values below ${Number(low.toPrecision(2))} stand there: the axis has decades and no zero.` : "",
    axis: log ? { format: "~g", tickCount: 6 } : { tickCount: 6 },
    scale: { name: "y", type: log ? "log" : "linear", range: "height", nice: true, zero: false,
      domain: { data: "points", field: "shown" } } };
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
      const losses = valueAxis(curvesOfKind.flatMap((curve) => curve.points.map((point) => point[1])), 0);
      const values = curvesOfKind.flatMap((curve) => curve.points.map(([update, loss, seconds]) => ({
        method: rowName(curve), run: curve.run, seed: curve.seed, update, shown: losses.place(loss),
        tip: `${rowName(curve)}, seed ${curve.seed}\nupdate ${update}: loss ${loss.toPrecision(5)}, ` +
          duration(seconds) })));
      chart(body, { data: [{ name: "points", values }],
        scales: [{ name: "x", type: "linear", range: "width", nice: true,
          domain: { data: "points", field: "update" } },
        losses.scale, { name: "method", ...methodColour,
          domain: unique(values.map((value) => value.method)),
          range: unique(values.map((value) => value.method))
            .map((name) => methodColour.range[methods.indexOf(name)]) }],
        axes: [chartAxis("bottom", "x", "updates", { tickCount: 6 }),
          chartAxis("left", "y", `loss, ${kind}`, losses.axis)],
        marks: [{ type: "group", from: { facet: { name: "curve", data: "points", groupby: "run" } },
          marks: [{ type: "line", from: { data: "curve" }, encode: { enter: {
            x: { scale: "x", field: "update" }, y: { scale: "y", field: "shown" },
            stroke: { scale: "method", field: "method" }, strokeWidth: { value: 1.5 } } } },
          { type: "symbol", from: { data: "curve" }, encode: { enter: {
            x: { scale: "x", field: "update" }, y: { scale: "y", field: "shown" },
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
    const runs = data.runs.filter((run) => !run.reverse && !run.outside && run.solver !== "oracle" &&
      typeof run.scores[table.score] === "number");
    const scale = valueAxis(runs.map((run) => run.scores[table.score]),
      table.lower_is_better ? smallestKl : null);
    const values = runs.map((run) => ({ method: rowName(run), dim: `D = ${run.dim}`,
      seconds: Math.max(run.train_seconds, 0.001), shown: scale.place(run.scores[table.score]),
      tip: `${rowName(run)} on ${run.pair}, seed ${run.seed}\n${table.title} ` +
        `${run.scores[table.score].toPrecision(5)}\ntraining ${duration(run.train_seconds)} on ` +
        `${run.threads} thread${run.threads === 1 ? "" : "s"}` }));
    body.replaceChildren(element("p", {}, "Each point is a run: its training time on the machine " +
      "above and its score; the shape tells the dimension. Fits under a millisecond stand at 1 ms." +
      scale.note));
    if (values.length === 0) return;
    const names = unique(values.map((value) => value.method));
    chart(body, { data: [{ name: "points", values }],
      scales: [{ name: "x", type: "log", range: "width", nice: true,
        domain: { data: "points", field: "seconds" } },
      scale.scale,
      { name: "method", type: "ordinal", domain: names,
        range: names.map((name) => methodColour.range[methods.indexOf(name)]) },
      { name: "shape", type: "ordinal", domain: unique(values.map((value) => value.dim)),
        range: ["circle", "square", "triangle-up", "diamond", "cross"] }],
      axes: [chartAxis("bottom", "x", "training time, seconds", { format: "~g", tickCount: 6 }),
        chartAxis("left", "y", table.title, scale.axis)],
      marks: [{ type: "symbol", from: { data: "points" }, encode: { enter: {
        x: { scale: "x", field: "seconds" }, y: { scale: "y", field: "shown" },
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
    const means = unique(shown.map(rowName)).flatMap((method) => {
      const own = shown.filter((run) => rowName(run) === method);
      return unique(own.map((run) => run.switch_rate)).sort((a, b) => a - b).map((rate) => {
        const scores = own.filter((run) => run.switch_rate === rate).map((run) => run.scores.joint_kl);
        const value = scores.reduce((sum, score) => sum + score, 0) / scores.length;
        return { method, rate, value,
          tip: `${method}, switch rate ${rate}\njoint KL ${value.toPrecision(3)}` };
      });
    });
    const scale = valueAxis(means.map((mean) => mean.value), smallestKl);
    const values = means.map((mean) => ({ ...mean, shown: scale.place(mean.value) }));
    const names = unique(values.map((value) => value.method));
    body.replaceChildren(element("p", {}, "The truth leaves its component with this probability at " +
      "each coordinate; at 0 it is a CP bridge." + scale.note));
    const at = { x: { scale: "x", field: "rate" }, y: { scale: "y", field: "shown" } };
    chart(body, { data: [{ name: "points", values }],
      scales: [{ name: "x", type: "symlog", constant: 0.01, range: "width",
        domain: { data: "points", field: "rate" } },
      scale.scale,
      { name: "method", type: "ordinal", domain: names,
        range: names.map((method) => methodColour.range[methods.indexOf(method)]) }],
      axes: [chartAxis("bottom", "x", "switch rate",
        { values: unique(values.map((value) => value.rate)), format: "~g" }),
      chartAxis("left", "y", "joint KL, nats", scale.axis)],
      marks: [{ type: "group", from: { facet: { name: "line", data: "points", groupby: "method" } },
        marks: [{ type: "line", from: { data: "line" }, encode: { enter: { ...at,
          stroke: { scale: "method", field: "method" }, strokeWidth: { value: 1.5 } } } }] },
      { type: "symbol", from: { data: "points" }, encode: { enter: { ...at, size: { value: 60 },
        fill: { scale: "method", field: "method" }, stroke: { value: "#fff" },
        strokeWidth: { value: 0.5 }, tooltip: { field: "tip" } } } }] });
  });
}
