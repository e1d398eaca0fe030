#include "bridgemark/report/data_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/report/markup.h"
#include "bridgemark/report/page_form.h"
#include "bridgemark/report/row_pictures.h"
#include "bridgemark/report/row_table.h"

namespace bridgemark {

extern const char kDataHtml[];  // page/data.html
extern const char kDataCss[];   // page/report.css, page/data.css

namespace {

constexpr std::size_t kShownRows = 12;                        // of a run
constexpr std::size_t kMapRows = 40;                          // lines of a heat map
constexpr int kMapCell = 8;                                   // pixels
constexpr std::size_t kMaxVocabulary = std::size_t{1} << 24;  // bytes

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const bool returns = end > at && text[end - 1] == '\r';
    lines.emplace_back(text.substr(at, end - at - (returns ? 1 : 0)));
    at = end + 1;
  }
  return lines;
}

std::string paragraph(const std::string& text, std::string_view css = "") {
  const std::string start = css.empty() ? "<p>" : fmt::format("<p class=\"{}\">", css);
  return start + escape_html(text) + "</p>\n";
}

std::string summary_html(const DataComparison& comparison) {
  std::string html;
  for (const std::string& line : lines_of(comparison_heading(comparison))) {
    html += paragraph(line, html.empty() ? "" : "note");
  }
  for (const std::string& warning : comparison.warnings) {
    html += paragraph("Warning: " + warning, "failed");
  }
  for (const ContestantDifference& difference : comparison.differences) {
    html += paragraph(difference_text(difference));
  }
  return html;
}

std::string score_cell(const DataScore& score, const DataScoreSpec& spec) {
  if (!score.missing.empty()) {
    return fmt::format("<td>–<span class=\"missing\">{}</span></td>", escape_html(score.missing));
  }
  std::string cell = "<td>" + estimate_text(score.value);
  const auto add = [&](const std::string& text) {
    cell += fmt::format("<span class=\"beside\">{}</span>", escape_html(text));
  };
  if (score.beside) add(fmt::format("{}: {}", spec.beside, estimate_text(*score.beside)));
  if (!score.note.empty()) add(score.note);
  return cell + "</td>";
}

