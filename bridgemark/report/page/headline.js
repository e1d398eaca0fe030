// ---- The one ranking --------------------------------------------------------------------------

// What the first screen says: who is first, by how much, how sure; then a row for each solver.

const percent = (share) => `${(100 * share).toFixed(1)} %`.replace(/^-(0\.0 )?/, (_, zero) => zero || "−");
const withError = (value) => value.text + (value.error ? ` ± ${value.error}` : "");
const shareText = (share) => percent(share.mean) +
  (share.half_width === null ? "" : ` ± ${(100 * share.half_width).toFixed(1)}`);
const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;
const fullName = (row) => `${row.method} ${row.details}`.trim();

// "A", "A and B", "A, B and C".
const listed = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

function reachOf(first) {
  if (!first.by_draws) return [element("strong", {}, `${first.all.distance.text} nats a coordinate`), " from the truth"];
  return [first.all.share === null ? "by draws" : `${percent(first.all.share.mean)} of the way to the truth, by draws`];
}

function firstPlace(standing) {
  const [first, second] = standing.rows;
  const name = element("strong", {}, fullName(first)), all = count(standing.pairs, "pair");
  if (!first.whole) {
    return [element("p", { class: "answer" }, `No solver was measured on all ${all}, so none is first. `, name,
      ` has the most of them, ${first.all.pairs}: `, ...reachOf(first), ".")];
  }
  // Whoever has some of the pairs alone and is nearer there is no first, but says what a first place is worth.
  const nearer = standing.rows.filter((row) => row.nearer_than_first);
  const nodes = [element("p", { class: "answer" }, name, nearer.length === 0 ? ` is first on ${all}: `
    : ` is first of the solvers with all ${all}: `, ...reachOf(first), ".")];
  if (nearer.length > 0) {
    nodes.push(element("p", { class: "answer" }, "Nearer than it on those that they have: ",
      listed(nearer.map((row) => `${fullName(row)} (${row.all.pairs} of ${standing.pairs})`)), "."));
  }
  const { lead } = standing;
  if (lead === null) return nodes;
  const unit = lead.by_draws ? "of the way, by draws," : "nats a coordinate";
  const size = lead.by_draws ? shareText(lead.difference) : withError(lead.difference);
  const sure = lead.separated ? "" : standing.pairs === 1 ? "" : ", which the pairs do not tell from 0";
  nodes.push(element("p", {}, `It is ${size} ${unit} nearer than ${fullName(second)}, the second${sure}, and nearer on ` +
    `${lead.nearer} of ${count(lead.pairs, "pair")}.`));
  if (standing.pairs > 2) nodes.push(element("p", { class: "stability" }, stability(standing)));
  return nodes;
}

// What becomes of the first place without any one pair.
function stability(standing) {
  const { dropped, lead } = standing;
  if (dropped.length > 0) {
    const some = dropped.slice(0, 3).map((one) => `without ${one.pair} it is ${one.first}`).join("; ");
    return `One pair can change that: ${some}${dropped.length > 3 ? `; and ${dropped.length - 3} more` : ""}.`;
  }
  return `No single pair decides that: the first place stays without any one of the ${standing.pairs}. ` +
    `Without ${lead.weakest_pair}, the pair it owes most to, the lead is ${lead.by_draws ? percent(Number(lead.least)) : lead.least}.`;
}

// By decades of nats a coordinate.
const distanceClass = (distance) => decadeClass(asNumber(distance.mean), 1e-4);

function rankingRow(standing, row, i, ranked) {
  const { all } = row;
  const place = row.whole ? String(i + 1) : "";
  const distance = all.distance === null ? element("td", { class: "missing" }, "–")
    : element("td", { class: `cell ${distanceClass(all.distance)}` },
      element("span", { class: "value" }, (all.upper_bound ? "≤ " : "") + all.distance.text),
      element("span", { class: "error" }, all.distance.error ? ` ± ${all.distance.error}` : ""));
  const how = row.whole ? (row.by_draws ? "draws" : "joint KL")
    : `${row.by_draws ? "draws" : "joint KL"}: ${row.ahead} of ${ranked} are ahead there`;
  return element("tr", {}, element("td", { class: "place" }, place), methodHead(row), distance,
    element("td", {}, all.share === null ? "–" : shareText(all.share)),
    element("td", {}, all.pairs === standing.pairs ? "all" : `${all.pairs} of ${standing.pairs}`),
    element("td", {}, how));
}

function rankingTable(standing, rows) {
  const ranked = standing.rows.filter((row) => row.whole && !row.by_draws).length;
  const head = element("thead", {}, element("tr", {}, ...["place", "solver", "nats a coordinate", "share of the way",
    "pairs", "placed by"].map((name) => element("th", { scope: "col" }, name))));
  const node = scroller(element("table", {}, head, element("tbody", {},
    ...rows.map((row) => rankingRow(standing, row, standing.rows.indexOf(row), ranked)))), "Ranking");
  node.classList.add("ranking");
  return node;
}

const rankingNote = () => element("details", { class: "note" }, element("summary", {}, "How the places are made"),
  element("p", {}, "Nats a coordinate: the joint KL from the truth, by D, mean over the pairs. Share of the way: what the " +
    "conditional trend of a solver's draws gains over Independent's, by what the Oracle's gains, summed over the pairs. ± is " +
    "a 95 % interval over the pairs (Student's t)."),
  element("p", {}, "The joint KL decides. A solver that was measured on all pairs, but has draws alone, stands behind each " +
    "solver that it is not shown to beat by its share of the way. A solver of some pairs has no number: the last column " +
    "counts who is ahead of it on the same pairs. Two solvers with a joint KL are compared by these two alone, so no third " +
    "one can turn their order."));

// The first row of each solver; its other losses and steps behind a click.
function withVariants(rows, make) {
  const seen = new Set();
  const main = rows.filter((row) => !seen.has(row.method) && seen.add(row.method));
  return main.length === rows.length ? [make(rows)] : [make(main), element("details", {},
    element("summary", {}, `All ${rows.length} rows, each loss and number of steps`), make(rows))];
}

const ranking = (standing) => [...firstPlace(standing),
  ...withVariants(standing.rows, (rows) => rankingTable(standing, rows))];

function rankings() {
  return data.standings.filter((standing) => isShownNumber(standing.samples)).flatMap((standing) =>
    [...(data.standings.length > 1 ? [element("h3", {}, `Trained on ${standing.samples === 0 ? "endless draws"
      : `${standing.samples} rows a side`}`)] : []), ...ranking(standing)]);
}
