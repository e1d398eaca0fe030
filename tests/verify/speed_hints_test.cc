#include "bridgemark/verify/speed_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bridgemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kWide[] = "OpenBLAS 0.3.21 DYNAMIC_ARCH Haswell MAX_THREADS=64";

SpeedFacts quick_machine() {
  return {.cores = 4, .threads = 4, .load = 1.0, .vectors = "AVX2, SSE4", .products = kWide};
}

TEST(SpeedHints, AQuickMachineHasNone) {
  EXPECT_THAT(speed_hints(quick_machine()), IsEmpty());
  EXPECT_THAT(speed_hints({}), IsEmpty());  // nothing is known
  SpeedFacts facts = quick_machine();
  facts.vectors = "NEON";  // no choice of kernels for x86
  facts.products = "OpenBLAS 0.3.21 DYNAMIC_ARCH NEOVERSEN1 MAX_THREADS=64";
  EXPECT_THAT(speed_hints(facts), IsEmpty());
}

TEST(SpeedHints, ThreadsAreAsManyAsCores) {
  SpeedFacts facts = quick_machine();
  facts.threads = 8;
  EXPECT_THAT(speed_hints(facts), ElementsAre("8 threads on 4 cores: set OMP_NUM_THREADS=4"));
  facts.threads = 1;
  EXPECT_THAT(speed_hints(facts),
              ElementsAre("1 thread on 4 cores: unset OMP_NUM_THREADS, or give --threads 4"));
  facts.threads = 4;
  facts.processors = 1.5;
  EXPECT_THAT(speed_hints(facts),
              ElementsAre("4 threads on 2 cores, which is what this container gets: set "
                          "OMP_NUM_THREADS=2"));
}

TEST(SpeedHints, WaitingThreadsSleepWhereTheMachineIsShared) {
  SpeedFacts facts = quick_machine();
  facts.load = 6.25;
  EXPECT_THAT(speed_hints(facts),
              ElementsAre("other programs take part of the cores (a load of 6.2 on 4): set "
                          "OMP_WAIT_POLICY=passive, so that threads that wait sleep"));
  facts.waits_asleep = true;
  EXPECT_THAT(speed_hints(facts), IsEmpty());
}

TEST(SpeedHints, OpenBlasHasTheKernelsOfTheProcessor) {
  SpeedFacts facts = quick_machine();
  facts.products = "OpenBLAS 0.3.21 DYNAMIC_ARCH Prescott MAX_THREADS=64";
  EXPECT_THAT(speed_hints(facts),
              ElementsAre("OpenBLAS does not know this processor and multiplies by kernels of an "
                          "old one: set OPENBLAS_CORETYPE=Haswell"));
  facts.vectors = "AVX3_SPR, AVX3, AVX2";
  EXPECT_THAT(speed_hints(facts), ElementsAre(::testing::EndsWith("=SkylakeX")));
  facts.products = "OpenBLAS 0.3.21 Prescott MAX_THREADS=64";  // built for one processor
  EXPECT_THAT(speed_hints(facts), IsEmpty());
}

TEST(SpeedHints, AreOfThisMachine) {
  const SpeedFacts facts = examine_speed({{"vectors", "some"}, {"matrix products", "others"}});
  EXPECT_GE(facts.cores, 1);
  EXPECT_GE(facts.threads, 1);
  EXPECT_EQ(facts.vectors, "some");
  EXPECT_EQ(facts.products, "others");
}

}  // namespace
}  // namespace bridgemark
