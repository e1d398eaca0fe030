// ---- Text in Markdown -------------------------------------------------------------------------

// As much of Markdown as the corrections page uses: headings, paragraphs, lists, tables, code.
function inline(text) {
  const parts = [];
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)/g;
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(last, match.index));
    if (match[1] !== undefined) parts.push(element("code", {}, match[1]));
    else if (match[2] !== undefined) parts.push(element("b", {}, match[2]));
    else if (/^https:/.test(match[4])) parts.push(element("a", { href: match[4] }, match[3]));
    else parts.push(match[3]);  // a page of the repository is not part of the report
    last = match.index + match[0].length;
  }
  parts.push(text.slice(last));
  return parts;
}

function markdown(text) {
  const nodes = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const block = (test) => {
      const taken = [];
      while (i < lines.length && test(lines[i])) taken.push(lines[i++]);
      return taken;
    };
    if (line.trim() === "" || line.startsWith("# ")) {
      ++i;
    } else if (line.startsWith("```")) {
      ++i;
      nodes.push(element("pre", {}, block((next) => !next.startsWith("```")).join("\n")));
      ++i;
    } else if (line.startsWith("#")) {
      nodes.push(element("h3", {}, ...inline(line.replace(/^#+ /, ""))));
      ++i;
    } else if (line.startsWith("|")) {
      const cells = (row) => row.split("|").slice(1, -1).map((cell) => cell.trim());
      const [head, , ...rows] = block((next) => next.startsWith("|"));
      nodes.push(element("div", { class: "scroll" }, element("table", {},
        element("thead", {}, element("tr", {}, ...cells(head).map((cell) =>
          element("th", {}, ...inline(cell))))),
        element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row).map((cell) =>
          element("td", {}, ...inline(cell)))))))));
    } else if (line.startsWith("- ")) {
      const items = [];
      for (const taken of block((next) => next.startsWith("- ") || next.startsWith("  "))) {
        if (taken.startsWith("- ")) items.push(taken.slice(2));
        else items[items.length - 1] += " " + taken.trim();
      }
      nodes.push(element("ul", {}, ...items.map((item) => element("li", {}, ...inline(item)))));
    } else {
      const plain = (next) => next.trim() !== "" && !/^(#|\||- |```)/.test(next);
      nodes.push(element("p", {}, ...inline(block(plain).join(" "))));
    }
  }
  return nodes;
}

// ---- Reproduce --------------------------------------------------------------------------------

// A comment of a shell ends with its line.
const oneLine = (text) => text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ");

function reproduce() {
  const nodes = [element("p", {}, `Made by bridgemark ${data.version}. The same file and seeds give ` +
    "the same scores on any number of threads; times depend on the machine.")];
  if (data.file) {
    nodes.push(element("h3", {}, "The experiment"),
      element("pre", {}, "bridgemark run experiment.toml -o DIR\nbridgemark report DIR -o report.html"),
      element("details", {}, element("summary", {}, "experiment.toml"),
        element("pre", {}, data.file)));
  }
  const columns = [{ name: "run", key: (run) => run.run }, { name: "trained", key: (run) => run.train_seconds },
    { name: "scored", key: (run) => run.evaluate_seconds },
    { name: "memory", key: (run) => run.peak_memory_bytes },
    { name: "threads", key: (run) => run.threads }];
  const rows = data.runs.map((run) => ({ source: run, node: element("tr", {},
    element("th", { scope: "row" }, run.run), element("td", {}, run.outside ? "–" : duration(run.train_seconds)),
    element("td", {}, duration(run.evaluate_seconds)),
    element("td", {}, `${Math.round(run.peak_memory_bytes / 1048576)} MiB`),
    element("td", {}, String(run.threads))) }));
  nodes.push(element("h3", {}, "The runs"), sortableTable(columns, rows));
  nodes.push(element("details", {}, element("summary", {}, "Commands of each run"),
    element("pre", {}, data.runs.map((run) => [`# ${oneLine(run.run)}`, ...run.commands].join("\n"))
      .join("\n\n"))));
  byId("reproduce-body").replaceChildren(...nodes);
}

// ---- Corrections ------------------------------------------------------------------------------

// A report that has all pairs of the paper shows them; any other keeps them behind a line to open.
function corrections() {
  const text = markdown(data.corrections);
  byId("corrections-body").replaceChildren(...(data.of_paper ? text : [element("details", {},
    element("summary", {}, "What the published numbers get wrong, and how it was found"), ...text)]));
}

// ---- The page ---------------------------------------------------------------------------------

const sections = { summary, table: tables, figure: figures, curve: curves, time: scoreAndTime, switching };

function showTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}

// What depends on the filters and on the colours.
function render() {
  delete document.body.dataset.ready;
  showTheme();
  showFilters();
  for (const [name, make] of Object.entries(sections)) guarded(byId(`${name}-body`), make);
  dropPlots();
  const now = plots;
  Promise.all(now.map((entry) => entry.drawn)).then(() => { document.body.dataset.ready = "yes"; });
}

function goToSection() {
  const node = byId(currentSection());
  if (node === null) return;
  if (node.id === "corrections") node.querySelector("details")?.setAttribute("open", "");
  node.scrollIntoView();
}

byId("theme").addEventListener("click", () => {
  theme = isDark() ? "light" : "dark";
  history.replaceState(null, "", address(currentSection()));
  render();
});
prefersDark.addEventListener("change", () => { if (theme === null) render(); });
document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", (event) => {
  event.preventDefault();
  history.pushState(null, "", address(link.hash.slice(1)));
  goToSection();
}));
addEventListener("hashchange", () => {
  readAddress();
  render();
  goToSection();
});
addEventListener("popstate", goToSection);

readAddress();
render();
guarded(byId("corrections-body"), corrections);
guarded(byId("reproduce-body"), reproduce);
goToSection();
