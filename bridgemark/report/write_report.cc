#include "bridgemark/report/write_report.h"

#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/report/tables/table_writers.h"

namespace bridgemark {

WrittenReport write_report(const Context& context, const ReportRequest& request) {
  const std::filesystem::path source = request.folder / kResultsJsonl;
  WrittenReport report;
  report.results = load_results(source);
  if (report.results.empty()) throw_file(source.string(), "has no results");
  report.tables = make_tables(report.results, request.whole);
  std::string html;
  if (!request.tables_only) {
    html = report_html(context, request.folder, report.results, report.tables, request.options);
  }
  const std::filesystem::path beside = request.output.parent_path();
  if (!beside.empty()) create_folder(beside);
  const auto write = [&](const std::filesystem::path& path, const std::string& text) {
    write_file_atomically(path, text);
    report.files.push_back(path);
  };
  write(beside / "tables.md", markdown_tables(report.tables, report.results[0].experiment));
  write(beside / "tables.tex", latex_tables(report.tables));
  write(beside / "tables.csv", csv_tables(report.tables));
  if (!request.tables_only) write(request.output, html);
  return report;
}

}  // namespace bridgemark
