// ---- Filters, kept in the address -------------------------------------------------------------

// Rows a side that solvers were trained on, 0 for endless draws: no table has two of them.
const numbersOfRows = unique(data.tables.map((table) => table.samples)).sort((a, b) => a - b);

// #SECTION?family=..&dim=..&solver=..&rows=..&theme=..: a name may come several times, none means all.
const nothingMatches = "Nothing matches the filters.";
const filters = [
  { name: "family", title: "family", label: (family) => family.replace("twosided", "two-sided"),
    values: unique(data.runs.map((run) => run.family)) },
  { name: "dim", title: "dimension", label: (dim) => `D = ${dim}`,
    values: unique(data.runs.map((run) => run.dim)).sort((a, b) => a - b).map(String) },
  { name: "solver", title: "solver",
    values: unique(data.runs.filter((run) => run.solver !== "oracle").map((run) => run.method)) },
  { name: "rows", title: "training rows", label: rowsName, values: numbersOfRows.map(String) },
].map((filter) => ({ ...filter, chosen: new Set() }));
const pairFacts = new Map(data.runs.map((run) => [run.pair, run]));
const oracleNames = new Set(data.runs.filter((run) => run.solver === "oracle").map((run) => run.method));

const passes = (filter, value) => filter.chosen.size === 0 || filter.chosen.has(String(value));

function isShownPair(pair) {
  const facts = pairFacts.get(pair);
  return facts === undefined || (passes(filters[0], facts.family) && passes(filters[1], facts.dim));
}

// The Oracle stays beside any solver: it is the ceiling.
const isShownMethod = (method) => passes(filters[2], method) || oracleNames.has(method);
const isShownNumber = (samples) => passes(filters[3], samples);
const isShown = (row) => isShownPair(row.pair) && isShownMethod(row.method) &&
  (row.of_every_number || isShownNumber(row.samples));

const currentSection = () => location.hash.slice(1).split("?")[0];

function address(section) {
  const query = new URLSearchParams();
  for (const filter of filters) {
    for (const value of filter.chosen) query.append(filter.name, value);
  }
  if (theme !== null) query.set("theme", theme);
  return `#${section}${query.size > 0 ? `?${query}` : ""}`;
}

function readAddress() {
  const query = new URLSearchParams(location.hash.split("?").slice(1).join("?"));
  for (const filter of filters) {
    filter.chosen = new Set(query.getAll(filter.name).filter((value) => filter.values.includes(value)));
  }
  theme = ["light", "dark"].includes(query.get("theme")) ? query.get("theme") : null;
}

function showFilters() {
  const changed = () => {
    history.replaceState(null, "", address(currentSection()));
    render();
  };
  const groups = filters.filter((filter) => filter.values.length > 1).map((filter) =>
    element("div", { class: "choices", role: "group", "aria-label": filter.title },
      element("span", { class: "group" }, filter.title),
      ...filter.values.map((value) => element("button", { type: "button",
        "aria-pressed": filter.chosen.has(value),
        onclick: () => {
          if (!filter.chosen.delete(value)) filter.chosen.add(value);
          changed();
        } }, filter.label ? filter.label(value) : value))));
  const clear = element("button", { type: "button", class: "clear", onclick: () => {
    filters.forEach((filter) => filter.chosen.clear());
    changed();
  } }, "Show all");
  const any = filters.some((filter) => filter.chosen.size > 0);
  byId("filters").replaceChildren(...groups, ...(any ? [clear] : []));
  byId("filters").hidden = groups.length === 0;
}

// ---- Downloads --------------------------------------------------------------------------------

function save(name, href) {
  element("a", { href, download: name.replace(/[^\w.-]+/g, "-") }).click();
}

function saveText(name, text, type) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  save(name, href);
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}
