// Lets the k-th call of a group fail, for k = 1, 2, 3 and on until a run meets no fault. Every run
// is a whole small pipeline over two epochs; it ends with the right batches or the right error, and
// afterwards nothing is missing: slabs, budget, threads, descriptors.
//
//   fault_driver SCENARIO CALL ERROR[:TIMES]...
//
// TIMES calls in a row fail, else one. Started with the library of fault_shim.cpp in LD_PRELOAD.
// HEADRACE_FAULTS=full tries every k, else those above 60 are a sample.
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/faults/fault_scenario.h>
#include <headrace/tests/faults/fault_shim.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace headrace::test {
namespace {

struct Shim {
  ArmFault* arm = symbol<ArmFault>(arm_symbol);
  DisarmFault* disarm = symbol<DisarmFault>(disarm_symbol);
  SpareThread* spare = symbol<SpareThread>(spare_symbol);

  template <class Function>
  static Function* symbol(const char* name) {
    void* found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) throw std::runtime_error("start this program with the fault library");
    return reinterpret_cast<Function*>(found);
  }
};

const Shim& shim() {
  static const Shim found;
  return found;
}

/// What the test itself does on its thread neither counts nor fails.
struct Spared {
  Spared() { shim().spare(1); }
  ~Spared() { shim().spare(-1); }
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;
};

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw Wrong(what);
}

enum class End { right, data, resources, other };

struct Outcome {
  End end = End::right;
  std::string message;
  FaultCount seen;
  std::int64_t replaced = 0;
};

struct Calls {
  const char* name;
  FaultCall call;
};
constexpr Calls call_names[] = {{"open", FaultCall::open},   {"read", FaultCall::read},
                                {"pread", FaultCall::pread}, {"pwrite", FaultCall::pwrite},
                                {"close", FaultCall::close}, {"memory", FaultCall::memory},
                                {"map", FaultCall::map},     {"thread", FaultCall::thread}};

struct Errors {
  const char* name;
  int error;
};
constexpr Errors error_names[] = {{"EIO", EIO},       {"EINTR", EINTR},      {"ESTALE", ESTALE},
                                  {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM},    {"EAGAIN", EAGAIN},
                                  {"ENOSPC", ENOSPC}, {"short", short_read}, {"end", early_end}};

/// The batches of one loader against what they must be.
class Judge {
 public:
  explicit Judge(const FaultScenario& scenario)
      : scenario_(scenario), order_(Shuffled{.seed = fault_seed}.bind(scenario.records)) {}

  /// Returns how many rows are replacements.
  std::int64_t check(const Batch& batch) const {
    const std::vector<Origin> origins = batch.origins();
    std::vector<std::int64_t> planned(origins.size());
    order_->indices(batch.epoch(), batch.number() * fault_batch, planned);
    std::int64_t replaced = 0;
    for (std::size_t row = 0; row < origins.size(); ++row) {
      if (origins[row].index == planned[row]) continue;
      require(scenario_.replaces, "a row holds another record than the order says");
      ++replaced;
    }
    for (const auto& [field, rows] : scenario_.rows) {
      const Tensor values = batch[field];
      for (std::size_t row = 0; row < origins.size(); ++row) {
        const Tensor one = values.row(static_cast<std::int64_t>(row));
        const std::string& right = rows[static_cast<std::size_t>(origins[row].index)];
        require(
            one.bytes() == right.size() && std::memcmp(one.raw(), right.data(), right.size()) == 0,
            "wrong bytes in field " + field + " of batch " + std::to_string(batch.number()));
      }
    }
    return replaced;
  }

 private:
  const FaultScenario& scenario_;
  std::shared_ptr<const IndexStream> order_;
};

/// Takes batches and keeps them until none is left: all slabs are there, and free.
void require_every_slab(Loader& loader, const Judge& judge) {
  std::vector<Batch> held;
  for (int errors = 0;;) {
    try {
      NextBatch next = loader.next();
      if (next.status != NextBatch::Status::ready) continue;
      judge.check(next.batch);
      held.push_back(std::move(next.batch));
    } catch (const PipelineError&) {
      break;
    } catch (const Error&) {
      // What was read ahead may have met the fault; an epoch holds one error.
      if (++errors > 2) throw;
    } catch (const std::bad_alloc&) {
      if (++errors > 2) throw;
    }
  }
  const LoaderStats stats = loader.stats();
  require(static_cast<int>(held.size()) == stats.slabs,
          std::to_string(stats.slabs - static_cast<int>(held.size())) + " slabs are missing");
  require(stats.slabs_on_loan == stats.slabs, "the count of loans is wrong");
  held.clear();
  require(loader.stats().slabs_on_loan == 0, "a loan has not ended");
}

class Runner {
 public:
  explicit Runner(const FaultScenario& scenario) : scenario_(scenario), judge_(scenario) {}

  Outcome run(const Fault& fault) const {
    Outcome outcome;
    {
      std::optional<Runtime> runtime;
      std::optional<Loader> loader;
      shim().arm(&fault);
      try {
        runtime.emplace(RuntimeOptions{.threads = 2, .io_threads = 2});
        consume(*runtime, loader, outcome);
      } catch (const ResourceError& error) {
        end(outcome, End::resources, error.what());
      } catch (const std::bad_alloc& error) {
        end(outcome, End::resources, error.what());
      } catch (const DataError& error) {
        end(outcome, End::data, error.what());
      } catch (const std::exception& error) {
        end(outcome, End::other, error.what());
      }
      outcome.seen = shim().disarm();
      if (loader) require_every_slab(*loader, judge_);
      loader.reset();
      if (runtime) require(runtime->memory_in_use() == 0, "the byte budget is not back to zero");
    }
    return outcome;
  }

