#include <headrace/engine/headrace.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/loaders/device_table_data.h>
#include <headrace/tests/loaders/gathered.h>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

struct Run {
  int threads = 2;
  Tail tail = Tail::shorter;
  Ranks ranks{};
  std::int64_t batch = 8;
};

Pipeline ordered(std::shared_ptr<const Source> source, const Run& run) {
  return Pipeline::from(std::move(source))
      .order(Shuffled{.seed = 3})
      .ranks(run.ranks)
      .batch({.size = run.batch, .tail = run.tail});
}

Loader plain(const std::shared_ptr<const Source>& source, const Run& run) {
  return ordered(source, run).build({.runtime = Runtime({.threads = run.threads})});
}

Loader resident(const std::shared_ptr<const DeviceTable>& table, const Run& run) {
  return ordered(table, run)
      .then(table->gather_step())
      .build({.runtime = Runtime({.threads = run.threads})});
}

std::shared_ptr<const DeviceTable> loaded(std::shared_ptr<const Source> source) {
  auto table = std::make_shared<DeviceTable>(std::move(source));
  table->load();
  return table;
}

/// Every field of the source, and "valid", batch by batch, of the epochs from `first` on.
std::vector<std::string> stream(Loader& loader, const Schema& fields, std::int64_t first = 0) {
  std::vector<std::string> batches;
  for (std::int64_t epoch = first; epoch < 2; ++epoch)
    for (Batch& batch : loader.epoch(epoch))
      batches.push_back(all_fields(batch, fields));
  return batches;
}

}  // namespace

TEST_CASE("batches out of a table are those of the source: every field, tail and thread count") {
  for (const bool gathers : {true, false}) {
    const auto source = every_layout(101, gathers);
    const auto table = loaded(source);
    CHECK(table->size() == 101);
    for (const Tail tail : {Tail::shorter, Tail::drop, Tail::pad}) {
      for (const std::int64_t size : {8, 101, 256}) {
        if (size > 101 && tail == Tail::drop) continue;
        Run run{.threads = 1, .tail = tail, .batch = size};
        Loader wanted = plain(source, run);
        const auto expected = stream(wanted, source->fields());
        for (const int threads : {1, 2, 8}) {
          run.threads = threads;
          Loader loader = resident(table, run);
          CHECK(same(stream(loader, source->fields()), expected));
        }
      }
    }
  }
}

TEST_CASE("another order gives other batches") {
  const auto source = every_layout(101, true);
  Loader one = resident(loaded(source), {});
  Loader other = Pipeline::from(source).order(Shuffled{.seed = 4}).batch({.size = 8}).build();
  CHECK_FALSE(same(stream(one, source->fields()), stream(other, source->fields())));
}

TEST_CASE("ranks and resuming are those of the source") {
  const auto source = every_layout(101, true);
  const auto table = loaded(source);
  for (const int rank : {0, 1}) {
    for (const Tail tail : {Tail::shorter, Tail::pad}) {
      const Run run{.tail = tail, .ranks = {.rank = rank, .world = 2}};
      Loader wanted = plain(source, run);
      Loader loader = resident(table, run);
      CHECK(same(stream(loader, source->fields()), stream(wanted, source->fields())));
    }
  }
  Loader interrupted = resident(table, {});
  Position after;
  std::int64_t seen = 0;
  for (Batch& batch : interrupted.epoch(1)) {
    after = batch.position_after();
    if (++seen == 5) break;
  }
  Loader resumed = resident(table, {.threads = 8});
  resumed.seek(after);
  Loader wanted = plain(source, {});
  wanted.seek(after);
  CHECK(same(stream(resumed, source->fields(), 1), stream(wanted, source->fields(), 1)));
}

TEST_CASE("origins are the source's, and the forecast counts the table") {
  const auto source = table({.records = 50});
  const auto resident_table = loaded(source);
  CHECK(resident_table->origin(7) == source->origin(7));
  CHECK(resident_table->bytes() >= 50 * 24);
  CHECK(resident_table->resident_bytes() >= resident_table->bytes());
  Loader loader = resident(resident_table, {});
  CHECK(loader.forecast().total() >= resident_table->bytes());
  for (Batch& batch : loader.epoch(0)) {
    const auto rows = batch["table_row"].values<std::int64_t>();
    const auto origins = batch.origins();
    for (std::size_t k = 0; k < origins.size(); ++k) {
      CHECK(origins[k].index == rows[k]);
      CHECK(origins[k].file == "row-" + std::to_string(rows[k]));
    }
  }
}

TEST_CASE("a table that cannot be is refused with what came") {
  const auto source = every_layout(101, true);
  const auto refused = [&](DeviceTableOptions options) {
    return message_of<Error>([&] { DeviceTable(source, std::move(options)).load(); });
  };
  const DeviceTable planned(source);
  CHECK_FALSE(planned.loaded());
  CHECK(planned.resident_bytes() == source->resident_bytes());
  const std::string small = refused({.memory = planned.bytes() - 1});
  CHECK(contains(small, std::to_string(planned.bytes())));
  CHECK(contains(small, std::to_string(planned.bytes() - 1)));
  CHECK(refused({.memory = planned.bytes()}).empty());
  CHECK(contains(refused({.field = "bytes-3"}), "bytes-3"));
  CHECK_THROWS_AS(DeviceTable(nullptr), ConfigError);

  struct Ragged final : TableSource {
    Ragged() : TableSource({}) {}
    Schema fields() const override { return {FieldSpec::ragged("notes", DType::uint8, 9)}; }
  };
  CHECK(
      contains(message_of<ConfigError>([] { DeviceTable(std::make_shared<Ragged>()); }), "notes"));
  CHECK_THROWS_AS(ordered(source, {}).then(planned.gather_step()).build(), ConfigError);
}

TEST_CASE("a record that cannot be read is named, and nothing is kept") {
  for (const bool gathers : {true, false}) {
    const auto source = table({.records = 90, .gathers = gathers}, [](std::int64_t index) {
      if (index == 77) throw DataError("torn");
    });
    DeviceTable broken(source);
    const std::string message = message_of<DataError>([&] { broken.load(); });
    CHECK(contains(message, "torn"));
    CHECK(contains(message, gathers ? "row-0" : "row-77"));
    CHECK_FALSE(broken.loaded());
  }
}

TEST_CASE("batches of a table that is not loaded, and row numbers that are none, are errors") {
  const auto source = every_layout(20, true);
  const auto message = [&](const std::shared_ptr<const DeviceTable>& table, bool spoil) {
    auto pipeline = ordered(table, {});
    if (spoil) {
      pipeline = std::move(pipeline).then(
          [](Batch& batch) { batch["table_row"].values<std::int64_t>()[3] = 20; });
    }
    Loader loader = std::move(pipeline).then(table->gather_step()).build();
    return message_of<Error>([&] {
      for (Batch& batch : loader.epoch(0))
        CHECK(batch.size() > 0);
    });
  };
  CHECK(contains(message(std::make_shared<const DeviceTable>(source), false), "load()"));
  CHECK(contains(message(loaded(source), true), "got 20"));
  CHECK(message(loaded(source), false).empty());
}

}  // namespace headrace::test
