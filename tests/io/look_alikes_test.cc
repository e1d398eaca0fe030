#include "bridgemark/io/look_alikes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

TEST(LookAlikes, ANameIsALineWithNothingHidden) {
  for (const char* name : {"Mine", "DLightSB, mine", "α-CSBM", "名前", "Größe 2", "a", "x/y (z)"}) {
    EXPECT_EQ(why_no_name(name, 80), "") << name;
  }
  for (const char* name : {"", " a", "a ", "a  b", "a\nb", "a\x1b[31m", "\xff",
                           "a\xc2\xa0"
                           "b",
                           "a\u200b", "\u202ea", "a\u2066b", "a\u00ad", "e\u0301", "a\u2003b",
                           "a\ufeff", "a\u2028b", "a\u3164"}) {
    EXPECT_THAT(why_no_name(name, 80), HasSubstr("must be 1 to 80 bytes of one line")) << name;
  }
  EXPECT_NE(why_no_name(std::string(81, 'x'), 80), "");
}

TEST(LookAlikes, AreFoundInOtherScriptsAndCases) {
  const std::string look = look_of("DLightSB-M");
  for (const char* name : {"dlightsb-m", "DLightSB M", "DLIGHTSB_M", "DLightSBM", "DL\u0456ghtSB-M",
                           "DLight\u0405B-M", "DLightS\u0412-\u041c", "D1ightSB-M", "DLlghtSB-M",
                           "\uff24\uff2cightSB-M", "DLightSB\u2011M", "DLightSB\u200b-M",
                           "DLightSB-rn", "\U0001d403LightSB-M", "DL\u00efghtSB-M"}) {
    EXPECT_EQ(look_of(name), look) << name;
  }
  EXPECT_EQ(look_of("a-CSBM"), look_of("α-CSBM"));
  EXPECT_EQ(look_of("\u0430-CSBM"), look_of("α-CSBM"));
  EXPECT_EQ(look_of("0racle"), look_of("Oracle"));
  for (const char* name : {"DLightSB", "DLightSB-M2", "LightSB-M", "名前", "DLightSB-N"}) {
    EXPECT_NE(look_of(name), look) << name;
  }
  EXPECT_NE(look_of("名前"), look_of("名後"));
}

}  // namespace
}  // namespace bridgemark
