#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/pair/table/table_schema.h"

namespace bridgemark {

// What the page shows rows as.
struct DataPageOptions {
  std::vector<std::string> vocabulary = {};  // a word a category, S of them; empty: pictures
  std::optional<TableSchema> table = {};     // that the rows are of; then no vocabulary
  Labels labels0 = {}, labels1 = {};         // of the rows of x0 and of x1; empty: they have none
};

// Throws InvalidArgument for a vocabulary of another size.
void check_vocabulary(const DataPageOptions& options, int num_categories);

// A comparison of runs on data as one page that needs nothing else: scores with what they mean, and
// rows before and after. Rows are words where there is a vocabulary, lines of their table where
// there is one, images where D is a square of 3 or more a side, and else lines of a heat map. x0
// and x1 are the rows of the comparison. Throws what check_vocabulary() does.
std::string data_page(const DataComparison& comparison, StatesView x0, StatesView x1,
                      const DataPageOptions& options = {});

// Throws FileError unless the page's folder is there and the page itself is no folder, and
// InvalidArgument for no name: before the work whose results it shows.
void check_page_file(const std::filesystem::path& page);

// A word a line. Throws FileError where the file is not there.
std::vector<std::string> load_vocabulary(const std::filesystem::path& path);

}  // namespace bridgemark
