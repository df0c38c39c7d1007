#include <headrace/tests/support/source_folder.h>

namespace headrace::test {

const std::string& source_folder() {
  static const std::string folder = HEADRACE_SOURCE_DIR;
  return folder;
}

}  // namespace headrace::test
