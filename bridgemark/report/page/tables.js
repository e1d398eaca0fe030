// ---- Tables that sort -------------------------------------------------------------------------

// The columns that groups of them begin with.
const groupStarts = (groups) => new Set(groups.map((_, i) =>
  1 + groups.slice(0, i).reduce((sum, group) => sum + group.span, 0)));

// columns: [{name, key: row -> number, text or null}], rows: [{node, source}]; groups: [{title, span}]
// of the columns after the first, for a line above their names; last: rows that stay at the end.
function sortableTable(columns, rows, { groups = [], last = [] } = {}) {
  const starts = groupStarts(groups);
  const body = element("tbody", {}, ...rows.map((row) => row.node));
  const heads = columns.map((column, i) => element("th", { scope: "col", "aria-sort": "none",
    class: starts.has(i) ? "starts" : "" }, element("button", { type: "button", onclick: () => sort(i) }, column.name)));
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
  const above = groups.length === 0 ? [] : [element("tr", {}, element("td", {}), ...groups.map((group) =>
    element("th", { scope: "colgroup", class: "group", colspan: group.span }, group.title)))];
  const table = element("table", {}, element("thead", {}, ...above, element("tr", {}, ...heads)), body,
    element("tfoot", {}, ...last));
  rove(table);
  return scroller(table);
}

// Scrolls where it is wider than the page, also by keys.
const scroller = (table, name = "Table") => element("div", { class: "scroll", role: "group", tabindex: "0",
  "aria-label": name }, table);

// Colours of KLs tell decades apart: below `least`, ten times that, and so on.
const decadesShown = 6;
const decadeClass = (value, least) => `decade${Math.max(0, Math.min(decadesShown - 1,
  Math.floor(Math.log10(Math.max(value, least / 10) / least) + 1e-9) + 1))}`;
const leastKl = 1e-3;  // nats, of the tables' joint and trajectory KLs
const bandClass = (table, cell) => (table.lower_is_better ? decadeClass(asNumber(cell.mean), leastKl) : cell.band);

function methodHead(row) {
  return element("th", { scope: "row" }, row.method,
    ...(row.details ? [element("span", { class: "details" }, row.details)] : []));
}

// What there is to say of a measured cell beside its value and its runs.
function cellNotes(cell) {
  const notes = [];
  if (cell.spreads) notes.push(`spread over ${cell.spreads}`);
  if (cell.smallest_gap) notes.push(`told from the best, or the best from the Oracle, by a gap over ${cell.smallest_gap}`);
  if (cell.undecided === "bound") notes.push("?: an upper bound, which leaves open whether it is worse than the best");
  if (cell.undecided === "noise") notes.push("?: not told from the best, but too noisy to be called as good");
  if (cell.below_zero) notes.push("an estimate below 0, which no KL is: it is not told from 0");
  if (cell.published !== null) notes.push(`published: ${cell.published_text}`);
  return notes;
}

function cellTip(table, row, column) {
  const cell = row.cells[column];
  const title = `${row.method} ${row.details}`.trim() + ` on ${table.pairs[column]}`;
  if (!measured(cell)) return `${title}\n${table.title}: cannot be given, ${cell.missing}`;
  const lines = [title,
    `${table.title}: ${cell.mean === "inf" ? "infinite" : cell.mean.toPrecision(6)}` +
      (cell.error ? ` ± ${cell.error}` : ""), ...cellNotes(cell)];
  lines.push(cell.runs.length === 1 ? `run ${cell.runs[0]}`
                                    : `${cell.runs.length} runs: ${cell.runs.join(", ")}`);
  return lines.join("\n");
}

// Where it is clicked, or Enter is pressed on it.
function whenOpened(node, open) {
  node.classList.add("opens");
  node.addEventListener("click", open);
  node.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
}

// look: columnName(pair), groups of columns as sortableTable takes them.
function scoreTable(table, look = {}) {
  const columns = [{ name: "method", key: (row) => `${row.method} ${row.details}` },
    ...table.pairs.map((pair, i) => ({ name: look.columnName ? look.columnName(pair) : pair,
      key: (row) => (measured(row.cells[i]) ? asNumber(row.cells[i].mean) : null) }))];
  const starts = groupStarts(look.groups || []);
  const classOf = (name, column) => (starts.has(column + 1) ? `${name} starts` : name);
  const rows = table.rows.map((row) => ({ source: row,
    node: element("tr", row.oracle ? { class: "oracle" } : {},
      methodHead(row),
      ...row.cells.map((cell, column) => {
        if (cell === null) return element("td", { class: classOf("", column) });
        if (!measured(cell)) {
          const dash = element("td", { class: classOf("missing", column) }, "–");
          attachTooltip(dash, () => cellTip(table, row, column));
          return dash;
        }
        const node = element("td", { class: classOf(`cell ${bandClass(table, cell)} place${cell.place}`, column) },
          element("span", { class: "value" }, cell.text));
        if (cell.below_zero) node.append(element("span", { class: "zero" }, " ≈ 0"));
        if (cell.group) node.append(element("span", { class: "tie" }, cell.group));
        if (cell.error) node.append(element("span", { class: "error" }, ` ±${cell.error}`));
        if (cell.spreads) node.append(element("span", { class: "error" }, ` (${cell.spreads})`));
        if (cell.published !== null) {
          node.append(element("span", { class: "published" },
            `paper ${cell.published_text}`));
        }
        attachTooltip(node, () => cellTip(table, row, column));
        whenOpened(node, () => showOrigin(table, row, column));
        return node;
      })) }));
  const last = table.smallest_gaps.some((gap) => gap !== "") ? [element("tr", { class: "gaps" },
    element("th", { scope: "row" }, "smallest gap"),
    ...table.smallest_gaps.map((gap, column) => element("td", { class: classOf("", column) }, gap)))] : [];
  return sortableTable(columns, rows, { groups: look.groups, last });
}

