#include "bridgemark/io/archive/npz.h"

#include "tests/fuzz/fuzz.h"

// Sparse matrices of somebody's scipy.
void bridgemark::fuzz::read(std::string_view bytes) {
  const NpzFile file(put("x.npz", bytes));
  attempt([&] { file.read_text("format"); });
  attempt([&] { file.read_int32("indptr"); });
  attempt([&] { file.read_int32("indices"); });
  file.read_doubles("data");
}
