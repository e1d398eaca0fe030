// ---- Worst rows -------------------------------------------------------------------------------

const nats = (kl) => (kl === null ? "–" : kl === "inf" ? "∞" : kl.toPrecision(3));

function worstRowsTable(method) {
  const caption = `${method.name}: joint KL ${method.text} nats` + (method.share === null ? "" :
    `, of which the worst 1 % of ${method.rows} test rows carry ${Math.round(100 * method.share)} %`);
  const states = method.worst.some((row) => row.x0);
  const heads = ["row", "its KL", ...(states ? ["x0", "x1"] : [])];
  const list = (values) => element("td", { class: "states" }, values ? values.join(" ") : "");
  return scroller(element("table", { class: "worst" },
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...method.worst.map((row) => element("tr", {},
      element("th", { scope: "row" }, String(row.row)), element("td", {}, nats(row.kl)),
      ...(states ? [list(row.x0), list(row.x1)] : []))))), `Worst rows of ${method.name}`);
}

// The draws of a solver given a row's x0, beside the truth's: why it loses there.
function worstRowPanels(pair, method) {
  const colours = ink(), mine = colourOf(method.name);
  return method.worst.filter((row) => row.draws).map((row) => {
    const plane = { limits: bounds([row.truth, row.draws, row.input, row.end]),
      names: row.coordinates.map((d) => `coordinate ${d + 1}`) };
    return panel({ pair }, plane, `row ${row.row}: ${row.looks}`, "worst-row",
      `Given x0 of test row ${row.row}, ${row.looks}. Truth ${extent(row.truth)}; ${method.name} ${extent(row.draws)}.`, (spec) => {
        addCloud(spec, "truth", spread(row.truth, gridSpread), colours.target, "truth");
        addCloud(spec, "draws", spread(row.draws, gridSpread), mine, method.name);
        const marks = [["x0", row.input, "diamond"], ["x1", row.end, "cross"]];
        for (const [name, [[x, y]], shape] of marks) {
          spec.data.push({ name, values: [{ x, y, tip: `${name} of the row ${pointText({ x, y })}` }] });
          spec.marks.push({ type: "symbol", from: { data: name }, encode: { enter: { ...place, shape: { value: shape },
            size: { value: 110 }, fill: { value: colours.text }, stroke: { value: colours.page }, tooltip: { field: "tip" } } } });
        }
      });
  });
}

// The rows of the test set that carry the joint KL of each method.
function worstRows() {
  const pairs = data.worst.filter((entry) => isShownPair(entry.pair)).map((entry) =>
    ({ ...entry, methods: entry.methods.filter((method) => isShownMethod(method.method) &&
      (method.of_every_number || isShownNumber(method.training_rows))).map((method) =>
      ({ ...method, name: rowName({ ...method, samples: method.training_rows }) })) }))
    .filter((entry) => entry.methods.length > 0);
  document.querySelectorAll(".worst-rows").forEach((node) => { node.hidden = pairs.length === 0; });
  choices(byId("worst-choices"), pairs, (entry) => entry.pair, (entry) => {
    const drawn = [];
    byId("worst-body").replaceChildren(
      element("p", {}, "Where a few rows carry most of a joint KL, the solver fails on these and not " +
        "everywhere. Where its model is at hand, its draws given the row's x0 are beside the truth's, on the two coordinates " +
        "that differ most, with what they look like: a hint, not a test. A row is counted from 0 in the test set; its KL is " +
        "log q*(x1|x0) − log q(x1|x0), of the method's first run; x0 and x1 are its categories, coordinate by coordinate."),
      ...entry.methods.flatMap((method) => {
        const panels = worstRowPanels(entry.pair, method);
        drawn.push(...panels);
        return [worstRowsTable(method), ...(panels.length === 0 ? [] : [
          key(["dot", ink().target, "truth, given the row's x0"], ["dot", colourOf(method.name), method.name],
            ["square", ink().text, "diamond: x0, cross: x1 of the row"]),
          element("div", { class: "plots" }, ...panels)])];
      }));
    drawn.forEach((node) => guarded(node, () => node.draw()));
  });
}
