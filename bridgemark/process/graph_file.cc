#include "bridgemark/process/graph_file.h"

#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/archive/npz.h"

namespace bridgemark {

GraphWeights load_graph(const std::filesystem::path& path) {
  const NpzFile file(path);
  if (const std::string format = file.read_text("format"); format != "csr") {
    throw_file(file.name(), "a graph must have the format csr, got '{}'; take matrix.tocsr()",
               format);
  }
  const std::vector<std::int32_t> shape = file.read_int32("shape"),
                                  first = file.read_int32("indptr");
  if (shape.size() != 2 || shape[0] != shape[1] || shape[0] < 0 ||
      first.size() != static_cast<std::size_t>(shape[0]) + 1) {
    throw_file(file.name(), "a graph must be square with an index of its rows, got shape [{}]",
               fmt::join(shape, ", "));
  }
  return {{first.begin(), first.end()}, file.read_int32("indices"), file.read_doubles("data")};
}

}  // namespace bridgemark