const decadeBands = (least) => Array.from({ length: decadesShown }, (_, i) => [`decade${i}`,
  i + 1 < decadesShown ? `< ${Number((least * 10 ** i).toPrecision(1))}` : `≥ ${Number((least * 10 ** (i - 1)).toPrecision(1))}`]);

// Which values are better; empty for a score that ranks nobody, a metric of the user's own.
const betterText = (table) => (!table.ranked ? "" : table.lower_is_better ? " Lower is better." : " Higher is better.");

function legend(table) {
  if (!table.ranked) return element("div", { class: "legend" });
  const [a, b, c] = table.bounds;
  const bands = table.lower_is_better ? decadeBands(leastKl)
    : [["bad", `< ${a}`], ["mid-bad", `< ${b}`], ["mid-good", `< ${c}`], ["good", `≥ ${c}`]];
  return element("div", { class: "legend" }, ...bands.map(([band, text]) => element("span", {},
    element("i", { style: `background: var(--${band})` }), text)),
  element("span", {}, table.marks_best ? "bold: best, underlined: second, a, b, ...: groups of ties"
    : "no mark: a coupling that ignores x0 can look best here; a, b, ...: groups of ties"),
  element("span", { class: "press" }, "a click or Enter opens a cell"));
}

const howToRead = (table) => element("details", { class: "note" }, element("summary", {}, table.ranked ? "What the letters and ± mean" : "What ± means"),
  element("p", {}, `${table.ties} ${data.spread}`.trim()));

// The table without the rows and columns that the filters leave out.
function filtered(table) {
  const columns = table.pairs.map((_, i) => i).filter((i) => isShownPair(table.pairs[i]));
  return { ...table, pairs: columns.map((i) => table.pairs[i]),
    smallest_gaps: columns.map((i) => table.smallest_gaps[i]),
    rows: table.rows.filter((row) => isShownMethod(row.method)).map((row) =>
      ({ ...row, cells: columns.map((i) => row.cells[i]) }))
      .filter((row) => table.pairs.length === columns.length || row.cells.some((cell) => cell !== null)) };
}

function tableDownloads(table) {
  const name = table.score + (table.reversed_pairs ? "-reversed" : "") +
    (table.samples > 0 ? `-n${table.samples}` : "");
  const button = (text, file, content, type) => element("button", { type: "button",
    onclick: () => saveText(file, content, type) }, text);
  return element("div", { class: "downloads" }, element("span", {}, "Save this table:"),
    button("CSV", `${name}.csv`, table.csv, "text/csv"),
    button("TeX", `${name}.tex`, table.tex, "text/x-tex"));
}

// What a page lists its tables by: what decides first, then by what a score sees.
const lineOf = (table) => (table.reversed_pairs ? "Reversed pairs" : table.deciding_place > 0 ? "Headline" : table.group);
const tableLines = ["Headline", ...unique(data.tables.map((table) => table.group)), "Reversed pairs"];
const whatDecidesFirst = (a, b) => (a.deciding_place || Infinity) - (b.deciding_place || Infinity) || 0;
const inLines = (tables, of, lines) => lines.flatMap((line) => tables.filter((table) => of(table) === line)
  .sort(whatDecidesFirst));

// A line of buttons for each of `lines`, which then says what the buttons of it have in common.
function groupButtons(container, shown, of, lines) {
  const buttons = [...container.children];
  if (buttons.length === 0) return;
  container.replaceChildren(...lines.map((line) => element("div", { class: "choices", role: "group", "aria-label": line },
    element("span", { class: "group" }, line), ...buttons.filter((_, i) => of(shown[i]) === line)))
    .filter((line) => line.children.length > 1));
  buttons.forEach((button, i) => { button.textContent = shown[i].short_title; });
}

function tables() {
  const shown = inLines(data.tables, lineOf, tableLines).filter((table) => isShownNumber(table.samples)).map(filtered)
    .filter((table) => table.pairs.length > 0 && (filters[2].chosen.size === 0 || table.rows.some((row) => !row.oracle)));
  if (shown.length === 0) {
    byId("table-body").replaceChildren(element("p", { class: "note" }, nothingMatches));
  }
  choices(byId("table-choices"), shown, (table) => table.title, (table) => {
    byId("table-body").replaceChildren(
      element("p", {}, table.note + betterText(table) +
        (table.in_paper || !table.ranked ? "" : " The paper does not have this one.")),
      legend(table), scoreTable(table),
      howToRead(table), tableDownloads(table));
  });
  groupButtons(byId("table-choices"), shown, lineOf, tableLines);
}
