#pragma once

#include <filesystem>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/report/board/board.h"

namespace bridgemark {

struct WrittenBoard {
  Board board;
  std::vector<std::filesystem::path> files;
};

// Writes index.html, board.json and board.csv of a board. Nothing is written where one of them
// cannot be made.
WrittenBoard write_board(const Context& context, const BoardRequest& request,
                         const std::filesystem::path& output);

}  // namespace bridgemark
