#pragma once

#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace headrace::test {

struct StoredInput {
  std::string name;
  Bytes bytes;
};

/// corpus/<target>/*.hex, in order of their names, none where there is no such folder; a line that
/// begins with # is a comment.
inline std::vector<StoredInput> stored_inputs(const std::string& target) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(headrace::test::source_folder()) / "tests/fuzz/corpus" / target;
  std::vector<StoredInput> inputs;
  if (!fs::exists(folder)) return inputs;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".hex") continue;
    std::ifstream stream(entry.path());
    std::string digits;
    for (std::string line; std::getline(stream, line);) {
      if (line.empty() || line[0] != '#') digits += line;
    }
    inputs.push_back({entry.path().stem().string(), from_hex(digits)});
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const StoredInput& a, const StoredInput& b) { return a.name < b.name; });
  return inputs;
}

}  // namespace headrace::test
