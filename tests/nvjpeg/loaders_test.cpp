// Loaders whose pictures a device decodes: their bytes depend on the records alone, and what they
// held is given back.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/loaders/picture_pairs.h>

#include "begin.h"
#include "decoding.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headrace::test {
namespace {

/// Photographs of many sizes, some of which a device does not take, with masks.
class Pictures final : public PicturePairs {
 public:
  static constexpr int count = 40;
  /// So many records, the first ones, have a scan without an end.
  explicit Pictures(int broken = 0) {
    for (int i = 0; i < count; ++i) {
      const int width = 60 + 7 * (i % 9);
      const int height = 50 + 5 * (i % 7);
      Bytes file = encode_jpeg(
          {.width = width, .height = height, .h_samp = 1 + i % 2, .progressive = i % 5 == 4},
          picture(width, height, 3, static_cast<unsigned>(i)));
      if (i < broken) file.resize(file.size() / 2);
      add(with_orientation(file, 1 + i % 4),
          encode_png({.width = width, .height = height, .colour = PNG_COLOR_TYPE_GRAY},
                     picture(width, height, 1, static_cast<unsigned>(i)),
                     static_cast<std::size_t>(width)));
    }
  }
};

struct Wanted {
  Device on;
  int threads = 2;
  double share = 1.0;
  int broken = 0;
  BadSamples::Rule rule = BadSamples::Rule::fail;
};

Loader loader_of(const Wanted& wanted) {
  return Pipeline::from(Pictures(wanted.broken))
      .seed(5)
      .order(Shuffled{.seed = 3})
      .on_bad_sample({.rule = wanted.rule})
      .then(DecodeImage{.crop = RandomResizedCrop{21, 17},
                        .flip = 0.5F,
                        .prescale = false,
                        .masks = {"mask"},
                        .device = wanted.on,
                        .device_share = wanted.share})
      .batch({.size = 8})
      .to(wanted.on)
      .build({.runtime = Runtime({.threads = wanted.threads})});
}

std::vector<std::string> fields_of(const Wanted& wanted) {
  std::vector<std::string> fields = {"image", "mask"};
  if (wanted.rule == BadSamples::Rule::shrink) fields.emplace_back("valid");
  return fields;
}

/// Every byte of two epochs.
std::vector<std::string> two_epochs(const Wanted& wanted) {
  Loader loader = loader_of(wanted);
  std::vector<std::string> batches = read_epoch(loader, wanted.on, 0, fields_of(wanted));
  const std::vector<std::string> second = read_epoch(loader, wanted.on, 1, fields_of(wanted));
  batches.insert(batches.end(), second.begin(), second.end());
  return batches;
}

TEST_CASE("Batches decoded on a device are the same for 1, 2 and 8 threads, and leave nothing") {
  const std::vector<std::string> wanted = two_epochs({.on = Device::cpu()});
  const device::Calls before = device::calls();
  for (const int threads : {1, 2, 8}) {
    for (const bool locked : {true, false}) {
      CAPTURE(threads);
      CAPTURE(locked);
      begin({.delay_us = 300}, {.devices = 1, .refuse_page_locks = !locked});
      CHECK(two_epochs({.on = gpu, .threads = threads}) == wanted);
      CHECK(nvjpeg::calls().decodes >= 64);  // and of the next epoch
      CHECK(nvjpeg::calls().overlaps == 0);
      CHECK(nvjpeg::calls().live_states == 0);
      CHECK(nvjpeg::calls().live_headers == 0);
      CHECK(nvjpeg::calls().live_handles == 0);
      CHECK(device::calls().live_allocations == before.live_allocations);
      CHECK(device::calls().live_streams == before.live_streams);
      CHECK(device::calls().live_events == before.live_events);
      CHECK(device::calls().page_locks == before.page_locks);
    }
  }
}

TEST_CASE("A shared decode gives the same records to the device in every run and on all threads") {
  const std::vector<std::string> wanted = two_epochs({.on = Device::cpu()});
  std::vector<std::int64_t> on_device;
  for (const double share : {0.0, 0.5, 1.0}) {
    for (const int threads : {1, 2, 8}) {
      CAPTURE(share);
      begin({.delay_us = 100});
      const DeviceDecodes decodes = decodes_in(
          [&] { CHECK(two_epochs({.on = gpu, .threads = threads, .share = share}) == wanted); });
      on_device.push_back(decodes.on_device);
    }
  }
  // Two epochs of 32 files that it takes, and what was begun of the next.
  CHECK(on_device[0] == 0);
  CHECK(on_device[3] > 20);
  CHECK(on_device[3] < 60);
  CHECK(on_device[6] >= 64);
}

/// Pixels that say who made them: nvJPEG's stand-in turns every byte of a device's picture round.
std::vector<std::string> marked_epoch(double share, int threads, std::int64_t batch) {
  begin({.delay_us = 50, .marks = true}, {.devices = 1, .copy_delay_us = 100});
  std::vector<Bytes> files;
  files.reserve(64);
  for (unsigned i = 0; i < 64; ++i)
    files.push_back(photograph(40 + static_cast<int>(i % 5), 30, 2, 2, i));
  Loader loader =
      Pipeline::from(std::make_shared<const Files>(std::move(files)))
          .then(DecodeImage{
              .crop = ResizeTo{12, 10}, .prescale = false, .device = gpu, .device_share = share})
          .batch({.size = batch})
          .to(gpu)
          .build({.runtime = Runtime({.threads = threads})});
  std::string all;
  for (const std::string& rows : read_epoch(loader, gpu, 0, {"image"}))
    all += rows;
  std::vector<std::string> pictures;
  pictures.reserve(64);
  for (std::size_t at = 0; at < all.size(); at += 360)
    pictures.push_back(all.substr(at, 360));
  return pictures;
}

TEST_CASE("Who decodes a record depends on nothing but its index") {
  const std::vector<std::string> device = marked_epoch(1.0, 2, 8);
  const std::vector<std::string> cpu = marked_epoch(0.0, 2, 8);
  const std::vector<std::string> shared = marked_epoch(0.5, 2, 8);
  int by_device = 0;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    REQUIRE(device[i] != cpu[i]);
    const bool there = shared[i] == device[i];
    CHECK((there || shared[i] == cpu[i]));
    by_device += there ? 1 : 0;
  }
  CHECK(by_device > 16);
  CHECK(by_device < 48);
  for (const int threads : {1, 3, 8}) {
    for (const std::int64_t batch : {1, 5, 64})
      CHECK(marked_epoch(0.5, threads, batch) == shared);
  }
  const std::vector<std::string> fewer = marked_epoch(0.25, 2, 8);
  for (std::size_t i = 0; i < fewer.size(); ++i)  // a smaller share is a part of a larger one
    CHECK((fewer[i] == cpu[i] || shared[i] == device[i]));
}