 private:
  void consume(const Runtime& runtime, std::optional<Loader>& loader, Outcome& outcome) const {
    LoaderOptions options = scenario_.options;
    options.prefetch = 2;
    options.runtime = runtime;
    loader.emplace(scenario_.open().build(options));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::int64_t batches = 0;
      for (Batch& batch : loader->epoch(epoch)) {
        const Spared spared;
        require(batch.number() == batches++, "batches are out of order");
        outcome.replaced += judge_.check(batch);
      }
      require(batches == scenario_.records / fault_batch, "an epoch has lost batches");
    }
  }

  static void end(Outcome& outcome, End end, const char* message) {
    shim().spare(1);
    outcome.end = end;
    outcome.message = message;
    shim().spare(-1);
  }

  const FaultScenario& scenario_;
  Judge judge_;
};

/// Whether a run may end so.
void require_allowed(const Outcome& outcome, const Fault& fault, const FaultScenario& scenario) {
  const auto say = [&](const char* rule) { return std::string(rule) + ": " + outcome.message; };
  require(outcome.end != End::other, say("an error that is none of ours, or of the wrong kind"));
  // Only the decoded cache writes, and does without what it cannot keep.
  const bool harmless = fault.call == FaultCall::close || fault.call == FaultCall::pwrite ||
                        fault.error == EINTR || fault.error == short_read ||
                        (fault.error == ESTALE && scenario.reopens && fault.times < 4);
  if (harmless) require(outcome.end == End::right, say("this fault must not be seen"));
  const bool of_resources = fault.error == EMFILE || fault.error == ENOMEM || fault.error == EAGAIN;
  if (of_resources) require(outcome.end != End::data, say("blamed on the data"));
  if (!of_resources) require(outcome.end != End::resources, say("blamed on the machine"));
  const std::int64_t most = of_resources || harmless ? 0 : fault.times;
  require(outcome.replaced <= most, "rows were replaced without need");
  if (scenario.replaces && !of_resources && !harmless)
    require(outcome.end == End::right || outcome.replaced > 0, say("not replaced"));
}

struct Footprint {
  int threads = settled_thread_count();
  int files = open_files();
};

void require_unchanged(const Footprint& before) {
  require(eventually([&] { return thread_count() <= before.threads; }), "threads are left");
  require(open_files() <= before.files, "descriptors are left");
}

std::int64_t following(std::int64_t k, bool full) {
  constexpr std::int64_t all_below = 60;
  return full || k < all_below ? k + 1 : k + 1 + k / 32;
}

volatile std::sig_atomic_t at_call = 0;

void too_long(int) {
  char line[96];
  const int length =
      std::snprintf(line, sizeof line, "HANG at call %d\n", static_cast<int>(at_call));
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  std::abort();
}

struct Tally {
  std::int64_t runs = 0;
  std::int64_t calls = 0;
  std::map<End, std::int64_t> ends;
};

Tally try_all(const FaultScenario& scenario, Fault fault, bool full) {
  const Runner runner(scenario);
  const Fault none{.first = INT64_MAX};
  const Outcome healthy = runner.run(none);
  require(healthy.end == End::right, "without a fault: " + healthy.message);
  const Footprint before;
  Tally tally;
  for (std::int64_t k = 1;; k = following(k, full)) {
    at_call = static_cast<int>(k);
    ::alarm(180);
    fault.first = k;
    try {
      const Outcome outcome = runner.run(fault);
      require_allowed(outcome, fault, scenario);
      require_unchanged(before);
      ++tally.runs;
      ++tally.ends[outcome.end];
      tally.calls = std::max(tally.calls, outcome.seen.calls);
      if (outcome.seen.failed == 0) break;
    } catch (const std::exception& error) {
      throw Wrong("call " + std::to_string(k) + ": " + error.what());
    }
  }
  ::alarm(0);
  return tally;
}

template <class Names>
const auto& named(const Names& names, const std::string& name) {
  for (const auto& each : names)
    if (name == each.name) return each;
  throw std::runtime_error("no call or error \"" + name + "\"");
}

/// "EIO" or "ENOMEM:20".
Fault fault_of(FaultCall call, const std::string& text) {
  const auto colon = text.find(':');
  Fault fault{.call = call, .error = named(error_names, text.substr(0, colon)).error};
  if (colon != std::string::npos) fault.times = std::stol(text.substr(colon + 1));
  return fault;
}

int drive(const std::vector<std::string>& words) {
  if (words.size() < 4) {
    throw std::runtime_error("usage: fault_driver SCENARIO CALL ERROR[:TIMES]...");
  }
  const char* mode = std::getenv("HEADRACE_FAULTS");
  const bool full = mode != nullptr && std::strcmp(mode, "full") == 0;
  std::signal(SIGALRM, &too_long);
  const TemporaryFolder folder;
  const FaultScenario scenario = make_fault_scenario(words[1], folder / "data");
  for (std::size_t i = 3; i < words.size(); ++i) {
    const Fault fault = fault_of(named(call_names, words[2]).call, words[i]);
    Tally tally = try_all(scenario, fault, full);
    std::printf("%s, %s %s: %ld calls, %ld runs: %ld right, %ld data, %ld resources\n",
                words[1].c_str(), words[2].c_str(), words[i].c_str(),
                static_cast<long>(tally.calls), static_cast<long>(tally.runs),
                static_cast<long>(tally.ends[End::right]), static_cast<long>(tally.ends[End::data]),
                static_cast<long>(tally.ends[End::resources]));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace headrace::test

int main(int argc, char** argv) {
  try {
    return headrace::test::drive({argv, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
