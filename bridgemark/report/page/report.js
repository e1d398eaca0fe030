// ---- The parts of the report ------------------------------------------------------------------

const sections = { summary, table: tables, figure: figures, curve: curves, time: scoreAndTime, switching };
const fixedSections = { corrections, reproduce };
const stillDrawing = () => plots.map((entry) => entry.drawn);
