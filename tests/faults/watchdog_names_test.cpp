#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/faults/watchdog_reports.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// Its records' names are asked for through a function.
struct NamedSource final : TableSource {
  NamedSource(const TableOptions& options, Hook hook, std::function<void()> asked)
      : TableSource(options, std::move(hook)), on_name(std::move(asked)) {}
  std::string origin(std::int64_t index) const override {
    on_name();
    return TableSource::origin(index);
  }
  std::function<void()> on_name;
};

}  // namespace

TEST_CASE("a source that is asked for a name may take its time, while loaders come and go") {
  Watchdog watchdog("a slow origin()");
  const Runtime runtime({.threads = 2});
  Door stage;
  Door name;
  Reports reports;
  std::atomic<std::int64_t> inside{0};
  const auto rows = [&runtime] {
    std::int64_t count = 0;
    Loader other = Pipeline::from(table({.records = 16}))
                       .batch({.size = 8})
                       .build({.join_epochs = false, .runtime = runtime});
    for (Batch& batch : other.epoch(0))
      count += batch.size();
    return count;
  };
  const auto source = std::make_shared<const NamedSource>(
      TableOptions{.records = 8},
      [&](std::int64_t index) {
        if (index == 0) stage.pass();
      },
      [&] {
        inside = rows();
        name.pass();
      });
  Loader loader =
      Pipeline::from(source)
          .batch({.size = 8})
          .build({.join_epochs = false, .watchdog = reports.after(250ms), .runtime = runtime});
  std::jthread trainer([&] { CHECK(loader.next().status == NextBatch::Status::ready); });
  CHECK(eventually([&] { return name.waiting() > 0; }));
  CHECK(inside == 16);
  CHECK(rows() == 16);
  // Before a stage was entered all may have stood still, which is told, too.
  const std::vector<HangReport> early = reports.all();
  CHECK(std::ranges::all_of(early, [](const HangReport& report) { return report.stages.empty(); }));
  name.open();
  CHECK(eventually([&] { return reports.name(0); }));
  stage.open();
  trainer.join();
  const std::vector<HangReport> all = reports.all();
  CHECK(std::ranges::any_of(all, [](const HangReport& report) {
    return !report.stages.empty() && report.stages.front().sample.file == "row-0";
  }));
}

TEST_CASE("a source lives for as long as it is asked for a name, whatever became of its loader") {
  Watchdog watchdog("a loader that ends while its source is asked");
  const Runtime runtime({.threads = 1});
  Door stage;
  Door name;
  Reports reports;
  auto source = std::make_shared<const NamedSource>(
      TableOptions{.records = 8}, [&](std::int64_t) { stage.pass(); }, [&] { name.pass(); });
  const std::weak_ptr<const NamedSource> seen = source;
  auto other = std::make_optional<Loader>(Pipeline::from(std::move(source))
                                              .batch({.size = 8})
                                              .build({.join_epochs = false, .runtime = runtime}));
  Loader watched =
      Pipeline::from(table({.records = 8}))
          .batch({.size = 8})
          .build({.join_epochs = false, .watchdog = reports.after(250ms), .runtime = runtime});
  CHECK(other->next(1ms).status == NextBatch::Status::timeout);
  std::jthread trainer([&] { CHECK(watched.next().status == NextBatch::Status::ready); });
  CHECK(eventually([&] { return name.waiting() > 0; }));
  stage.open();
  trainer.join();
  other.reset();
  CHECK_FALSE(seen.expired());
  name.open();
  CHECK(eventually([&] { return seen.expired(); }));
}
