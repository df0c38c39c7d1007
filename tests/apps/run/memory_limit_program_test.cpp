#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::run_program;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

const Words bench_words{
    "bench", "loader",           headrace::test::source_folder() + "/configs/loader/table.yaml",
    "--set", "data.rows=300000", "--batches",
    "20",    "--json",           "bench.json"};

#ifdef __SANITIZE_ADDRESS__
constexpr bool needs_address_space = true;  // AddressSanitizer's shadow is 15 TB of it
#else
constexpr bool needs_address_space = false;
#endif

nlohmann::json measurement(const TemporaryFolder& folder) {
  return nlohmann::json::parse(content_of(folder.path() / "bench.json"));
}

}  // namespace

TEST_CASE("under RLIMIT_DATA of forecast + 10 % a loader finishes, at - 20 % it refuses to read" *
          doctest::skip(needs_address_space)) {
  const TemporaryFolder folder;
  // Under a limit of address space the sum is made of address space: it is asked for under one.
  const Finished free = run_program(headrace::test::headrace_program(), bench_words,
                                    {.folder = folder.path(), .data_limit = 64ULL << 30});
  REQUIRE_MESSAGE(free.status == 0, free.err);
  const auto forecast = measurement(folder).at("process_forecast_bytes").get<double>();
  const Finished enough = run_program(
      headrace::test::headrace_program(), bench_words,
      {.folder = folder.path(), .data_limit = static_cast<std::size_t>(1.1 * forecast)});
  CHECK_MESSAGE(enough.status == 0, enough.err);
  const Finished little = run_program(
      headrace::test::headrace_program(), bench_words,
      {.folder = folder.path(), .data_limit = static_cast<std::size_t>(0.8 * forecast)});
  CHECK(little.status == 4);
  CHECK(contains(little.err, "RLIMIT_DATA"));
  CHECK(contains(little.err, "missing"));
}

TEST_CASE("under a configured limit of forecast + 10 % a loader finishes and never holds more") {
  const TemporaryFolder folder;
  const Finished free = run_headrace(folder.path(), bench_words);
  REQUIRE_MESSAGE(free.status == 0, free.err);
  const auto forecast = measurement(folder).at("process_forecast_bytes").get<double>();
  Words limited = bench_words;
  limited.insert(limited.end(), {"--set", ""});
  limited.back() = "memory=" + std::to_string(static_cast<std::uint64_t>(1.1 * forecast)) + "B";
  const Finished enough = run_headrace(folder.path(), limited);
  CHECK_MESSAGE(enough.status == 0, enough.err);
  CHECK(measurement(folder).at("process_peak_bytes").get<double>() <= 1.1 * forecast);
  limited.back() = "memory=" + std::to_string(static_cast<std::uint64_t>(0.8 * forecast)) + "B";
  const Finished little = run_headrace(folder.path(), limited);
  CHECK(little.status == 4);
  CHECK(contains(little.err, "configuration"));
}
