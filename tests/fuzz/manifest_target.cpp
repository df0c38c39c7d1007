// A manifest of any content lists files of its root, each with labels, groups, weights and splits
// that can be, or is a ConfigError.
//
// Input: which columns are asked for, and how the text is written (1 byte); the text.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/known_folder.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>

using namespace headrace;

namespace {

constexpr std::array names{"list.csv", "list.tsv", "list.jsonl"};

ImageManifestOptions options_of(unsigned how) {
  ImageManifestOptions options;
  if ((how & 4U) != 0) options.columns.mask = "mask";
  if ((how & 8U) != 0) options.classes = {"a", "b", "c"};
  if ((how & 16U) != 0) options.columns.label_separator = ";";
  if ((how & 32U) != 0) options.columns.labels = {"a", "b"};
  if ((how & 64U) != 0) options.columns.path = "file";
  if ((how & 128U) != 0) options.columns.weight = "share";
  return options;
}

template <class Values>
void check_count(const Values& values, const ImageManifest& manifest) {
  if (!values.empty() && values.size() != static_cast<std::size_t>(manifest.size()))
    test::finding("a record has no value, or two");
}

void check_record(const ImageManifest& manifest, std::int64_t record,
                  const test::KnownFolder& folder) {
  if (!folder.holds(manifest.path(record)))
    test::finding("a manifest lists a file that is not there");
  for (const std::int64_t label : manifest.label_set(record)) {
    if (label < 0 || static_cast<std::size_t>(label) >= manifest.classes().size())
      test::finding("a label has no class");
  }
  Sample sample;
  manifest.read(record, sample);
}

void check(const ImageManifest& manifest, const test::KnownFolder& folder) {
  if (manifest.size() < 1) test::finding("a manifest lists nothing");
  check_count(manifest.labels(), manifest);
  check_count(manifest.splits(), manifest);
  check_count(manifest.groups(), manifest);
  check_count(manifest.weights(), manifest);
  for (const std::int64_t group : manifest.groups()) {
    if (group < 0 || static_cast<std::size_t>(group) >= manifest.group_names().size())
      test::finding("a group has no name");
  }
  for (const double weight : manifest.weights()) {
    if (!std::isfinite(weight) || weight < 0) test::finding("a weight is none");
  }
  for (std::int64_t record = 0; record < manifest.size() && record < 20; ++record)
    check_record(manifest, record, folder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::KnownFolder folder;
  if (size == 0) return 0;
  const std::string file = folder.root() + "/" + names[data[0] % names.size()];
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data + 1), static_cast<std::streamsize>(size - 1));
  try {
    check(ImageManifest(file, options_of(data[0])), folder);
  } catch (const ConfigError&) {
  }
  return 0;
}
