// What is unpacked out of chunks, from a source to who looks at the run.
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/measure/measure_pace.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using namespace headrace;

constexpr std::int64_t table_rows = 2048;
constexpr std::int64_t chunk = 64;
constexpr std::size_t row_bytes = 256;

// A table in chunks of which four fit into memory.
app::PlannedSource planned(const test::TemporaryFolder& folder) {
  const std::filesystem::path file = folder.path() / "rows.h5";
  Hdf5Writer writer(file);
  writer.add("x", DType::uint8, table_rows, {row_bytes},
             {.chunk_rows = chunk, .codec = Hdf5Codec::lz4});
  writer.append("x", Tensor::zeros(DType::uint8, {table_rows, row_bytes}));
  writer.finish();
  return app::plan_table(
      {.file = file, .fields = {{.name = "x", .dataset = "x"}}, .memory = 4 * chunk * row_bytes});
}

Pipeline in_any_order(std::shared_ptr<const Source> source) {
  return Pipeline::from(std::move(source)).order(Shuffled{.seed = 7}).batch({.size = 32});
}

double amplification(const monitor::ReadFacts& reads) {
  return reads.bytes_read / reads.bytes_used;
}

}  // namespace

TEST_CASE("rows in any order out of long chunks are counted as far as a window goes") {
  const test::TemporaryFolder folder;
  const app::PlannedSource plan = planned(folder);
  app::ReadWindow before_opening;
  auto source = plan.open();
  app::ReadWindow window;
  CHECK_FALSE(window.facts());
  {
    Loader loader = in_any_order(source).build({.runtime = Runtime({.threads = 2})});
    for ([[maybe_unused]] Batch& batch : loader.epoch(0)) {
    }
  }
  const auto reads = window.facts();
  REQUIRE(reads);
  CHECK(reads->bytes_used >= table_rows * row_bytes);  // and some of the next epoch
  CHECK(amplification(*reads) > 4.0);
  CHECK(reads->setting == "headrace pack table --layout");
  const auto since_opening = before_opening.facts();
  REQUIRE(since_opening);
  CHECK(since_opening->bytes_read == reads->bytes_read);
  window.begin();
  CHECK_FALSE(window.facts());
  source.reset();
  CHECK_FALSE(before_opening.facts());
}

TEST_CASE("a trial of a pace says what its window unpacked, to another process as well") {
  const test::TemporaryFolder folder;
  const app::LoaderJob job{.source = planned(folder),
                           .pipeline = in_any_order,
                           .options = {},
                           .runtime = {.threads = 2, .io_threads = 1}};
  const app::PaceResult result = app::pace_of_loader(job, {.seconds = 0.05, .least_steps = 40});
  REQUIRE(result.reads);
  CHECK(amplification(*result.reads) > 4.0);
  const app::PaceResult told = app::parse_pace_result(to_json(result));
  REQUIRE(told.reads);
  CHECK(told.reads->bytes_read == result.reads->bytes_read);
  CHECK(told.reads->why == "rows in any order out of chunks of 64 rows");
  CHECK(told.reads->setting == result.reads->setting);
  CHECK(told.reads->old_value == result.reads->old_value);
  CHECK(told.reads->new_value == "contiguous");
  CHECK(told.reads->predicted == 1.0);
  CHECK_FALSE(app::parse_pace_result(to_json(app::PaceResult{})).reads);
}