/// A twin of the share that asks who is at hand instead of which record it is: what must not be.
struct ByTurns {
  std::shared_ptr<std::atomic<int>> turn = std::make_shared<std::atomic<int>>(0);
  DecodeImage first;
  DecodeImage second;

  std::string name() const { return "decode"; }
  Schema schema(const Schema& in) const { return first.schema(in); }
  std::optional<DeviceWork> device_work() const { return first.device_work(); }
  void operator()(Sample& sample, Random& random) const {
    const bool waits = turn->fetch_add(1) % 2 == 0;
    std::this_thread::sleep_for(std::chrono::microseconds(waits ? 300 : 20));
    (turn->load() % 2 == 0 ? first : second)(sample, random);
  }
};

TEST_CASE("A choice by timing would show: the comparison above finds it") {
  const auto epoch = [](int threads) {
    begin({.marks = true}, {.devices = 1, .copy_delay_us = 0});
    std::vector<Bytes> files;
    files.reserve(64);
    for (unsigned i = 0; i < 64; ++i)
      files.push_back(photograph(40, 30, 2, 2, i));
    const DecodeImage op{.crop = ResizeTo{12, 10}, .device = gpu};
    DecodeImage none = op;
    none.device_share = 0.0;
    Loader loader = Pipeline::from(std::make_shared<const Files>(std::move(files)))
                        .then(ByTurns{.first = op, .second = none})
                        .batch({.size = 8})
                        .to(gpu)
                        .build({.runtime = Runtime({.threads = threads})});
    return read_epoch(loader, gpu, 0, {"image"});
  };
  const auto one = epoch(1);
  bool differs = false;
  for (int run = 0; run < 20 && !differs; ++run)
    differs = epoch(8) != one;
  CHECK(differs);
}

