// ---- The page ---------------------------------------------------------------------------------

// What makes each section: `sections` those that depend on the filters and on the colours,
// `fixedSections` the others.

function showTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}

function render() {
  delete document.body.dataset.ready;
  showTheme();
  showFilters();
  for (const [name, make] of Object.entries(sections)) guarded(byId(`${name}-body`), make);
  afterShown.forEach((tidy) => tidy());
  Promise.all(stillDrawing()).then(() => { document.body.dataset.ready = "yes"; });
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
// On paper a note cannot be opened: it is printed open.
addEventListener("beforeprint", () => document.querySelectorAll("details.note:not([open])").forEach((note) => {
  note.open = true;
  addEventListener("afterprint", () => { note.open = false; }, { once: true });
}));

readAddress();
render();
for (const [name, make] of Object.entries(fixedSections)) guarded(byId(`${name}-body`), make);
goToSection();
