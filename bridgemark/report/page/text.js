// ---- Reproduce --------------------------------------------------------------------------------

// A comment of a shell ends with its line.
const oneLine = (text) => text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ");

const mostOpen = 30;  // runs: more are behind a line to open

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
    element("th", { scope: "row" }, run.run), element("td", {}, !timed(run) ? "–" : duration(run.train_seconds)),
    element("td", {}, duration(run.evaluate_seconds)),
    element("td", {}, `${Math.round(run.peak_memory_bytes / 1048576)} MiB`),
    element("td", {}, String(run.threads))) }));
  const table = sortableTable(columns, rows);
  nodes.push(...(rows.length <= mostOpen ? [element("h3", {}, "The runs"), table]
    : [element("details", {}, element("summary", {}, `Time and memory of all ${rows.length} runs`), table)]));
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
