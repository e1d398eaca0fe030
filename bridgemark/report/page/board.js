// ---- What the board knows ---------------------------------------------------------------------

const families = {
  spread: ["Spread", "Means spread over all categories: the pairs that explain the paper's tables."],
  sphere: ["Sphere", "Means on a sphere, as the paper's text describes them."],
  chain: ["Chain", "A hidden chain along the coordinates, which no CP potential fits."],
  twosided: ["Two-sided", "Closed forms in both directions."],
  distilled: ["Like data", "Bridges fitted to data and declared the truth."],
};
const familyOrder = Object.keys(families).filter((name) => filters[0].values.includes(name));
const directions = [["p0 → p1", false], ["p1 → p0", true]];

// A submission's revision is that of its own source.
function sourceOf(run) {
  const source = data.sources[run.source];
  const revision = source.submission !== null ? source.revision
    : [source.revision, `Bridgemark ${run.version}`].filter(Boolean).join(", ");
  return { ...source, revision };
}

// "gaussian 0.02" of d16-gaussian-0.02-chain-reverse: what is left beside family, dimension, direction.
const referenceOf = (pair) => pair.replace(/^d\d+-/, "").replace(/-reverse$/, "")
  .replace(/-(spread|chain|twosided)$/, "").replace("-", " ");

function showFacts() {
  const runs = data.runs.filter(isShown);
  const submissions = data.sources.filter((source) => source.submission !== null).length;
  byId("facts").replaceChildren(
    card(unique(runs.filter((run) => run.solver !== "oracle").map(methodName)).length, "solvers"),
    card(unique(runs.map((run) => run.family)).length, "families"),
    card(unique(runs.map((run) => run.pair)).length, "pairs"),
    card(runs.length, "runs"),
    card(submissions, submissions === 1 ? "submission" : "submissions"),
    card(data.version, "Bridgemark"));
}

// ---- The ranking, and the invitation beside it ------------------------------------------------

function headline() {
  showFacts();
  byId("headline-body").replaceChildren(...rankings(), rankingNote());
}

// ---- Families ---------------------------------------------------------------------------------

// On how many pairs of a group a row is best, or tied with the best, by the score that decides there.
function bestOn(row, pairs, samples) {
  const best = data.best.filter((entry) => entry.samples === samples && pairs.includes(entry.pair));
  return best.filter((entry) => entry.methods.some((method) => fullName(method) === fullName(row))).length;
}

function familyCell(standing, row, i, leads) {
  const group = standing.groups[i], reach = row.groups[i];
  const starts = i === 0 || standing.groups[i - 1].family !== group.family ? " starts" : "";
  if (reach === null) return element("td", { class: starts.trim() });
  const stated = reach.distance !== null && !reach.upper_bound;
  const node = element("td", { class: `${stated ? `cell ${distanceClass(reach.distance)}` : "draws"}${leads ? " place1" : ""}${starts}` },
    element("span", { class: "value" }, stated ? reach.distance.text : reach.share === null ? "–" : percent(reach.share.mean)));
  if (reach.pairs < group.pairs.length) node.append(element("span", { class: "tie" }, `${reach.pairs} of ${group.pairs.length}`));
  attachTooltip(node, () => [`${fullName(row)}, ${count(reach.pairs, "pair")} of ${families[group.family]?.[0] ?? group.family}, D = ${group.dim}`,
    ...(reach.distance === null ? [] : [`${reach.upper_bound ? "at most " : ""}${withError(reach.distance)} nats a coordinate`]),
    ...(reach.share === null ? [] : [`${shareText(reach.share)} of the way, by draws`]),
    `best, or tied with the best, on ${bestOn(row, group.pairs, standing.samples)}`].join("\n"));
  return node;
}

