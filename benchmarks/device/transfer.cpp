#include <headrace/benchmarks/device/sections.h>
#include <headrace/engine/plan/pipeline.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

namespace headrace::inline v1::bench {

namespace {

constexpr std::int64_t row_bytes = 224 * 224 * 3;
constexpr int warm_transfers = 4;  ///< batches that do not count

/// Batches that travel to the device, and what the trainer does with each.
struct Job {
  std::int64_t rows = 0;  ///< of a batch
  int batches = 0;        ///< that count
  double step_s = 0;      ///< the trainer's, on its stream; 0: none

  std::size_t bytes() const { return static_cast<std::size_t>(rows * row_bytes); }
};

/// Seconds of one batch, over those that count.
using Run = std::function<double()>;

void step_of(Side& side, const Job& job, int number) {
  if (job.step_s > 0) side.delay(job.step_s);
  if (number == warm_transfers - 1) side.begin();
  if (number == warm_transfers + job.batches - 1) side.end();
}

/// As many slabs and slots as the loader has, and no more order than the bytes need.
class BareRing {
 public:
  static constexpr int slots = 3;

  BareRing(Side& side, const Job& job, int slabs) : side_(side), job_(job) {
    slabs_.reserve(static_cast<std::size_t>(slabs));
    for (int i = 0; i < slabs; ++i)
      slabs_.push_back(side.of_host(job.bytes(), true));
    for (Memory& slot : slots_)
      slot = side.here(job.bytes());
    if (!side.is_gpu()) return;
    for (auto* events : {&copied_, &released_}) {
      for (detail::DeviceEvent& event : *events)
        event = detail::make_event(side.device(), false);
    }
  }

  double operator()() {
    std::optional<detail::DeviceScope> scope;
    if (side_.is_gpu()) scope.emplace(side_.device());
    for (int i = 0; i < warm_transfers + job_.batches; ++i)
      send(i);
    return side_.seconds() / job_.batches;
  }

 private:
  void send(int i) {
    const auto slot = static_cast<std::size_t>(i % slots);
    const Memory& slab = slabs_[static_cast<std::size_t>(i) % slabs_.size()];
    const bool on_gpu = side_.is_gpu();
    if (on_gpu && i >= slots) wait_for(released_[slot], side_.copies());
    side_.copy(slots_[slot].data(), slab.data(), job_.bytes(), Way::to_device, side_.copies());
    if (on_gpu) {
      record(copied_[slot], side_.copies());
      wait_for(copied_[slot], side_.stream());
    }
    step_of(side_, job_, i);
    if (on_gpu) record(released_[slot], side_.stream());
  }

  Side& side_;
  Job job_;
  std::vector<Memory> slabs_;
  std::array<Memory, slots> slots_;
  std::array<detail::DeviceEvent, slots> copied_;
  std::array<detail::DeviceEvent, slots> released_;
};

/// The loader, whose slabs are as good as made.
class OurTransfer {
 public:
  OurTransfer(const Bench& bench, const Job& job)
      : side_(bench.side), job_(job), loader_(loader(bench, job)) {}

  double operator()() {
    int number = 0;
    for (Batch& batch : loader_.epoch(epoch_++, side_.stream())) {
      step_of(side_, job_, number++);
      batch = Batch();
    }
    return side_.seconds() / job_.batches;
  }
  int slabs() const { return loader_.stats().slabs; }
  bool page_locked() const { return loader_.stats().transfer.page_locked; }

 private:
  static Loader loader(const Bench& bench, const Job& job) {
    const Schema picture{FieldSpec::fixed("image", DType::uint8, Shape{224, 224, 3})};
    const auto source =
        std::make_shared<const StillSource>(job.rows * (warm_transfers + job.batches), picture);
    return Pipeline::from(source)
        .order(Sequential{})
        .batch({.size = job.rows})
        .to(bench.side.device())
        .build({.join_epochs = false, .runtime = Runtime({.threads = bench.extent.threads})});
  }

  Side& side_;
  Job job_;
  Loader loader_;
  std::int64_t epoch_ = 0;
};

constexpr const char* bare_name = "bare copies in a ring";

Measured as_rate(const std::string& name, const Job& job, Run run) {
  return {name, [bytes = job.bytes(), run = std::move(run)] {
            return 1e-9 * static_cast<double>(bytes) / run();
          }};
}

/// Rates of both; the bare one's seconds of a batch.
double compare_both(const Bench& bench, const Job& job, const std::string& title) {
  OurTransfer ours(bench, job);
  ours();  // its slabs and threads are made
  BareRing bare(bench.side, job, ours.slabs());
  const auto rates = compare_measured({as_rate(bare_name, job, [&] { return bare(); }),
                                       as_rate("headrace", job, [&] { return ours(); })},
                                      bench.extent.repeats);
  bench.report.add(title, "GB/s", rates, bare_name, {std::nullopt, at_least(0.95)});
  const double bare_s = 1e-9 * static_cast<double>(job.bytes()) / rates[0].median;
  if (job.step_s == 0) return bare_s;
  const double alone =
      bench.side.seconds_of_one(job.batches, [&] { bench.side.delay(job.step_s); });
  std::vector<Row> shares;
  shares.reserve(rates.size());
  for (const Rates& each : rates) {
    const auto share = [&](double rate) {
      return 1 - alone * rate / (1e-9 * static_cast<double>(job.bytes()));
    };
    shares.push_back({.section = title + ": time that is not the step's",
                      .contender = each.name,
                      .unit = "share",
                      .median = share(each.median),
                      .low = share(each.high),
                      .high = share(each.low),
                      .repeats = each.repeats});
  }
  shares.back().goal = share_below(0.01);
  shares.back().note = ours.page_locked() ? "slabs are page-locked" : "slabs are not page-locked";
  bench.report.add(shares);
  return bare_s;
}

}  // namespace

void measure_transfer(const Bench& bench) {
  for (const std::size_t bytes : bench.extent.sizes) {
    Job job{.rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes) / row_bytes)};
    job.batches = std::max(8, bench.extent.times(bytes));
    const std::string title = "transfer of " + in_megabytes(job.bytes()) + " batches, ";
    const double copy_s = compare_both(bench, job, title + "back to back");
    job.step_s = 1.25 * copy_s;  // room for the copy, and not much
    const auto microseconds = static_cast<std::int64_t>(1e6 * job.step_s);
    compare_both(bench, job, title + "behind a step of " + std::to_string(microseconds) + " us");
  }
}

}  // namespace headrace::inline v1::bench
