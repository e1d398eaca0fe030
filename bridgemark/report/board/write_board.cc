#include "bridgemark/report/board/write_board.h"

#include <string>

#include "bridgemark/io/disk/atomic_file.h"

namespace bridgemark {

WrittenBoard write_board(const Context& context, const BoardRequest& request,
                         const std::filesystem::path& output) {
  WrittenBoard written{load_board(context, request), {}};
  const std::string html = board_html(written.board), csv = board_csv(written.board),
                    json = board_json(written.board)
                               .dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  create_folder(output);
  const auto write = [&](const char* name, const std::string& text) {
    written.files.push_back(output / name);
    write_file_atomically(written.files.back(), text);
  };
  write("board.csv", csv);
  write("board.json", json + "\n");
  write("index.html", html);
  return written;
}

}  // namespace bridgemark
