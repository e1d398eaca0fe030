#include "bridgemark/report/markup.h"

#include <gtest/gtest.h>

#include <string>

#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/experiment/shell_words.h"

// Text stays text wherever it is put.
namespace bridgemark {
namespace {

TEST(Markup, Markdown) {
  EXPECT_EQ(escape_markdown("a|b `c` *d* [e](f) <b> & \\ _g_ h_i ~j~\nk"),
            "a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;b&gt; &amp; \\\\ \\_g\\_ h_i \\~j\\~ k");
  EXPECT_EQ(escape_markdown("α-CSBM"), "α-CSBM");
  EXPECT_EQ(escape_markdown("https://a.b www.c.d e@f $x$ # 1"),
            "https\\://a.b www\\.c.d e\\@f \\$x\\$ \\# 1");
  EXPECT_EQ(escape_markdown("a\xe2\x80\xae"
                            "b\xc2\x9b"
                            "31m"),
            "a\\\\xe2\\\\x80\\\\xaeb\\\\xc2\\\\x9b31m");
}

TEST(Markup, Latex) {
  EXPECT_EQ(escape_latex("[a] *b* \\input{x}\n\ny"), "{[}a{]} {*}b{*}  input\\{x\\}  y");
  EXPECT_EQ(escape_latex("a_b & 5% #1 $x$ ~^"), "a\\_b \\& 5\\% \\#1 \\$x\\$   ");
}

TEST(Markup, CsvTakesNothingForAFormula) {
  for (const char* text : {"=1+1", "+1", "-1", "@x"}) {
    EXPECT_EQ(csv_field(text), std::string("'") + text);
  }
  EXPECT_EQ(csv_field("=a,\"b\""), "\"'=a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field("a-b=c"), "a-b=c");
  EXPECT_EQ(csv_number(-1.5), "-1.5");
  EXPECT_EQ(csv_rounded(0.030077803394329326), "0.0300778");
}

TEST(Markup, ShellWordsAreWords) {
  EXPECT_EQ(shell_words({"train", "--set", "a=b"}), "train --set a=b");
  EXPECT_EQ(shell_words({"", "a b", "$(x)", "it's", "a\nrm"}), "'' 'a b' '$(x)' 'it'\\''s' 'a rm'");
}

}  // namespace
}  // namespace bridgemark
