// ---- The parts of the report ------------------------------------------------------------------

const sourceOf = (run) => ({ revision: `Bridgemark ${run.version}`, date: "", record: "results.jsonl" });
const sections = { summary, table: tables, figure: figures, curve: curves, time: scoreAndTime, rows: errorAndRows,
  switching, worst: worstRows };
const fixedSections = { corrections, reproduce };
const stillDrawing = () => plots.map((entry) => entry.drawn);
