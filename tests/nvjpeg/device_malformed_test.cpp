// Malformed JPEGs on hardware, in a suite of their own, which a check runs last: what a driver
// makes of them nobody knows before.
#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/support/skip.h>

#include "decoding.h"
#include "hardware.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#ifndef HEADRACE_MALFORMED_SUITE
#define HEADRACE_MALFORMED_SUITE "gpu malformed"
#endif

namespace headrace::test {
namespace {

/// What became of each file, in order, in one loader as a trainer has it: its pixels, or nothing of
/// a bad sample.
std::vector<std::optional<Pixels>> results(const ImageGeometry& crop, std::vector<Bytes> files) {
  Loader loader = Pipeline::from(std::make_shared<const Files>(std::move(files)))
                      .on_bad_sample({.rule = BadSamples::Rule::shrink})
                      .then(DecodeImage{.crop = crop, .device = gpu})
                      .batch({.size = 1})
                      .to(gpu)
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  std::vector<std::optional<Pixels>> found;
  found.reserve(512);
  for (const std::string& row : read_epoch(loader, gpu, 0, {"valid", "image"})) {
    found.emplace_back();
    if (row[0] != 0) found.back().emplace(row.begin() + 1, row.end());
  }
  return found;
}

TEST_CASE("Odd and broken files do a device no harm, and those without an end stay bad samples" *
          doctest::test_suite(HEADRACE_MALFORMED_SUITE)) {
  if (!device_present()) return skip("needs a GPU");
  if (!nvjpeg_present()) return skip("needs nvJPEG");
  const std::vector<OddFile> odd = odd_files();
  OddFiles cut;
  cut.cuts("photograph", photograph(), 60);
  std::vector<Bytes> files;
  for (const OddFile& file : odd)
    files.push_back(file.bytes);
  for (const OddFile& file : cut.files())
    files.push_back(file.bytes);
  const auto found = results(ResizeTo{16, 16}, files);
  REQUIRE(found.size() == files.size());
  for (std::size_t i = 0; i < odd.size(); ++i) {
    CAPTURE(odd[i].name);
    if (odd[i].must == OddFile::Must::show) CHECK(found[i].has_value());
  }
  for (std::size_t i = odd.size(); i < found.size(); ++i) {
    CAPTURE(i - odd.size());
    CHECK(!found[i].has_value());
  }
  const Bytes file = photograph();
  const DecodeImage whole{.crop = WholeImage{113, 151}};
  CHECK(decoded(whole, gpu, file) == decoded(whole, gpu, file));
}

TEST_CASE("A file with bytes changed is a picture or a bad sample, and the next is as it was" *
          doctest::test_suite(HEADRACE_MALFORMED_SUITE)) {
  if (!device_present()) return skip("needs a GPU");
  if (!nvjpeg_present()) return skip("needs nvJPEG");
  const Bytes file = photograph();
  const DecodeImage whole{.crop = WholeImage{113, 151}};
  const Pixels wanted = decoded(whole, gpu, file);
  std::mt19937 random(11);
  constexpr std::size_t changed_files = 400;
  constexpr std::size_t every = 50;  // so many changed ones stand between two that are whole
  std::vector<Bytes> files;
  for (std::size_t i = 0; i < changed_files; ++i) {
    Bytes& changed = files.emplace_back(file);
    for (unsigned k = 0; k < 1 + random() % 4; ++k)
      changed[random() % changed.size()] = static_cast<Bytes::value_type>(random());
    if (i % every == every - 1) files.push_back(file);
  }
  const auto found = results(whole.crop, files);
  REQUIRE(found.size() == files.size());
  std::ptrdiff_t bad = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    if (i % (every + 1) == every) {
      CHECK(found[i] == wanted);
    } else {
      bad += found[i] ? 0 : 1;
    }
  }
  CHECK(bad > 0);
  CHECK(bad < static_cast<std::ptrdiff_t>(changed_files));
}

}  // namespace
}  // namespace headrace::test
