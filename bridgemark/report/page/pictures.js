// ---- Pictures and words -----------------------------------------------------------------------

const picturePixels = 56;  // of a picture's side, on the page

// A square of cells, each with a colour.
function picture(side, colours, label) {
  const canvas = element("canvas", { class: "picture", width: side, height: side, role: "img", "aria-label": label });
  const scale = Math.max(1, Math.round(picturePixels / side)) * side;
  canvas.style.width = canvas.style.height = `${scale}px`;
  const context = canvas.getContext("2d");
  colours.forEach((colour, i) => {
    context.fillStyle = colour;
    context.fillRect(i % side, Math.floor(i / side), 1, 1);
  });
  return canvas;
}

const grey = (share) => {
  const level = Math.round(255 * Math.max(0, Math.min(1, share)));
  return `rgb(${level} ${level} ${level})`;
};

// How the cells of one pair are shown: rows of categories, and the truth's average and variation.
function shower(form) {
  if (form.letters) {
    const word = (row) => row.map((category) => form.letters[category]).join("");
    return {
      row: (row) => element("code", { class: "letters" }, word(row)),
      centre: (i) => element("code", { class: "letters" }, word(form.likeliest[i])),
      spread: (i) => element("code", { class: "letters" }, ...form.likeliest[i].map((category, d) => {
        const letter = element("span", {}, form.letters[category]);
        letter.style.opacity = String(0.65 + 0.35 * form.share[i][d]);
        return letter;
      })),
    };
  }
  const top = form.colours.length - 1;
  const categories = (row) => row.map((category) => form.colours[category]);
  const most = form.ordered ? Math.max(...form.deviation.flat(), 1e-9) : 1;
  return {
    row: (row, label) => picture(form.side, categories(row), label),
    centre: (i) => (form.ordered
      ? picture(form.side, form.mean[i].map((value) => grey(value / top)), `mean given input ${i + 1}`)
      : picture(form.side, categories(form.likeliest[i]), `likeliest categories given input ${i + 1}`)),
    spread: (i) => (form.ordered
      ? picture(form.side, form.deviation[i].map((value) => grey(value / most)), `standard deviation given input ${i + 1}`)
      : picture(form.side, form.share[i].map((value) => grey(value)), `probability of the likeliest category given input ${i + 1}`)),
  };
}

// Answers to the same inputs, those of the truth first; nothing where rows are numbers.
function answerPictures(figure) {
  const form = figure.pictures;
  if (!form) return [];
  const show = shower(form);
  const drawn = (rows, name) => element("div", { class: "drawn" },
    ...rows.map((row, n) => show.row(row, `draw ${n + 1} of ${name}`)));
  const line = (name, cell) => element("tr", {}, element("th", { scope: "row" }, name),
    ...form.x0.map((_, i) => element("td", {}, cell(i))));
  const [centre, spread] = form.ordered ? ["truth: mean", "truth: standard deviation"]
    : ["truth: likeliest", form.letters ? "truth: likeliest, as dark as it is likely" : "truth: probability of the likeliest"];
  const methods = figure.methods.filter((method) => method.pictured && method.pictured.length === form.x0.length);
  const table = element("table", { class: "answers" },
    element("thead", {}, element("tr", {}, element("th", {}), ...form.x0.map((_, i) =>
      element("th", { scope: "col" }, `input ${i + 1}`)))),
    element("tbody", {}, line("x0", (i) => show.row(form.x0[i][0], `input ${i + 1}`)),
      line("truth", (i) => drawn(form.truth[i], "the truth")), line(centre, show.centre), line(spread, show.spread),
      ...methods.map((method) => line(method.name, (i) => drawn(method.pictured[i], method.name)))));
  return [element("h3", {}, form.letters ? "Words" : "Pictures"),
    element("p", {}, `The same three inputs, and ${form.truth[0].length} draws of x1 given each, by the truth` +
      `${methods.length > 0 ? " and by each method" : ""}, with what the truth says of each coordinate alone.`), scroller(table, "Answers to the same inputs")];
}
