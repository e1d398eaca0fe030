#include "bridgemark/io/safetensors.h"

#include "tests/fuzz/fuzz.h"

// Any file of tensors, each read as every type.
void bridgemark::fuzz::read(std::string_view bytes) {
  const SafetensorsFile file = SafetensorsFile::load(put("x.safetensors", bytes));
  for (const std::string& name : file.names()) {
    attempt([&] { file.read_doubles(name); });
    attempt([&] { file.read_floats(name); });
    attempt([&] { file.read_int32(name); });
  }
  file.read_doubles("none");
}
