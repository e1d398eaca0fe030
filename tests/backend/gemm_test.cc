#include "bridgemark/backend/cpu/simd/gemm.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "bridgemark/backend/backend.h"

namespace bridgemark {
namespace {

// The number of BLAS threads belongs to the process that we are a guest of.
TEST(BlasThreads, AreAsTheCallerLeftThem) {
  const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (!get || !set) GTEST_SKIP() << "this build has no OpenBLAS";
  const int before = get();
  set(2);
  const Matrix<double> a(40, 40, -1.0);
  {
    const backend::cpu::OneBlasThread outer;
    EXPECT_EQ(get(), 1);
    { const backend::cpu::OneBlasThread inner; }
    EXPECT_EQ(get(), 1);  // until the last is gone
  }
  EXPECT_EQ(get(), 2);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      Matrix<double> out(40, 40);
      for (int call = 0; call < 50; ++call) {
        backend::of({.num_threads = 2}).log_matmul({.num_threads = 2}, a, a, out.view());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(get(), 2);
  set(before);
}

}  // namespace
}  // namespace bridgemark
