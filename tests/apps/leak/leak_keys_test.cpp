#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/tests/apps/moved_keys.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/started_program.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace app = headrace::app;

namespace {

/// Spectrograms of small whole decibels: exact in float16.
class Segments final : public headrace::Source {
 public:
  std::string name() const override { return "segments"; }
  std::int64_t size() const override { return 200; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("mel", headrace::DType::float16, {64, 5}),
            headrace::FieldSpec::fixed("label", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    auto* cells =
        static_cast<std::uint16_t*>(sample.make("mel", headrace::DType::float16, {64, 5}).raw());
    for (std::int64_t i = 0; i < 320; ++i)
      cells[i] = static_cast<std::uint16_t>(0xc000 + 7 * index + i);
    sample.set_scalar<std::int64_t>("label", index % 2);
  }
};

app::LeakFile leak_file() {
  app::LeakFile file;
  file.longs = 1;
  file.shorts = 1;
  file.mels = 64;
  file.frames = 5;
  file.mean = -30.5;
  return file;
}

}  // namespace

TEST_CASE("the leak job's keys of the old form are told the new ones") {
  const std::string listed = " is now an entry of the list augment: write ";
  const std::string scheduled = " is now a parameter of training.schedule: write ";
  headrace::test::check_moved(
      app::old_leak_keys(),
      {{"data:\n  spec_augment:\n    enabled: true\n    time_masks: 2\n",
        "2:3: data.spec_augment" + listed + "\"augment: [{spec_augment: {time_masks: 2}}]\""},
       {"data: {spec_augment: {enabled: true}}\n",
        "1:8: data.spec_augment" + listed + "\"augment: [spec_augment]\""},
       {"data: {spec_augment: {enabled: false}}\n",
        "1:8: data.spec_augment" + listed + "\"augment: []\""},
       {"data: {cache: {memory: 1GiB}}\n",
        "1:8: data.cache is now not a key: this job keeps whole files in memory (data.resident)"},
       {"training:\n  auxiliary: 0.3\n",
        "2:3: training.auxiliary is now loss.auxiliary: write \"loss: {auxiliary: 0.3}\""},
       {"training:\n  leak_boost: 2\n",
        "2:3: training.leak_boost is now loss.leak_boost: write \"loss: {leak_boost: 2}\""},
       {"augment: [gain]\ndata: {spec_augment: {enabled: true}}\n",
        "2:8: data.spec_augment" + listed + "\"augment: [gain, spec_augment]\""},
       {"training:\n  warmup_epochs: 1\n",
        "2:3: training.warmup_epochs" + scheduled +
            "\"training: {schedule: {cosine: {warmup_epochs: 1, lowest: 0.000001}}}\""},
       {"training:\n  lowest_rate: 1e-5\n",
        "2:3: training.lowest_rate" + scheduled +
            "\"training: {schedule: {cosine: {warmup_epochs: 3, lowest: 1e-5}}}\""}});
  CHECK(headrace::test::contains(
      headrace::test::bench_refusal("kind: leak\ndata:\n  spec_augment: {enabled: true}\n"),
      "write \"augment: [spec_augment]\""));
}

TEST_CASE("every key that advice names is a key of the leak job") {
  app::LeakConfig config;
  app::Fields fields;
  describe(fields, config);
  headrace::test::check_advised_keys(fields.paths());
}

// What the job delivered before it had a list of operations.
TEST_CASE("the leak job's batches are those of the section spec_augment, byte for byte") {
  app::LeakConfig config;
  config.training.batch = 48;
  const auto hash = [&](const std::shared_ptr<const headrace::Source>& segments) {
    return headrace::test::hash_of(
        app::leak_training_pipeline(segments, leak_file(), config, headrace::Device::cpu())
            .build({.runtime = headrace::Runtime({.threads = 2})}));
  };
  const auto segments = std::make_shared<const Segments>();
  const auto table =
      std::make_shared<headrace::DeviceTable>(segments, headrace::DeviceTableOptions{});
  table->load();
  CHECK(hash(segments) == 17432358374698588067ULL);
  CHECK(hash(table) == 8179767901363104286ULL);
  config.augment = app::augment_list("[spec_augment]");
  CHECK(hash(segments) == 4563612353883130483ULL);
  CHECK(hash(table) == 3737858730614997806ULL);
}
