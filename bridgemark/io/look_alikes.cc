#include "bridgemark/io/look_alikes.h"

#include <fmt/format.h>

#include "bridgemark/core/utf8.h"

namespace bridgemark {

namespace {

// Letters of other scripts, and Latin ones with marks, by the plain letters that they look like.
struct LookAlikes {
  const char* plain;
  std::u32string_view letters;
};

constexpr LookAlikes kLookAlikes[] = {
    {"-", U"\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe63"},
    {"2", U"\u0532"},
    {"a",
     U"\u00c0\u00c1\u00c2\u00c3\u00c4\u00c5\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5\u0100"
     U"\u0101\u0102\u0103\u0104\u0105\u01cd\u01ce\u01de\u01df\u01e0\u01e1\u01fa\u01fb"
     U"\u0200\u0201\u0202\u0203\u0226\u0227\u0251\u0391\u03b1\u0410\u0430"},
    {"ae", U"\u00e6"},
    {"b", U"\u00df\u0299\u0392\u03b2\u0412\u042c\u044c\u13f4"},
    {"c",
     U"\u00c7\u00e7\u0106\u0107\u0108\u0109\u010a\u010b\u010c\u010d\u03f2\u0421\u0441"
     U"\u13df\u1d04"},
    {"d", U"\u010e\u010f\u0111\u0501\u13a0\u1d05"},
    {"e",
     U"\u00c8\u00c9\u00ca\u00cb\u00e8\u00e9\u00ea\u00eb\u0112\u0113\u0114\u0115\u0116"
     U"\u0117\u0118\u0119\u011a\u011b\u0204\u0205\u0206\u0207\u0228\u0229\u0395\u0415"
     U"\u0435"},
    {"f", U"\u0493"},
    {"g",
     U"\u011c\u011d\u011e\u011f\u0120\u0121\u0122\u0123\u01e6\u01e7\u01f4\u01f5\u0261"
     U"\u050c\u050d"},
    {"h", U"\u0124\u0125\u0127\u021e\u021f\u0397\u041d\u043d\u04bb\u0570"},
    {"i",
     U"\u00cc\u00cd\u00ce\u00cf\u00ec\u00ed\u00ee\u00ef\u0128\u0129\u012a\u012b\u012c"
     U"\u012d\u012e\u012f\u0130\u0131\u01cf\u01d0\u0208\u0209\u020a\u020b\u026a\u037a"
     U"\u0399\u03b9\u0406\u0456"},
    {"j", U"\u0134\u0135\u01f0\u03f3\u0408\u0458"},
    {"k", U"\u0136\u0137\u01e8\u01e9\u039a\u03ba\u041a\u043a"},
    {"l",
     U"\u0139\u013a\u013b\u013c\u013d\u013e\u0142\u01c0\u029f\u04c0\u04cf\u053c\u13de"
     U"\u2113\u217c\u2223"},
    {"m", U"\u039c\u03fa\u041c\u043c\u13b7\u1d0d"},
    {"n", U"\u00d1\u00f1\u0143\u0144\u0145\u0146\u0147\u0148\u01f8\u01f9\u039d\u0578"},
    {"o",
     U"\u00d2\u00d3\u00d4\u00d5\u00d6\u00f2\u00f3\u00f4\u00f5\u00f6\u00f8\u014c\u014d"
     U"\u014e\u014f\u0150\u0151\u01a0\u01a1\u01d1\u01d2\u01ea\u01eb\u01ec\u01ed\u020c"
     U"\u020d\u020e\u020f\u022a\u022b\u022c\u022d\u022e\u022f\u0230\u0231\u039f\u03bf"
     U"\u041e\u043e\u04e7\u0585\u1d0f"},
    {"p", U"\u03a1\u03c1\u0420\u0440"},
    {"q", U"\u051b"},
    {"r", U"\u0154\u0155\u0156\u0157\u0158\u0159\u0210\u0211\u0212\u0213\u0403\u0433\u0491"},
    {"s",
     U"\u015a\u015b\u015c\u015d\u015e\u015f\u0160\u0161\u017f\u0218\u0219\u0405\u0455"
     U"\u13da\ua645\ua731"},
    {"t", U"\u0162\u0163\u0164\u0165\u021a\u021b\u03a4\u03c4\u0422\u0442\u1d1b"},
    {"u",
     U"\u00d9\u00da\u00db\u00dc\u00f9\u00fa\u00fb\u00fc\u0168\u0169\u016a\u016b\u016c"
     U"\u016d\u016e\u016f\u0170\u0171\u0172\u0173\u01af\u01b0\u01d3\u01d4\u01d5\u01d6"
     U"\u01d7\u01d8\u01d9\u01da\u01db\u01dc\u0214\u0215\u0216\u0217\u03c5\u057d"},
    {"v", U"\u03bd\u0475"},
    {"w", U"\u0174\u0175\u03c9\u051d"},
    {"x", U"\u00d7\u03a7\u03c7\u0425\u0445"},
    {"y",
     U"\u00dd\u00fd\u00ff\u0176\u0177\u0178\u0232\u0233\u03a5\u03b3\u0423\u0443\u04ae"
     U"\u04af\u13bd"},
    {"z", U"\u0179\u017a\u017b\u017c\u017d\u017e\u0396"},
};

// Letters in alphabets of their own, each with A..Z and a..z one after the other.
constexpr char32_t kMathematical = 0x1d400, kLastMathematical = 0x1d6a3,
                   kMathematicalDigits = 0x1d7ce, kLastMathematicalDigit = 0x1d7ff;

std::string plain_letters(char32_t c) {
  if (c >= 0xff01 && c <= 0xff5e) c -= 0xfee0;  // full width
  if (c >= kMathematical && c <= kLastMathematical) {
    const auto place = (c - kMathematical) % 52;
    c = place < 26 ? U'A' + place : U'a' + (place - 26);
  }
  if (c >= kMathematicalDigits && c <= kLastMathematicalDigit) {
    c = U'0' + (c - kMathematicalDigits) % 10;
  }
  if (c >= 0x24b6 && c <= 0x24cf) c = U'A' + (c - 0x24b6);  // in circles
  if (c >= 0x24d0 && c <= 0x24e9) c = U'a' + (c - 0x24d0);
  for (const LookAlikes& alike : kLookAlikes) {
    if (alike.letters.find(c) != alike.letters.npos) return alike.plain;
  }
  if (c >= U'A' && c <= U'Z') c += U'a' - U'A';
  if (c < 0x80) return std::string(1, static_cast<char>(c));
  return fmt::format("<{:x}>", static_cast<std::uint32_t>(c));
}

bool is_other_space(char32_t c) {
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

}  // namespace

std::string why_no_name(std::string_view text, std::size_t max_bytes) {
  const auto refusal = [&](const char* what) {
    return fmt::format("must be 1 to {} bytes of one line {}", max_bytes, what);
  };
  if (text.empty() || text.size() > max_bytes) return refusal("of UTF-8");
  if (text.front() == ' ' || text.back() == ' ' || text.find("  ") != text.npos) {
    return refusal("without spaces at its ends or two in a row");
  }
  for (std::size_t i = 0; i < text.size();) {
    char32_t character = 0;
    const std::size_t bytes = utf8_character(text.substr(i), character);
    if (bytes == 0) return refusal("of UTF-8");
    if (character < 0x20 || (character >= 0x7f && character < 0xa0) || is_invisible(character) ||
        is_other_space(character)) {
      return refusal("without control or invisible characters and spaces of other kinds");
    }
    i += bytes;
  }
  return {};
}

std::string look_of(std::string_view name) {
  std::string look;
  for (std::size_t i = 0; i < name.size();) {
    char32_t character = 0;
    const std::size_t bytes = utf8_character(name.substr(i), character);
    if (bytes == 0) {  // no UTF-8: by itself
      look += name[i++];
      continue;
    }
    i += bytes;
    if (is_invisible(character) || is_other_space(character)) continue;
    for (const char c : plain_letters(character)) {
      if (c == ' ' || c == '-' || c == '_') continue;
      const bool stroke = c == 'i' || c == '1' || c == '|';
      look += stroke ? 'l' : c == '0' ? 'o' : c;
    }
  }
  for (const auto& [two, one] : {std::pair("rn", 'm'), std::pair("vv", 'w')}) {
    for (std::size_t at = look.find(two); at != look.npos; at = look.find(two)) {
      look.replace(at, 2, 1, one);
    }
  }
  return look;
}

}  // namespace bridgemark
