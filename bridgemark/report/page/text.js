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
  const body = byId("corrections-body");
  if (data.of_paper) return;
  body.replaceChildren(element("details", {},
    element("summary", {}, "What the published numbers get wrong, and how it was found"), ...body.childNodes));
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
