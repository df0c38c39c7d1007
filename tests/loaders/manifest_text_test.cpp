#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/listing/internal/manifest.h>
#include <headrace/loaders/npy/npy_manifest.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/peak_memory.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

struct TextFolder {
  TextFolder() { std::ofstream(root / "a.jpg") << "aaa"; }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(root / name, std::ios::binary) << text;
    return root / name;
  }
  std::string refusal(const std::string& name, const std::string& text) const {
    const fs::path file = write(name, text);
    return test::message_of<ConfigError>([&] { ImageManifest{file}; });
  }
  test::TemporaryFolder root;
};

/// Rows for a good many of the pieces that a manifest is read by, with fields of all lengths.
std::string long_csv(std::size_t rows) {
  std::string text = "path,notes,label\n";
  for (std::size_t i = 0; i < rows; ++i)
    text += "a.jpg,\"" + std::string(i * 37 % 5000, 'x') + "\n\"\"\"," +
            (i % 3 == 0 ? "cat" : "dog") + (i % 2 == 0 ? "\r\n" : "\n");
  return text;
}

}  // namespace

TEST_CASE("a manifest of many pieces is read as one") {
  const TextFolder data;
  const std::size_t rows = 6000;
  const fs::path csv = data.write("long.csv", long_csv(rows));
  REQUIRE(fs::file_size(csv) > 12 << 20);
  const ImageManifest read(csv);
  REQUIRE(read.size() == static_cast<std::int64_t>(rows));
  for (std::size_t i = 0; i < rows; ++i)
    REQUIRE(read.label(static_cast<std::int64_t>(i)) == (i % 3 == 0 ? 0 : 1));

  std::string lines;
  for (std::size_t i = 0; i < rows; ++i)
    lines += R"({"path": "a.jpg", "label": ")" + std::string(i % 3 == 0 ? "cat" : "dog") +
             R"(", "notes": ")" + std::string(i * 37 % 5000, 'x') + "\"}\n";
  const ImageManifest json(data.write("long.jsonl", lines));
  REQUIRE(json.size() == static_cast<std::int64_t>(rows));
  CHECK(json.label(5999) == read.label(5999));
}

TEST_CASE("a line that is wrong is named by its number behind many pieces too") {
  const TextFolder data;
  const std::string blank(6 << 20, '\n');
  CHECK(contains(data.refusal("late.csv", "path,label\n" + blank + "a.jpg\n"),
                 "late.csv:" + std::to_string((6 << 20) + 2) + ": column \"label\""));
  CHECK(contains(data.refusal("late.jsonl", blank + "[]\n"),
                 "late.jsonl:" + std::to_string((6 << 20) + 1) + ": must be a JSON object"));
}

TEST_CASE("a sparse manifest of 4 GB is refused at once, with little memory") {
  const TextFolder data;
  for (const char* name : {"sparse.csv", "sparse.tsv", "sparse.jsonl"}) {
    CAPTURE(name);
    for (const std::string start : {"", "path,label\na.jpg,cat\n"}) {
      const fs::path file = data.write(name, start);
      fs::resize_file(file, std::uintmax_t{4} << 30);
      std::string images, arrays;
      const std::int64_t grown = test::peak_growth([&] {
        images = test::message_of<ConfigError>([&] { ImageManifest{file}; });
        arrays = test::message_of<ConfigError>([&] { NpyManifest{file, {}}; });
      });
      CHECK(contains(images, "must be text, got a zero at byte " + std::to_string(start.size())));
      CHECK(contains(arrays, "must be text, got a zero at byte"));
      CHECK(grown < 64 << 20);
    }
  }
}

TEST_CASE("a zero is refused wherever it is, as UTF-16 has it, too") {
  const TextFolder data;
  using std::string_literals::operator""s;
  CHECK(contains(data.refusal("zero.csv", "path\na.jpg\0\n"s), "zero at byte 10"));
  CHECK(contains(data.refusal("wide.csv", "p\0a\0t\0h\0"s), "save it as UTF-8"));
  CHECK(contains(data.refusal("far.csv", "path\n" + std::string(9 << 20, '\n') + '\0'),
                 "zero at byte " + std::to_string((9 << 20) + 5)));
}

TEST_CASE("a row has at most 1 MiB, a field that does not end either") {
  const TextFolder data;
  const std::string most(std::size_t{1} << 20, 'x');
  const std::string fits = "path,notes\na.jpg," + most.substr(6) + "\n";
  CHECK(ImageManifest(data.write("fits.csv", fits)).size() == 1);
  CHECK(ImageManifest(data.write("fits-last.csv", fits.substr(0, fits.size() - 1))).size() == 1);
  for (const std::string& row : {"a.jpg," + most.substr(5) + "\n", "a.jpg," + most + most,
                                 "a.jpg,\"" + most + most, most + most}) {
    const std::string said = data.refusal("long.csv", "path,notes\n" + row);
    CHECK(contains(said, "long.csv:2: a row must be at most 1 MiB long"));
    CHECK(said.size() < 1000);
  }
  CHECK(contains(data.refusal("open.csv", "path,notes\na.jpg,\"x\n"), "a quoted field must end"));
  const std::string line = R"({"path": "a.jpg", "notes": ")" + most + "\"}\n";
  CHECK(contains(data.refusal("long.jsonl", line), "long.jsonl:1: a line must be at most 1 MiB"));
}

TEST_CASE("a list that takes more memory than it may is refused before it takes it") {
  const TextFolder data;
  std::string text = "path,label\n";
  for (int i = 0; i < 2000; ++i)
    text += "a.jpg,label" + std::to_string(i) + "\n";
  detail::ManifestRequest request{.file = data.write("many.csv", text).native(),
                                  .root = fs::canonical(data.root.path()).native()};
  CHECK(detail::read_manifest(request).files.size() == 2000);
  request.memory = 64 << 10;
  const auto said = test::message_of<ResourceError>([&] { detail::read_manifest(request); });
  CHECK(contains(said, "many.csv:"));
  CHECK(contains(said, "divide the manifest"));
}

TEST_CASE("columns of any length are named in short") {
  const TextFolder data;
  const std::string name(900'000, 'n');
  CHECK(data.refusal("name.csv", "notes," + name + "\na,b\n").size() < 2000);
  CHECK(data.refusal("name.jsonl", "{\"" + name + "\": 1}\n").size() < 2000);
  CHECK(data.refusal("label.csv", "path,label\na.jpg," + name + "\n").size() < 2000);
}
