"use strict";
// What every page of ours stands on. No state beyond the page and its address. What the data says is
// data: it becomes text nodes and fields of Vega's rows, never markup and never a part of a Vega
// expression.

const data = JSON.parse(document.getElementById("data").textContent);

// ---- Small helpers ----------------------------------------------------------------------------

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// A number with what it counts.
const card = (value, label) => element("div", { class: "card" }, element("b", {}, String(value)),
  element("span", {}, label));

// A part of the page that fails says so in its place, and the others stand.
function guarded(body, make) {
  try {
    make();
  } catch (error) {
    body.append(element("p", { class: "note failed" }, `This part cannot be shown: ${error}`));
  }
}

const unique = (values) => [...new Set(values)];
const measured = (cell) => cell !== null && cell.missing === undefined;
const asNumber = (value) => (value === "inf" ? Infinity : value);

const methodName = (row) =>
  [row.method, (row.loss || "").toUpperCase(), row.num_steps && `${row.num_steps} steps`].filter(Boolean).join(" ");
const rowsName = (samples) => (Number(samples) === 0 ? "endless draws" : `n = ${samples}`);
const rowName = (row) => methodName(row) + (row.samples ? `, ${rowsName(row.samples)}` : "");

function duration(seconds) {
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const afterShown = [];  // called when a part of the page has been made anew
const chosen = new Map();  // the label last pressed in each group, which stays when it is made again

// One pressed button at a time; `show` is called with the chosen entry.
function choices(container, entries, label, show) {
  const buttons = entries.map((entry) => element("button", {
    type: "button",
    onclick: () => press(entry),
  }, label(entry)));
  const body = byId(container.id.replace("-choices", "-body"));
  function press(entry) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", entries[i] === entry));
    chosen.set(container.id, label(entry));
    guarded(body, () => show(entry));
    afterShown.forEach((tidy) => tidy());
  }
  container.replaceChildren(...(entries.length > 1 ? buttons : []));
  const kept = entries.find((entry) => label(entry) === chosen.get(container.id));
  if (entries.length > 0) press(kept || entries[0]);
}

const tooltip = byId("tooltip");

function showTooltip(text, x, y) {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 4))}px`;
  tooltip.style.top = `${y + 16 + height > innerHeight ? Math.max(4, y - height - 8) : y + 16}px`;
}

function hideTooltip() { tooltip.hidden = true; }

// Cells that can be reached are one stop of the Tab key a table: arrows move within it.
function rove(table) {
  const lines = () => [...table.tBodies].flatMap((body) => [...body.rows])
    .map((row) => [...row.cells].filter((cell) => cell.hasAttribute("tabindex"))).filter((line) => line.length > 0);
  const settle = (cell) => lines().flat().forEach((other) => { other.tabIndex = other === cell ? 0 : -1; });
  const [first] = lines();
  if (first === undefined) return;
  settle(first[0]);
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  table.addEventListener("focusin", (event) => { if (event.target.matches("td[tabindex]")) settle(event.target); });
  table.addEventListener("keydown", (event) => {
    const here = event.target.closest("td[tabindex]"), all = lines();
    const line = all.findIndex((cells) => cells.includes(here));
    if (here === null || line < 0) return;
    const place = all[line].indexOf(here), [down, right] = steps[event.key] || [0, 0];
    const goal = event.key === "Home" ? all[line][0] : event.key === "End" ? all[line].at(-1)
      : down !== 0 ? all[line + down]?.find((cell) => cell.cellIndex >= here.cellIndex) : all[line][place + right];
    if (goal === undefined || goal === here) return;
    event.preventDefault();
    goal.focus();
  });
}

// Shows on hover, on focus and on a tap.
function attachTooltip(node, text) {
  node.tabIndex = 0;
  node.addEventListener("pointermove", (event) => showTooltip(text(), event.clientX, event.clientY));
  node.addEventListener("pointerleave", hideTooltip);
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    showTooltip(text(), box.left, box.bottom - 12);
  });
  node.addEventListener("blur", hideTooltip);
}

// ---- Light and dark ---------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = null;  // what the reader chose; the system's choice until then

const isDark = () => (theme === null ? prefersDark.matches : theme === "dark");