function familiesTable(standing, shown, rows) {
  const names = unique(shown.map((i) => standing.groups[i].family));
  const head = element("thead", {},
    element("tr", {}, element("th", { scope: "col", rowspan: 2 }, "solver"), ...names.map((family) =>
      element("th", { scope: "colgroup", class: "group", colspan: shown.filter((i) => standing.groups[i].family === family).length },
        families[family]?.[0] ?? family))),
    element("tr", {}, ...shown.map((i, place) => element("th", { scope: "col",
      class: place === 0 || standing.groups[shown[place - 1]].family !== standing.groups[i].family ? "starts" : "" },
    `D = ${standing.groups[i].dim}`))));
  const least = new Map(shown.map((i) => [i, Math.min(...rows.filter((row) => row.groups[i]?.distance && !row.groups[i].upper_bound &&
    row.groups[i].pairs === standing.groups[i].pairs.length).map((row) => asNumber(row.groups[i].distance.mean)))]));
  const body = rows.map((row) => element("tr", {}, methodHead(row), ...shown.map((i) =>
    familyCell(standing, row, i, row.groups[i]?.distance && asNumber(row.groups[i].distance.mean) === least.get(i) &&
      row.groups[i].pairs === standing.groups[i].pairs.length))));
  const table = element("table", {}, head, element("tbody", {}, ...body));
  rove(table);
  const node = scroller(table, "Distance by family and dimension");
  node.classList.add("standing");
  return node;
}

function standing() {
  const nodes = [element("p", {}, "Nats a coordinate, mean over the pairs of a family and dimension; bold: the least. Of a " +
    "solver of draws alone its share of the way, in per cent."), element("div", { class: "legend" },
    ...decadeBands(1e-4).map(([band, text]) => element("span", {}, element("i", { style: `background: var(--${band})` }), text)))];
  for (const one of data.standings.filter((entry) => isShownNumber(entry.samples))) {
    for (const [title, reverse] of directions) {
      const shown = one.groups.map((_, i) => i).filter((i) => one.groups[i].reverse === reverse &&
        passes(filters[0], one.groups[i].family) && passes(filters[1], one.groups[i].dim));
      const rows = one.rows.filter((row) => passes(filters[2], row.method) && shown.some((i) => row.groups[i] !== null));
      const name = one.samples === 0 ? title : `${title}, ${rowsName(one.samples)}`;
      if (rows.length > 0) nodes.push(element("h3", {}, name), ...withVariants(rows, (some) => familiesTable(one, shown, some)));
    }
  }
  if (nodes.length === 2) nodes.push(element("p", { class: "note" }, nothingMatches));
  byId("standing-body").replaceChildren(...nodes);
}

// ---- Scores, a table for each family ----------------------------------------------------------

function familyTable(table, family) {
  const columns = table.pairs.map((_, i) => i).filter((i) => pairFacts.get(table.pairs[i]).family === family);
  return { ...table, pairs: columns.map((i) => table.pairs[i]),
    smallest_gaps: columns.map((i) => table.smallest_gaps[i]),
    rows: table.rows.map((row) => ({ ...row, cells: columns.map((i) => row.cells[i]) }))
      .filter((row) => row.cells.some((cell) => cell !== null)) };
}

function dimensionGroups(pairs) {
  const dims = pairs.map((pair) => pairFacts.get(pair).dim);
  return unique(dims).map((dim) => ({ title: `D = ${dim}`, span: dims.filter((other) => other === dim).length }));
}

function scores() {
  const shown = data.tables.filter((table) => isShownNumber(table.samples)).map(filtered)
    .filter((table) => table.pairs.length > 0 && table.rows.some((row) => !row.oracle && row.cells.some(measured)));
  const body = byId("scores-body");
  if (shown.length === 0) body.replaceChildren(element("p", { class: "note" }, nothingMatches));
  choices(byId("scores-choices"), shown, (table) => table.title, (table) => {
    const nodes = [element("p", {}, table.note + betterText(table)),
      legend(table)];
    for (const family of familyOrder) {
      const own = familyTable(table, family);
      if (own.pairs.length === 0 || own.rows.length === 0) continue;
      const node = scoreTable(own, { columnName: referenceOf, groups: dimensionGroups(own.pairs) });
      node.classList.add("scores");
      nodes.push(element("h3", {}, families[family][0]), element("p", { class: "note" }, families[family][1]), node);
    }
    nodes.push(howToRead(table));
    body.replaceChildren(...nodes);
  });
  groupButtons(byId("scores-choices"), shown, (table) => directions[Number(table.reversed_pairs)][0], directions.map(([title]) => title));
}

