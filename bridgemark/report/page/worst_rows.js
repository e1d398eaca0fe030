// ---- Worst rows -------------------------------------------------------------------------------

const nats = (kl) => (kl === null ? "–" : kl === "inf" ? "∞" : kl.toPrecision(3));

function worstRowsTable(method) {
  const caption = `${method.name}: joint KL ${method.text} nats` + (method.share === null ? "" :
    `, of which the worst 1 % of ${method.rows} test rows carry ${Math.round(100 * method.share)} %`);
  const states = method.worst.some((row) => row.x0);
  const heads = ["row", "its KL", ...(states ? ["x0", "x1"] : [])];
  const list = (values) => element("td", { class: "states" }, values ? values.join(" ") : "");
  return element("div", { class: "scroll" }, element("table", { class: "worst" },
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...method.worst.map((row) => element("tr", {},
      element("th", { scope: "row" }, String(row.row)), element("td", {}, nats(row.kl)),
      ...(states ? [list(row.x0), list(row.x1)] : []))))));
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
    byId("worst-body").replaceChildren(
      element("p", {}, "Where a few rows carry most of a joint KL, the solver fails on these and not " +
        "everywhere. A row is counted from 0 in the test set; its KL is log q*(x1|x0) − log q(x1|x0), of " +
        "the method's first run; x0 and x1 are its categories, coordinate by coordinate."),
      ...entry.methods.map(worstRowsTable));
  });
}
