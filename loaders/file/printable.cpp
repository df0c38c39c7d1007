#include <headrace/loaders/file/printable.h>

namespace headrace::inline v1::detail {

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 200;
  return "\"" + printable(text, most) + "\"";
}

}  // namespace headrace::inline v1::detail