// ---- Sources, and how to read and to submit ---------------------------------------------------

function submissionCard(source) {
  const solver = source.submission;
  const link = /^https:/.test(solver.url) ? element("a", { href: solver.url, rel: "noopener nofollow" }, solver.url) : "";
  return element("div", { class: "submission" }, element("h3", {}, solver.name), element("p", {}, solver.description),
    factList([["authors", solver.authors.join(", ")], ["where", link], ["revision", source.revision],
      ["object", solver.object], ["updates", solver.updates.toLocaleString("en")], ["hardware", solver.hardware],
      ["command", solver.command], ["date", source.date], ["raw records", source.record]]));
}

function sources() {
  const runsOf = (i) => data.runs.filter((run) => run.source === i);
  const machinesOf = (i) => unique(runsOf(i).map((run) => run.machine)).join("; ");
  const own = data.sources.map((source, i) => ({ source, i })).filter((entry) => entry.source.submission === null);
  const columns = [{ name: "folder", key: (entry) => entry.source.name },
    { name: "revision", key: (entry) => entry.source.revision }, { name: "date", key: (entry) => entry.source.date },
    { name: "runs", key: (entry) => runsOf(entry.i).length }, { name: "pairs",
      key: (entry) => unique(runsOf(entry.i).map((run) => run.pair)).length },
    { name: "trained and scored on", key: (entry) => machinesOf(entry.i) }];
  const rows = own.map((entry) => ({ source: entry, node: element("tr", {},
    element("th", { scope: "row" }, entry.source.name),
    ...columns.slice(1).map((column) => element("td", {}, String(column.key(entry))))) }));
  const submitted = data.sources.filter((source) => source.submission !== null).map(submissionCard);
  byId("sources-body").replaceChildren(element("p", {}, "Every cell is made from raw records, and a board is made from " +
    "them again by one command. Results of Bridgemark's own runs:"), sortableTable(columns, rows),
  element("h3", {}, "Submissions"), ...(submitted.length > 0 ? submitted
    : [element("p", { class: "note" }, "None yet.")]));
}

function reading() {
  const file = (name) => element("a", { href: name }, name);
  byId("reading-body").replaceChildren(
    element("p", {}, "The Oracle is the truth scored as if it were a solver: the ceiling of every score. Bold is the " +
      "best, underlined the second; a letter is a group of ties. A cell that was not measured is blank, a dash is a score " +
      "that the solver cannot be given, and its tooltip says why."),
    element("p", {}, "A table is of one number of training rows: n = 1000 means 1000 unpaired rows of either end, the " +
      "same for everyone, and a cell is a mean over training sets; without n, draws are endless. The Oracle and the " +
      "Reference do not learn from rows and are the same at every n."),
    element("p", {}, "A submission's answers are scored again when the board is built, and what stands here is what was " +
      "found. Its joint KL and exact conditional shape rest on log-probabilities that its authors state; all other " +
      "scores rest on its draws."),
    element("p", {}, "The same numbers for programs: ", file("board.csv"), ", ", file("board.json"), "."));
}

// What the pairs that look like data look like; nothing where no result is on them.
function pictures() {
  byId("pictures").hidden = data.pictures.length === 0;
  byId("pictures-body").replaceChildren(...data.pictures.map((figure) => {
    const [, ...shown] = answerPictures(figure);  // less the title: each pair has its own
    return element("div", {}, element("h3", {}, figure.pair), ...shown);
  }));
}

const sections = { headline, standing, scores };
const fixedSections = { pictures, sources, reading };
const stillDrawing = () => [];
