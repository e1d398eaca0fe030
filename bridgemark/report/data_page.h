#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/metric/own_data/compare_on.h"

namespace bridgemark {

// What the page shows rows as.
struct DataPageOptions {
  std::vector<std::string> vocabulary = {};  // a word a category, S of them; empty: pictures
};

// Throws InvalidArgument for a vocabulary of another size.
void check_vocabulary(const DataPageOptions& options, int num_categories);

// A comparison of runs on data as one page that needs nothing else: scores with what they mean, and
// rows before and after. Rows are words where there is a vocabulary, images where D is a square of
// 3 or more a side, and else lines of a heat map. x0 and x1 are the rows of the comparison. Throws
// what check_vocabulary() does.
std::string data_page(const DataComparison& comparison, StatesView x0, StatesView x1,
                      const DataPageOptions& options = {});

// Throws FileError unless the page's folder is there: before the work whose results it shows.
void check_page_folder(const std::filesystem::path& page);

// A word a line. Throws FileError where the file is not there.
std::vector<std::string> load_vocabulary(const std::filesystem::path& path);

}  // namespace bridgemark
