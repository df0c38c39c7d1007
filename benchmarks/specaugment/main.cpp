// What masks cost on top of a copy, beside torchaudio on the same batches in the same run.
#include <headrace/augment/spectrogram/spec_augment.h>
#include <headrace/benchmarks/harness/peer.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/sample/sample.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

constexpr int threads = 2;

/// Threads that wait for work, so that none is started while the clock runs.
class Crew {
 public:
  Crew() {
    for (int i = 1; i < threads; ++i) {
      helpers_.emplace_back([this, i] {
        for (;;) {
          begin_.arrive_and_wait();
          if (!work_) return;
          work_(i);
          end_.arrive_and_wait();
        }
      });
    }
  }
  ~Crew() {
    work_ = nullptr;
    begin_.arrive_and_wait();
  }
  void run(std::function<void(int)> work) {
    work_ = std::move(work);
    begin_.arrive_and_wait();
    work_(0);
    end_.arrive_and_wait();
  }

 private:
  std::barrier<> begin_{threads};
  std::barrier<> end_{threads};
  std::function<void(int)> work_;
  std::vector<std::jthread> helpers_;
};

/// A batch, a second buffer of its size that exists already, and two threads.
struct Bench {
  Shape shape;
  SpecAugment op;
  DType dtype = DType::float32;
  Tensor from = Tensor::zeros(dtype, shape);
  Tensor to = Tensor::zeros(dtype, shape);
  std::int64_t calls = 0;

  double copy(Crew& crew) {
    const std::size_t half = from.bytes() / threads;
    crew.run([&](int thread) {
      const std::size_t first = half * static_cast<std::size_t>(thread);
      std::memcpy(static_cast<std::byte*>(to.raw()) + first,
                  static_cast<const std::byte*>(from.raw()) + first, half);
    });
    return 1;
  }

  double augment(Crew& crew) {
    const std::int64_t rows = shape[0];
    ++calls;
    crew.run([&](int thread) {
      Sample sample;
      for (std::int64_t row = rows * thread / threads; row < rows * (thread + 1) / threads; ++row) {
        sample.reset();
        sample.bind_row("spectrogram", to.row(row));
        sample.set("spectrogram", from.row(row));
        Random random({.seed = 1, .epoch = calls, .position = row});
        op(sample, random);
      }
    });
    return 1;
  }
};

/// Where figures go, how many rounds, and torchaudio where there is one.
struct Output {
  Report& report;
  int repeats;
  Peer* peer = nullptr;
};

void measure(Bench bench, const std::string& title, const std::string& word, Crew& crew,
             const Output& output) {
  const std::string copy = "bare copy, 2 threads";
  std::vector<Contender> contenders{
      {copy, [&] { return bench.copy(crew); }},
      {"SpecAugment while copying, 2 threads", [&] { return bench.augment(crew); }}};
  SpecAugment warped = bench.op;
  if (bench.shape[2] > 200) {
    contenders.push_back({"the same with a time warp", [&] {
                            std::swap(bench.op, warped);
                            const double calls = bench.augment(crew);
                            std::swap(bench.op, warped);
                            return calls;
                          }});
    warped.time_warp = 80;
  }
  if (output.peer != nullptr) {
    contenders.push_back({"torch copy_, 2 threads", [&] {
                            output.peer->ask(word + " copy");
                            return 1.0;
                          }});
    contenders.push_back({"torchaudio, iid masks, 2 threads", [&] {
                            output.peer->ask(word + " masks");
                            return 1.0;
                          }});
  }
  const std::vector<Rates> rates = compare(contenders, output.repeats);
  output.report.add(title, "calls/s", rates, copy);
  std::printf("masks add %.1f %% to the copy", 100 * (rates[0].median / rates[1].median - 1));
  if (output.peer != nullptr)
    std::printf("; %.1f times torchaudio", rates[1].median / rates.back().median);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options("specaugment_benchmark",
                  "SpecAugment on the CPU beside a bare copy and torchaudio");
  options.add("repeats", "9", "rounds in turn")
      .add("python", "", "a Python that has torchaudio; none: no such contender")
      .add("script", "", "torchaudio_peer.py")
      .add_json()
      .take_words({"repeats", "python", "script"});
  options.parse(argc, argv);
  Report report("specaugment_benchmark", options);
  std::optional<Peer> peer;
  if (options.is_set("python"))
    peer.emplace(std::vector{options.text("python"), options.text("script")});
  if (peer) std::printf("peer: %s\n", peer->ask("hello").c_str());
  const Output output{report, options.number("repeats"), peer ? &*peer : nullptr};
  Crew crew;
  SpecAugment large = SpecAugment::policy("LD");
  large.time_warp = 0;
  measure({.shape = {64, 80, 3000}, .op = large}, "64 x 80 x 3000 float32, two masks on each axis",
          "large", crew, output);
  measure({.shape = {8192, 64, 5}, .op = SpecAugment::few_frames(64)},
          "8192 x 64 x 5 float32, one mask on each axis", "small", crew, output);
}
