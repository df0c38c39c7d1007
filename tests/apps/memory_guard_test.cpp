#include <headrace/apps/commands/loader_trial.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/run/memory_guard.h>

#include <atomic>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace monitor = headrace::monitor;

app::LoaderJob small_job() {
  app::LoaderConfig config;
  config.data.rows = 4096;
  config.data.row_bytes = 64;
  config.batch = 64;
  config.threads.loader = 1;
  return app::make_loader_job(config);
}

}  // namespace

TEST_CASE("a process over its limit is told so once, with figures, and its run ends early") {
  app::StopSignals signals;
  std::atomic<int> said{0};
  app::MemoryGuard guard({.bytes = 1 << 20, .source = "configuration"}, signals,
                         [&](const std::string& line) {
                           ++said;
                           CHECK(line.find("1.00 MiB") != std::string::npos);
                         });
  headrace::Loader loader = small_job().build();
  const app::LoaderTrial trial =
      app::run_loader_trial(loader, {.step_s = 0.01, .epochs = 1000, .stop = signals.token()});
  guard.watch().look();
  CHECK(trial.batches < 64000 - 16);
  CHECK(guard.over());
  CHECK(said == 1);
  CHECK(signals.received() == 0);
  CHECK(signals.exit_code() == app::ExitCode::done);
}

TEST_CASE("a process below its limit is left alone") {
  app::StopSignals signals;
  app::MemoryGuard guard({.bytes = 1ULL << 46, .source = "configuration"}, signals,
                         [](const std::string&) { FAIL("nothing is over"); });
  guard.watch().look();
  CHECK_FALSE(guard.over());
  CHECK_FALSE(signals.token().stop_requested());
}
