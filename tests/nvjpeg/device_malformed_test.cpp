// Malformed JPEGs on hardware, in a suite of their own, which a check runs last: what a driver
// makes of them nobody knows before.
#include <headrace/engine/base/error.h>
#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/support/skip.h>

#include "decoding.h"
#include "hardware.h"

#include <random>
#include <vector>

#ifndef HEADRACE_MALFORMED_SUITE
#define HEADRACE_MALFORMED_SUITE "gpu malformed"
#endif

namespace headrace::test {
namespace {

bool refused(const Bytes& file) {
  try {
    decoded({.crop = ResizeTo{16, 16}}, gpu, file);
  } catch (const DataError&) {
    return true;
  }
  return false;
}

TEST_CASE("Odd and broken files do a device no harm, and those without an end stay bad samples" *
          doctest::test_suite(HEADRACE_MALFORMED_SUITE)) {
  if (!device_present()) return skip("needs a GPU");
  if (!nvjpeg_present()) return skip("needs nvJPEG");
  for (const OddFile& file : odd_files()) {
    CAPTURE(file.name);
    const bool bad = refused(file.bytes);
    if (file.must == OddFile::Must::show) CHECK(!bad);
  }
  OddFiles cut;
  cut.cuts("photograph", photograph(), 60);
  for (const OddFile& file : cut.files())
    CHECK(refused(file.bytes));
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
  int bad = 0;
  constexpr int files = 400;
  for (int i = 0; i < files; ++i) {
    CAPTURE(i);
    Bytes changed = file;
    for (unsigned k = 0; k < 1 + random() % 4; ++k)
      changed[random() % changed.size()] = static_cast<Bytes::value_type>(random());
    bad += static_cast<int>(refused(changed));
    if (i % 50 == 0) CHECK(decoded(whole, gpu, file) == wanted);
  }
  CHECK(bad > 0);
  CHECK(bad < files);
  CHECK(decoded(whole, gpu, file) == wanted);
}

}  // namespace
}  // namespace headrace::test
