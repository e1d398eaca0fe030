#pragma once

#include <memory>
#include <mutex>

namespace bridgemark::backend {

// What a device has made of tables that do not change: at their first use, freed with their owner.
struct KeptTables {
  std::once_flag once;
  std::shared_ptr<const void> tables;

  template <typename Tables, typename Make>
  std::shared_ptr<const Tables> get(Make&& make) {
    std::call_once(once, [&] { tables = make(); });
    return std::static_pointer_cast<const Tables>(tables);
  }
};

}  // namespace bridgemark::backend
