// What patches of volumes unpack, for advice on it.
#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/learn/volume_job.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

// An epoch of small patches of whole volumes in one block each.
class Epoch {
 public:
  Epoch() {
    config_.task.data.train = {.source = RecordsIn::volumes, .folder = files_.path()};
    config_.task.data.split.validation = 0.25;
    config_.task.data.split.test = 0.0;
    config_.task.volume.store = store_.path();
    config_.task.volume.patch = {4, 4, 4};
    config_.task.volume.patches = 8;
    config_.task.augment = {};
    config_.training.batch = 2;
    config_.threads.loader = 1;
  }

  std::optional<monitor::ReadFacts> reads(Bytes cache, std::int64_t visit) {
    config_.task.volume.cache = cache;
    config_.task.volume.visit = visit;
    const LoaderJob job = volume_loader_job(config_);
    ReadWindow window;
    Loader loader = job.build();
    for ([[maybe_unused]] Batch& batch : loader.epoch(0)) {
    }
    return window.facts();
  }
  std::size_t largest_block() const {
    std::size_t bytes = 0;
    for (const VolumeCase& one : open_volumes(config_).set.cases)
      bytes = std::max(bytes, one.images.front()->info().block_bytes());
    return bytes;
  }

 private:
  test::NnUNetRawFiles files_;
  test::TemporaryFolder store_;
  SegmentationConfig config_;
};

double amplification(const monitor::ReadFacts& reads) {
  return reads.bytes_read / reads.bytes_used;
}

}  // namespace

TEST_CASE("blocks that are unpacked for each patch anew are told of, with a longer visit") {
  Epoch epoch;
  const Bytes one_block{epoch.largest_block()};
  const auto hopping = epoch.reads(one_block, 1);
  REQUIRE(hopping);
  CHECK(amplification(*hopping) > 4.0);
  CHECK(hopping->setting == "volume.visit");
  CHECK(hopping->old_value == "1");
  CHECK(hopping->new_value == "8");
  const auto staying = epoch.reads(one_block, 8);
  REQUIRE(staying);
  CHECK(staying->setting == "volume.cache");
}

TEST_CASE("nothing is told of blocks that stay, whatever was unpacked of them") {
  Epoch epoch;
  CHECK_FALSE(epoch.reads(Bytes{1ULL << 30}, 1));
}

}  // namespace headrace::app
