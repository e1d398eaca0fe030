// ---- Summary ----------------------------------------------------------------------------------

function summary() {
  const runs = data.runs;
  const compared = data.tables.flatMap((table) => table.rows.flatMap((row) =>
    row.cells.filter((cell) => measured(cell) && cell.published !== null)
      .map((cell) => Math.abs(asNumber(cell.mean) - cell.published))));
  const card = (value, label) => element("div", { class: "card" }, element("b", {}, String(value)),
    element("span", {}, label));
  const total = runs.reduce((sum, run) => sum + run.train_seconds + run.evaluate_seconds, 0);
  const body = [element("div", { class: "cards" },
    card(runs.length, "runs"), card(unique(runs.map((run) => run.pair)).length, "pairs"),
    card(methods.length, "methods"), card(duration(total), "training and scoring, added up"),
    card(compared.length, "cells with a published value"),
    card(compared.filter((difference) => difference > 0.1).length, "of them differ by over 0.1"))];
  const main = data.tables[0];
  if (main) body.push(element("h3", {}, `Best on each pair: ${main.title.toLowerCase()}`),
                      bestTable(main));
  const machines = unique(runs.map((run) => `Bridgemark ${run.version}, ${run.device}, ${run.machine}`));
  body.push(element("p", { class: "note" }, machines.join("; ")));
  body.push(element("p", { class: "note" },
    "The Oracle is the truth scored as if it were a solver: the ceiling of every score."));
  byId("summary-body").replaceChildren(...body);
}

function bestTable(table) {
  const oracle = table.rows.find((row) => row.oracle);
  const rows = table.pairs.map((pair, column) => {
    const best = table.rows.filter((row) => measured(row.cells[column]) &&
      row.cells[column].rank === 1);
    if (best.length === 0) return null;
    const sign = table.lower_is_better ? 1 : -1;
    best.sort((a, b) => sign * (a.cells[column].mean - b.cells[column].mean));
    const ceiling = oracle && measured(oracle.cells[column]) ? oracle.cells[column].text : "";
    const names = best.map((row) => [row.method, row.details].filter(Boolean).join(" "));
    return element("tr", {}, element("th", { scope: "row" }, pair),
      element("td", {}, names.join(", ")), element("td", {}, best[0].cells[column].text),
      element("td", {}, ceiling));
  }).filter(Boolean);
  const head = element("tr", {}, ...["pair", "best methods", "score", "Oracle"].map((name) =>
    element("th", { scope: "col" }, name)));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head),
    element("tbody", {}, ...rows)));
}

// ---- Tables that sort -------------------------------------------------------------------------

// columns: [{name, key: row -> number, text or null}], rows: [{node, source}].
function sortableTable(columns, rows) {
  const body = element("tbody", {}, ...rows.map((row) => row.node));
  const heads = columns.map((column, i) => element("th", { scope: "col", "aria-sort": "none" },
    element("button", { type: "button", onclick: () => sort(i) }, column.name)));
  function sort(i) {
    const up = heads[i].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.setAttribute("aria-sort", "none"));
    heads[i].setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = columns[i].key;
    const order = rows.map((row, place) => ({ row, place, value: key(row.source) }));
    order.sort((a, b) => {
      const missing = (a.value === null) - (b.value === null);  // always last
      if (missing !== 0 || a.value === null) return missing || a.place - b.place;
      const compared = typeof a.value === "string" ? a.value.localeCompare(b.value)
                                                   : a.value - b.value;
      return (up ? compared : -compared) || a.place - b.place;
    });
    body.replaceChildren(...order.map((entry) => entry.row.node));
  }
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...heads)), body));
}

function cellTip(table, row, column) {
  const cell = row.cells[column];
  const title = `${row.method} ${row.details}`.trim() + ` on ${table.pairs[column]}`;
  if (!measured(cell)) return `${title}\n${table.title}: cannot be given, ${cell.missing}`;
  const lines = [title,
    `${table.title}: ${cell.mean === "inf" ? "infinite" : cell.mean.toPrecision(6)}` +
      (cell.error ? ` ± ${cell.error}` : "")];
  if (cell.published !== null) lines.push(`published: ${cell.published_text}`);
  lines.push(cell.runs.length === 1 ? `run ${cell.runs[0]}`
                                    : `${cell.runs.length} runs: ${cell.runs.join(", ")}`);
  return lines.join("\n");
}

function scoreTable(table) {
  const columns = [{ name: "method", key: (row) => `${row.method} ${row.details}` },
    ...table.pairs.map((pair, i) => ({ name: pair,
      key: (row) => (measured(row.cells[i]) ? asNumber(row.cells[i].mean) : null) }))];
  const rows = table.rows.map((row) => ({ source: row,
    node: element("tr", row.oracle ? { class: "oracle" } : {},
      element("th", { scope: "row" }, row.method,
        ...(row.details ? [element("span", { class: "details" }, row.details)] : [])),
      ...row.cells.map((cell, column) => {
        if (cell === null) return element("td");
        if (!measured(cell)) {
          const dash = element("td", { class: "missing" }, "–");
          attachTooltip(dash, () => cellTip(table, row, column));
          return dash;
        }
        const node = element("td", { class: `cell ${cell.band} rank${cell.rank}` },
          element("span", { class: "value" }, cell.text));
        if (cell.error) node.append(element("span", { class: "error" }, ` ±${cell.error}`));
        if (cell.published !== null) {
          node.append(element("span", { class: "published" },
            `paper ${cell.published_text}`));
        }
        attachTooltip(node, () => cellTip(table, row, column));
        return node;
      })) }));
  return sortableTable(columns, rows);
}

function legend(table) {
  const [a, b, c] = table.bounds;
  const bands = table.lower_is_better
    ? [["good", `< ${a}`], ["mid-good", `< ${b}`], ["mid-bad", `< ${c}`], ["bad", `≥ ${c}`]]
    : [["bad", `< ${a}`], ["mid-bad", `< ${b}`], ["mid-good", `< ${c}`], ["good", `≥ ${c}`]];
  return element("div", { class: "legend" }, ...bands.map(([band, text]) => element("span", {},
    element("i", { style: `background: var(--${band})` }), text)),
  element("span", {}, "bold: best, underlined: second"));
}

function tables() {
  choices(byId("table-choices"), data.tables, (table) => table.title, (table) => {
    byId("table-body").replaceChildren(
      element("p", {}, `${table.note} ${table.lower_is_better ? "Lower" : "Higher"} is better.` +
        (table.in_paper ? "" : " The paper does not have this one.")),
      legend(table), scoreTable(table),
      element("p", { class: "note" }, `${data.ties} ${data.spread}`));
  });
}
