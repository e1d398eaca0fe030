#include "bridgemark/experiment/results.h"

#include "bridgemark/experiment/result_json.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/write_report.h"
#include "tests/fuzz/fuzz.h"

// results.jsonl, on to all that is made of it but for figures, which need runs.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::filesystem::path path = put("results.jsonl", bytes);
  const std::vector<RunResult> results = load_results(path);
  for (const RunResult& result : results) {
    run_fields(result).dump();
    recorded_run(result);
  }
  for (const Table& table : make_tables(results, true)) text_table(table, true);
  std::filesystem::create_directories(folder() / "out");
  write_results(results, folder() / "out");
  write_report({}, {.folder = folder(), .output = folder() / "out" / "report.html"});
}
