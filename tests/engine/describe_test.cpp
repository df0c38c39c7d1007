#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

Loader loader_of(bool fuse) {
  return work_on(table({.records = 100}), true)
      .named("validation")
      .then([](Sample&) {}, {.name = "distance", .limit = 3})
      .batch({.size = 8})
      .then([](Batch&) {}, {.name = "mix"})
      .build({.prefetch = 5, .fuse = fuse, .runtime = Runtime({.threads = 2})});
}

int lines_with(const std::string& text, const std::string& word) {
  int count = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    if (text.substr(begin, end - begin).find(word) != std::string::npos) ++count;
    begin = end + 1;
  }
  return count;
}

}  // namespace

TEST_CASE("the text names every node, step, limit, capacity and the bytes") {
  for (bool fuse : {true, false}) {
    const std::string text = loader_of(fuse).describe();
    CAPTURE(text);
    for (const char* word : {"validation", "read", "decode", "sum", "jitter", "distance", "mix",
                             "collate", "transfer", "limit", "3", "5", "B"})
      CHECK_MESSAGE(lines_with(text, word) >= 1, word);
    CHECK((text.find("iB") != std::string::npos || text.find("bytes") != std::string::npos));
  }
}

TEST_CASE("what fused is visible: fewer nodes than without fusion") {
  const std::string fused = loader_of(true).describe(Loader::Format::graphviz);
  const std::string unfused = loader_of(false).describe(Loader::Format::graphviz);
  CAPTURE(fused);
  CAPTURE(unfused);
  CHECK(lines_with(fused, "->") < lines_with(unfused, "->"));
  CHECK((loader_of(true).describe() != loader_of(false).describe()));
}

TEST_CASE("the Graphviz form is one digraph with the nodes and edges of the picture") {
  for (bool fuse : {true, false}) {
    const std::string dot = loader_of(fuse).describe(Loader::Format::graphviz);
    CAPTURE(dot);
    CHECK(dot.find("digraph") != std::string::npos);
    for (const char* word : {"read", "decode", "sum", "jitter", "distance", "collate", "transfer"})
      CHECK_MESSAGE(dot.find(word) != std::string::npos, word);
    CHECK(lines_with(dot, "->") >= 3);
    CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
  }
}

TEST_CASE("describing starts nothing and may be done at any time") {
  Watchdog watchdog("describe");
  auto source = table({.records = 40});
  Loader loader =
      Pipeline::from(source).batch({.size = 8}).build({.runtime = Runtime({.threads = 2})});
  const std::string before = loader.describe();
  CHECK(source->reads() == 0);
  const NextBatch next = loader.next();
  CHECK(next.status == NextBatch::Status::ready);
  CHECK((loader.describe() == before));
}