TEST_CASE("An epoch goes on from its middle with the same bytes") {
  const Wanted wanted{.on = gpu, .threads = 3, .share = 0.5};
  begin({.delay_us = 100});
  const std::vector<std::string> whole = two_epochs(wanted);
  Loader loader = loader_of(wanted);
  Position late = loader.position();
  late.position = 16;
  loader.seek(late);
  const std::vector<std::string> rest = read_epoch(loader, gpu, 0, fields_of(wanted));
  REQUIRE(rest.size() == 3);
  CHECK(std::equal(rest.begin(), rest.end(), whole.begin() + 2));
}

TEST_CASE("Bad files are replaced, and shrink their batch, as on the CPU") {
  for (const BadSamples::Rule rule : {BadSamples::Rule::replace, BadSamples::Rule::shrink}) {
    const std::vector<std::string> wanted =
        two_epochs({.on = Device::cpu(), .broken = 9, .rule = rule});
    for (const int threads : {1, 4}) {
      begin({.delay_us = 200});
      CHECK(two_epochs({.on = gpu, .threads = threads, .broken = 9, .rule = rule}) == wanted);
    }
  }
  begin();
  CHECK_THROWS_AS(two_epochs({.on = gpu, .broken = 9}), DataError);
}

TEST_CASE("A decode on a device is refused where its pixels would not be found") {
  begin();
  const auto files = std::make_shared<const Files>(std::vector<Bytes>{photograph()});
  const DecodeImage op{.crop = ResizeTo{8, 8}, .device = gpu};
  CHECK_THROWS_WITH_AS(Pipeline::from(files).then(op).batch({.size = 1}).build(),
                       doctest::Contains("works on cuda:0, batches are delivered to cpu"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(
      Pipeline::from(files).then(op).then([](Sample&) {}).batch({.size = 1}).to(gpu).build(),
      doctest::Contains("would find nothing"), ConfigError);
  const DecodedCache cache(files, {.bytes = 1_MiB});
  CHECK_THROWS_WITH_AS(
      Pipeline::from(cache.source()).then(cache.keep(op)).batch({.size = 1}).to(gpu).build(),
      doctest::Contains("cannot stand inside another one"), ConfigError);
}

TEST_CASE("The graph says what decodes, and the forecast what it takes") {
  begin();
  const auto files = std::make_shared<const Files>(std::vector<Bytes>{photograph()});
  const auto build = [&](const DecodeImage& op, Device to) {
    return Pipeline::from(files).then(op).batch({.size = 4}).to(to).build();
  };
  const Loader on_device = build({.crop = ResizeTo{8, 8}, .device = gpu, .device_share = 0.4}, gpu);
  const Loader beside = build({.crop = ResizeTo{8, 8}}, gpu);
  CHECK(on_device.describe().find(
            "decode on the device (nvJPEG 13.4.1, hardware engines; for 40 % of the records)") !=
        std::string::npos);
  CHECK(on_device.forecast().device_bytes > beside.forecast().device_bytes + (24U << 20));
  CHECK(on_device.forecast().total() > beside.forecast().total() + 4 * (256U << 10));
}

}  // namespace
}  // namespace headrace::test
