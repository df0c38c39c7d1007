// A configuration of any content, and an override of any content, is a document within its limits
// that is the same when it is written and read again, or a ConfigError. What a job's keys took of
// it is the same after that, too.
//
// Input: the document; behind a byte of value 0 an override of it.
#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/fuzz/finding.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace headrace;
using namespace headrace::app;

namespace {

constexpr DocumentLimits limits{.bytes = 1 << 16, .depth = 16, .nodes = 1000};
/// What was written has its aliases written out.
constexpr DocumentLimits written{.bytes = 1 << 26, .depth = 16, .nodes = 1000};

/// A variable for every kind of key.
struct Settings {
  bool shuffle = true;
  int epochs = 10;
  std::uint64_t seed = 7;
  double rate = 1e-3;
  float share = 0.5F;
  std::string name = "a: b";
  std::filesystem::path folder = "runs";
  app::Bytes memory{1 << 20};
  Duration limit{60};
  std::optional<int> threads{};
  std::vector<double> weights{1.0, 0.1};
  std::vector<std::string> classes{"null", "-x"};
  std::array<int, 2> size{224, 224};
  unsigned char kind = 0;
  Node entry{};
  std::vector<Node> steps{};

  void describe(Fields& fields) {
    fields.key("shuffle", shuffle);
    fields.key("epochs", epochs, {.min = 1.0, .max = 1000.0});
    fields.key("seed", seed);
    fields.key("rate", rate, {.above = 0.0});
    fields.key("share", share, {.min = 0.0, .below = 1.0});
    fields.key("name", name);
    fields.key("folder", folder);
    fields.key("memory", memory, {.min = 1024.0, .max = 0x1p40});
    fields.key("limit", limit, {.max = 86400.0});
    fields.key("threads", threads, {.min = 1.0});
    fields.section("data", [this](Fields& data) {
      data.key("weights", weights, {.min = 0.0});
      data.key("classes", classes);
      data.key("size", size, {.min = 1.0});
      data.choice<unsigned char>("kind", kind, {{"one", 0}, {"two", 1}});
      data.map("entry", entry);
    });
    fields.maps("steps", steps);
  }
};

/// Whether they hold the same; a word need not be quoted the second time.
bool same(const Node& a, const Node& b) {
  const auto items = [](const Node& x, const Node& y) { return same(x, y); };
  const auto entries = [](const Entry& x, const Entry& y) {
    return x.key == y.key && same(x.value, y.value);
  };
  return a.kind == b.kind && a.text == b.text && std::ranges::equal(a.items, b.items, items) &&
         std::ranges::equal(a.entries, b.entries, entries);
}

std::optional<Node> parse(const std::string& text, const DocumentLimits& most) {
  try {
    return parse_document(text, "x", most);
  } catch (const ConfigError&) {
    return {};
  }
}

void check_written(const Node& document) {
  const std::string text = to_yaml(document);
  const auto again = parse(text, written);
  if (!again) test::finding("a document cannot be read back as it was written:\n" + text);
  if (!same(document, *again)) test::finding("a document changes as it is written:\n" + text);
}

void check_settings(const Node& document) {
  Settings settings, again;
  Fields fields, fields_again;
  settings.describe(fields);
  again.describe(fields_again);
  try {
    fields.read(document);
  } catch (const ConfigError&) {
    return;
  }
  const std::string text = fields.to_yaml();
  fields_again.read(parse_document(text, "x", written));
  if (fields_again.to_yaml() != text)
    test::finding("settings change as they are written:\n" + text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), size);
  auto document = parse(input.substr(0, end), limits);
  if (!document) return 0;
  if (end < size) {
    try {
      apply_override(*document, input.substr(end + 1), limits);
    } catch (const ConfigError&) {
    }
  }
  check_written(*document);
  check_settings(*document);
  return 0;
}
