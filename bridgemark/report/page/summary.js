// ---- Summary ----------------------------------------------------------------------------------

function summary() {
  const runs = data.runs.filter(isShown);
  const best = data.best.filter((entry) => isShownPair(entry.pair) && isShownNumber(entry.samples));
  const compared = data.tables.map(filtered).flatMap((table) => table.rows.flatMap((row) =>
    row.cells.filter((cell) => measured(cell) && cell.published !== null)
      .map((cell) => Math.abs(asNumber(cell.mean) - cell.published))));
  const total = runs.reduce((sum, run) => sum + run.train_seconds + run.evaluate_seconds, 0);
  const body = [...rankings(), ...(data.standings.length > 0 ? [rankingNote()] : [])];
  if (best.length > 0) {
    const folded = () => element("details", {}, element("summary", {},
      `All ${count(best.length, numbersOfRows.length > 1 ? "cell" : "pair")}`), bestTable(best));
    body.push(element("h3", {}, "Best on each pair"),
      ...(best.length > 12 ? [bestGrid(best), folded()] : [bestTable(best)]),
      element("details", { class: "note" }, element("summary", {}, "What decides on a pair"), element("p", {}, "The joint KL, " +
        "as soon as two methods have it; else the conditional trend of their draws. Methods that a paired comparison over the " +
        "test inputs does not separate from the best are all named. Where a method without the deciding score is best by its " +
        "draws, and none of the named ones is, it is named beside them.")));
  }
  body.push(element("div", { class: "cards" },
    card(runs.length, "runs"), card(unique(runs.map((run) => run.pair)).length, "pairs"),
    card(unique(runs.map(methodName)).length, "methods"), card(duration(total), "training and scoring, added up"),
    ...(compared.length === 0 ? [] : [card(compared.length, "cells with a published value"),
      card(compared.filter((difference) => difference > 0.1).length, "of them differ by over 0.1")])));
  const machines = unique(runs.map((run) => `Bridgemark ${run.version}, ${run.device}, ${run.machine}`));
  body.push(element("p", { class: "note" }, `${machines.join("; ")}. The Oracle is the truth scored as if it were a solver: ` +
    "the ceiling of every score."));
  byId("summary-body").replaceChildren(...body);
}

const shortName = (row) => [row.method, row.details.replace(",", "")].filter(Boolean).join(" ");
const namesOfBest = (best) => best.methods.map(shortName);

// Of the pairs of a family, direction and dimension: who is best, or tied with it, on how many.
function bestGrid(pairs) {
  const cells = new Map();  // row -> dimension -> its pairs
  for (const best of pairs) {
    const { family, reverse, dim } = pairFacts.get(best.pair);
    const name = filters[0].label(family) + (reverse ? ", reversed" : "") +
      (best.samples > 0 ? `, ${rowsName(best.samples)}` : "");
    if (!cells.has(name)) cells.set(name, new Map());
    cells.get(name).set(dim, [...(cells.get(name).get(dim) || []), best]);
  }
  const dims = unique([...cells.values()].flatMap((row) => [...row.keys()])).sort((a, b) => a - b);
  const counted = (here) => {
    const counts = new Map();
    here.flatMap(namesOfBest).forEach((name) => counts.set(name, (counts.get(name) || 0) + 1));
    return [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => element("div", {}, name,
      element("span", { class: "tie" }, count === here.length ? "all" : `${count} of ${here.length}`)));
  };
  const head = element("tr", {}, ...["family", ...dims.map((dim) => `D = ${dim}`)]
    .map((name) => element("th", { scope: "col" }, name)));
  const rows = [...cells].map(([name, row]) => element("tr", {}, element("th", { scope: "row" }, name),
    ...dims.map((dim) => element("td", { class: "counts" }, ...counted(row.get(dim) || [])))));
  return scroller(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), "Best on each pair");
}

function bestTable(pairs) {
  const rows = pairs.map((best) => {
    const names = namesOfBest(best);
    const tie = names.length > 1 ? [element("span", { class: "tie" }, "tie")] : [];
    return element("tr", {}, element("th", { scope: "row" }, best.pair),
      element("td", {}, names.join(", "), ...tie, ...best.ahead_by_draws.slice(0, 1).map((row) =>
        element("span", { class: "details" }, `by draws ${shortName(row)} is ahead`))),
      element("td", {}, best.methods[0].text),
      element("td", {}, best.oracle === null ? "" : best.oracle), element("td", {}, best.score),
      element("td", {}, `${best.compared} of ${best.measured}`));
  });
  const head = element("tr", {}, ...["pair", "best", "value", "Oracle", "decided by", "methods with it"]
    .map((name) => element("th", { scope: "col" }, name)));
  return scroller(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), "Best on each pair");
}
