#pragma once

#include <headrace/tests/support/source_folder.h>

#include <filesystem>

namespace headrace::test {

/// The folder of volumes that other libraries wrote.
inline std::filesystem::path volume_data() {
  return std::filesystem::path(headrace::test::source_folder()) / "tests/loaders/volume/data";
}

}  // namespace headrace::test
