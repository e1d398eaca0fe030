#include "bridgemark/core/error.h"

#include "bridgemark/core/terminal_text.h"

namespace bridgemark {

std::string message_text(std::string_view text) { return terminal_text(text); }

}  // namespace bridgemark
