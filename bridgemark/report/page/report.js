// ---- The parts of the report ------------------------------------------------------------------

const sections = { summary, table: tables, figure: figures, curve: curves, time: scoreAndTime, rows: errorAndRows,
  switching, worst: worstRows };
const fixedSections = { corrections, reproduce };
const stillDrawing = () => plots.map((entry) => entry.drawn);
