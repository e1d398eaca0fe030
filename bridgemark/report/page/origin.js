// ---- Where a cell comes from ------------------------------------------------------------------

// Each page says by sourceOf(run) which results a run is of: {revision, date, record}, and more where
// it knows more.

const runsById = new Map(data.runs.map((run) => [run.run, run]));

const factList = (facts) => element("dl", { class: "facts" }, ...facts.filter(([, value]) => value !== "")
  .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

const seedsOf = (run) => (run.evaluation_seeds === 1 ? `${run.evaluation_seed}`
  : `${run.evaluation_seed} to ${run.evaluation_seed + run.evaluation_seeds - 1}`);

function runFacts(run) {
  const source = sourceOf(run);
  return factList([
    ["revision", source.revision],
    ["date", source.date],
    ["training seed", String(run.seed)],
    ["training rows", run.samples === 0 ? "" : `${run.samples} a side, training set ${run.training_set}`],
    ["training", run.solver === "oracle" ? "none: the truth itself"
      : run.outside && run.train_seconds === 0 ? "" : duration(run.train_seconds)],
    ["trained on", run.outside ? run.machine : `${run.device}: ${run.machine}`],
    ["evaluation seeds", seedsOf(run)],
    ["evaluation", duration(run.evaluate_seconds)],
    ["raw record", `${source.record}, run ${run.run}`],
  ]);
}

// The other scores of the same runs, as tables show them.
function otherScores(table, row, pair) {
  const facts = data.tables.filter((other) => other.title !== table.title &&
    other.samples === table.samples).map((other) => {
    const column = other.pairs.indexOf(pair);
    const own = other.rows.find((entry) => entry.method === row.method && entry.details === row.details);
    const cell = column < 0 || own === undefined ? null : own.cells[column];
    if (cell === null) return [other.title, ""];
    return [other.title, measured(cell) ? cell.text + (cell.error ? ` ± ${cell.error}` : "")
      : `cannot be given: ${cell.missing}`];
  });
  return factList(facts);
}

function showOrigin(table, row, column) {
  const cell = row.cells[column], pair = table.pairs[column];
  const runs = cell.runs.map((id) => runsById.get(id));
  byId("origin-title").textContent = `${row.method} ${row.details}`.trim() + ` on ${pair}`;
  const place = cell.place === 1 ? ", best or not told apart from the best" : "";
  const nodes = [element("p", { class: "headline" }, cell.text,
    element("span", { class: "error" }, cell.error ? ` ± ${cell.error}` : "")),
  element("p", { class: "note" }, `${table.title}${place}`),
  ...cellNotes(cell).map((note) => element("p", { class: "note" }, note)), otherScores(table, row, pair)];
  runs.forEach((run, i) => nodes.push(
    element("h3", {}, runs.length === 1 ? "The run" : `Run ${i + 1} of ${runs.length}`), runFacts(run),
    element("pre", {}, run.commands.join("\n"))));
  const record = { pair, method: row.method, details: row.details, score: table.score, ...cell, runs,
    source: sourceOf(runs[0]) };
  nodes.push(element("div", { class: "downloads" }, element("button", { type: "button",
    onclick: () => saveText(`${runs[0].run}.json`, JSON.stringify(record, null, 1), "application/json") },
  "Save this record as JSON")));
  byId("origin-body").replaceChildren(...nodes);
  hideTooltip();
  byId("origin").showModal();
  byId("origin").scrollTop = 0;
}

byId("origin-close").addEventListener("click", () => byId("origin").close());
byId("origin").addEventListener("click", (event) => {  // outside of its content
  if (event.target === byId("origin")) byId("origin").close();
});