std::string scores_html(const DataComparison& comparison) {
  std::string html = "<div class=\"scroll\"><table><thead><tr><th></th>";
  for (const ContestantScores& contestant : comparison.contestants) {
    html += "<th>" + escape_html(contestant.name) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const DataScoreSpec& spec : data_score_specs()) {
    html += fmt::format("<tr><th>{}{}<span class=\"meaning\">{}</span></th>",
                        escape_html(std::string(spec.title)),
                        spec.unit.empty() ? "" : fmt::format(", {}", spec.unit),
                        escape_html(fmt::format("{} {}", spec.meaning, spec.belief)));
    for (const ContestantScores& contestant : comparison.contestants) {
      html += score_cell(contestant.score(spec.name), spec);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// A line for each label and sampler.
std::string labels_html(const DataComparison& comparison) {
  if (comparison.labels.empty()) return "";
  std::string html =
      "<h3>Label by label</h3>\n<div class=\"scroll\"><table><thead><tr><th></th><th>run</th>";
  for (const char* name : kLabelScores) {
    html += fmt::format("<th>{}</th>", escape_html(std::string(find_data_score(name)->title)));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const LabelComparison& each : comparison.labels) {
    for (const ContestantScores& contestant : each.comparison.contestants) {
      html += fmt::format("<tr><th>{}</th><td>{}</td>", label_heading(each),
                          escape_html(contestant.name));
      for (const char* name : kLabelScores) {
        html += fmt::format("<td>{}</td>", label_score_text(contestant.score(name)));
      }
      html += "</tr>\n";
    }
  }
  return html + "</tbody></table></div>\n";
}

// Shows rows of x0 beside what became of them.
class RowShow {
 public:
  RowShow(const DataComparison& comparison, const DataPageOptions& options)
      : words_(options.vocabulary),
        table_(options.table),
        labels0_(options.labels0),
        labels1_(options.labels1),
        colours_{comparison.num_categories, are_ordered(comparison)} {}

  std::string html(StatesView x0, StatesView x1) const {
    if (!words_.empty()) return words(x0, x1);
    if (table_) return row_change_table_html(*table_, first(x0), first(x1));
    return image_side(x0.cols) > 0 ? images(x0, x1) : heat_maps(x0, x1);
  }

  std::string alone(StatesView rows) const {
    if (table_) return row_table_html(*table_, first(rows));
    if (!words_.empty()) {
      std::string html = "<table class=\"words\"><tbody>";
      for (std::size_t i = 0; i < std::min(kShownRows, rows.rows); ++i) {
        html += fmt::format("<tr><td>{}</td>{}</tr>", words_html(rows, i, words_),
                            label_cell(labels1_, i));
      }
      return html + "</tbody></table>\n";
    }
    std::string html = "<div class=\"pictures\">";
    if (image_side(rows.cols) == 0) {
      html += figure(heat_map(rows), "held-out x1, a line a row");
    } else {
      for (std::size_t i = 0; i < std::min(kShownRows, rows.rows); ++i) {
        html += figure(image_svg(rows, i, colours_), label_text(labels1_, i));
      }
    }
    return html + "</div>\n";
  }

 private:
  // Where any reference says that categories have an order.
  static bool are_ordered(const DataComparison& comparison) {
    return std::ranges::any_of(comparison.contestants, [](const ContestantScores& contestant) {
      return contestant.score(kTransportMoved).missing.empty();
    });
  }

  static StatesView first(StatesView rows) {
    return rows.slice(0, std::min(kShownRows, rows.rows));
  }

  // Empty where rows have no labels.
  static std::string label_text(const Labels& labels, std::size_t row) {
    return labels.empty() ? "" : fmt::format("label {}", labels.at(row));
  }
  static std::string label_cell(const Labels& labels, std::size_t row) {
    return labels.empty() ? "" : "<td>" + label_text(labels, row) + "</td>";
  }

  static std::string figure(const std::string& picture, std::string_view caption) {
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", picture, caption);
  }

  std::string heat_map(StatesView rows) const {
    return cells_svg(rows.slice(0, std::min(kMapRows, rows.rows)), colours_, kMapCell);
  }

  std::string words(StatesView x0, StatesView x1) const {
    std::string html = fmt::format(
        "<table class=\"words\"><thead><tr><th>x0</th><th>x1</th>{}</tr></thead><tbody>",
        labels0_.empty() ? "" : "<th></th>");
    for (std::size_t i = 0; i < std::min(kShownRows, x0.rows); ++i) {
      html += fmt::format("<tr><td>{}</td><td>{}</td>{}</tr>", words_html(x0, i, words_),
                          words_html(x1, i, words_), label_cell(labels0_, i));
    }
    return html + "</tbody></table>\n";
  }

  std::string images(StatesView x0, StatesView x1) const {
    std::string html = "<div class=\"pictures\">";
    for (std::size_t i = 0; i < std::min(kShownRows, x0.rows); ++i) {
      const std::string label = label_text(labels0_, i);
      html += figure(image_svg(x0, i, colours_) + image_svg(x1, i, colours_),
                     label.empty() ? "x0, then x1" : "x0, then x1; " + label);
    }
    return html + "</div>\n";
  }

  std::string heat_maps(StatesView x0, StatesView x1) const {
    return "<div class=\"pictures\">" + figure(heat_map(x0), "x0, a line a row") +
           figure(heat_map(x1), "x1 of the same rows") + "</div>\n";
  }

  const std::vector<std::string>& words_;
  const std::optional<TableSchema>& table_;
  const Labels &labels0_, &labels1_;
  CategoryColours colours_;
};

std::string rows_html(const DataComparison& comparison, StatesView x0, StatesView x1,
                      const DataPageOptions& options) {
  const RowShow show(comparison, options);
  std::string html = paragraph(
      fmt::format("The first given rows of x0, and the x1 that each run draws for them.{}",
                  options.table ? " A bin of numbers is its median." : ""));
  for (const ContestantScores& contestant : comparison.contestants) {
    html += "<h3>" + escape_html(contestant.name) + "</h3>\n" + show.html(x0, contestant.draws);
  }
  return html + "<h3>Held-out x1, for comparison</h3>\n" + show.alone(x1);
}

}  // namespace

void check_vocabulary(const DataPageOptions& options, int num_categories) {
  const std::size_t words = options.vocabulary.size();
  if (words == 0 || words == static_cast<std::size_t>(num_categories)) return;
  throw_invalid("report", "the vocabulary must have a line for each of the {} categories, got {}",
                num_categories, words);
}

std::string data_page(const DataComparison& comparison, StatesView x0, StatesView x1,
                      const DataPageOptions& options) {
  check_vocabulary(options, comparison.num_categories);
  return fill_page(kDataHtml, {{"css", kDataCss},
                               {"summary", summary_html(comparison)},
                               {"scores", scores_html(comparison) + labels_html(comparison)},
                               {"rows", rows_html(comparison, x0, x1, options)},
                               {"version", kVersion},
                               {"seed", std::to_string(comparison.seed)}});
}

void check_page_file(const std::filesystem::path& page) {
  if (page.empty()) throw_invalid("report", "the page must have a name, got none");
  const std::filesystem::path folder = page.parent_path();
  if (!folder.empty() && !is_folder(folder)) throw_file(page.string(), "its folder is not there");
  if (is_folder(page)) throw_file(page.string(), "the page must be a file, got a folder");
}

std::vector<std::string> load_vocabulary(const std::filesystem::path& path) {
  std::vector<std::string> words = lines_of(read_file(path, kMaxVocabulary));
  if (words.empty()) throw_file(path.string(), "must have a word a line, got none");
  return words;
}

}  // namespace bridgemark
