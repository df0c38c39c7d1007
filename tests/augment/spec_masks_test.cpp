#include <headrace/augment/spectrogram/spec_augment.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/reference/audio_reference.inc>
#include <headrace/tests/engine/statistics.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::chi_square_excess;

namespace {

constexpr std::int64_t draws = 200'000;

/// What is drawn for sample after sample: a row of int32 each.
class Drawn {
 public:
  Drawn(const SpecAugment& op, std::int64_t bins, std::int64_t frames) {
    DrawSpecAugment draw{op};
    Sample sample;
    sample.set("spectrogram", Tensor::zeros(DType::float32, Shape{bins, frames}));
    for (std::int64_t position = 0; position < draws; ++position) {
      Random random({.seed = 11, .position = position});
      draw(sample, random);
      const auto row = sample["spectrogram_masks"].values<std::int32_t>();
      columns_ = row.size();
      values_.insert(values_.end(), row.begin(), row.end());
    }
  }
  std::int32_t at(std::int64_t sample, std::size_t column) const {
    return values_[static_cast<std::size_t>(sample) * columns_ + column];
  }
  std::size_t columns() const { return columns_; }

 private:
  std::size_t columns_ = 0;
  std::vector<std::int32_t> values_;
};

/// How often a column has each value of {0 .. most}; anything else fails.
std::vector<std::int64_t> counts_of(const Drawn& drawn, std::size_t column, std::int64_t most) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(most + 1));
  for (std::int64_t sample = 0; sample < draws; ++sample) {
    const std::int32_t value = drawn.at(sample, column);
    REQUIRE(value >= 0);
    REQUIRE(value <= most);
    ++counts[static_cast<std::size_t>(value)];
  }
  return counts;
}

/// Whether start and width of a mask come from the paper's rule: the width uniform in {0..most},
/// the start uniform where it fits.
void check_paper(const Drawn& drawn, std::size_t column, std::int64_t most, std::int64_t cells) {
  CHECK(std::abs(chi_square_excess(counts_of(drawn, column + 1, most))) < 5.0);
  std::vector<std::vector<std::int64_t>> starts;
  for (std::int64_t width = 0; width <= most; ++width)
    starts.emplace_back(static_cast<std::size_t>(cells - width + 1));
  for (std::int64_t sample = 0; sample < draws; ++sample) {
    auto& of_width = starts[static_cast<std::size_t>(drawn.at(sample, column + 1))];
    const auto start = static_cast<std::size_t>(drawn.at(sample, column));
    REQUIRE(start < of_width.size());
    ++of_width[start];
  }
  for (const auto& of_width : starts)
    CHECK(std::abs(chi_square_excess(of_width)) < 5.0);
}

/// Spectrograms of noise, 12 x 30.
class Spectrograms final : public Source {
 public:
  std::string name() const override { return "spectrograms"; }
  std::int64_t size() const override { return 101; }
  Schema fields() const override {
    return {FieldSpec::fixed("spectrogram", DType::float32, Shape{12, 30})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    Random random({.seed = 2, .position = index});
    for (float& value : sample.make("spectrogram", DType::float32, Shape{12, 30}).values<float>())
      value = static_cast<float>(random.uniform());
  }
};

SpecAugment small_policy() {
  SpecAugment op = SpecAugment::policy("LD");
  op.time_warp = 6;
  op.frequency_width = 4;
  op.time_width = 9;
  return op;
}

/// All values of two epochs, batch after batch; with ranks, their shares side by side.
template <class Op>
std::vector<float> stream_of(const Op& op, int threads, int world, std::uint64_t seed = 7) {
  std::vector<std::vector<float>> batches;
  for (int rank = 0; rank < world; ++rank) {
    auto loader = Pipeline::from(Spectrograms{})
                      .order(Shuffled{.seed = 1})
                      .seed(seed)
                      .ranks({.rank = rank, .world = world})
                      .then(op)
                      .batch({.size = 12, .tail = Tail::drop})
                      .build({.runtime = Runtime({.threads = threads})});
    std::size_t number = 0;
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      for (Batch& batch : loader.epoch(epoch)) {
        if (rank == 0) batches.emplace_back();
        const Tensor values = batch["spectrogram"];
        auto& whole = batches[number++];
        whole.insert(whole.end(), values.values<float>().begin(), values.values<float>().end());
      }
    }
  }
  std::vector<float> all;
  for (const auto& batch : batches)
    all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

/// What must never be done: draws that depend on what was drawn before, whoever asked.
struct KeyedByCount {
  SpecAugment op = small_policy();
  std::shared_ptr<std::atomic<std::int64_t>> calls = std::make_shared<std::atomic<std::int64_t>>(0);
  std::string name() const { return "keyed by count"; }
  void operator()(Sample& sample) const {
    Random random({.seed = 7, .position = calls->fetch_add(1)});
    op(sample, random);
  }
};

}  // namespace

TEST_CASE("widths and starts of every policy come from the paper's rules") {
  const struct {
    const char* name;
    std::int64_t warp;
    int masks;
    std::int64_t bins;
    std::int64_t frames;
    double share;
  } policies[] = {{"LB", 80, 1, 27, 100, 1.0},
                  {"LD", 80, 2, 27, 100, 1.0},
                  {"SM", 40, 2, 15, 70, 0.2},
                  {"SS", 40, 2, 27, 70, 0.2}};
  for (const auto& policy : policies) {
    CAPTURE(policy.name);
    const SpecAugment op = SpecAugment::policy(policy.name);
    const std::int64_t frames = 200;
    const Drawn drawn(op, 40, frames);
    REQUIRE(drawn.columns() == 3 + 4 * static_cast<std::size_t>(policy.masks));
    const auto most_frames =
        std::min(policy.frames, static_cast<std::int64_t>(policy.share * double(frames)));
    std::size_t column = 3;
    for (int mask = 0; mask < policy.masks; ++mask, column += 2)
      check_paper(drawn, column, policy.bins, 40);
    for (int mask = 0; mask < policy.masks; ++mask, column += 2)
      check_paper(drawn, column, most_frames, frames);

    std::vector<std::int64_t> points(static_cast<std::size_t>(frames));
    std::vector<std::int64_t> ways(static_cast<std::size_t>(2 * policy.warp + 1));
    for (std::int64_t sample = 0; sample < draws; ++sample) {
      ++points[static_cast<std::size_t>(drawn.at(sample, 1))];
      ++ways[static_cast<std::size_t>(drawn.at(sample, 2) - drawn.at(sample, 1) + policy.warp)];
    }
    std::vector<double> shares(points.size(), 0.0);
    for (std::int64_t point = policy.warp + 1; point < frames - policy.warp; ++point)
      shares[static_cast<std::size_t>(point)] = 1.0;
    for (std::size_t point = 0; point < shares.size(); ++point)
      REQUIRE((shares[point] > 0.0 || points[point] == 0));
    CHECK(std::abs(chi_square_excess(points, shares)) < 5.0);
    CHECK(std::abs(chi_square_excess(ways)) < 5.0);
  }
}

TEST_CASE("a width that is never the widest fails the paper's rule") {
  SpecAugment op = SpecAugment::policy("LB");
  op.frequency_width = 26;  // and the test expects 27
  const Drawn drawn(op, 40, 200);
  CHECK(std::abs(chi_square_excess(counts_of(drawn, 4, 27))) > 5.0);
}

TEST_CASE("torchaudio's rule draws what torchaudio draws") {
  const SpecAugment op{.time_masks = 1, .time_width = 5, .rule = SpecAugment::Rule::torchaudio};
  const Drawn drawn(op, 3, 12);
  std::vector<std::int64_t> counts(6 * 12);
  for (std::int64_t sample = 0; sample < draws; ++sample) {
    const auto width = static_cast<std::size_t>(drawn.at(sample, 4));
    const std::size_t start = width == 0 ? 0 : static_cast<std::size_t>(drawn.at(sample, 3));
    ++counts[width * 12 + start];
  }
  std::vector<double> shares;
  for (const auto& row : torchaudio_masks) {
    for (const std::int64_t count : row)
      shares.push_back(static_cast<double>(count));
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    REQUIRE((shares[i] > 0.0 || counts[i] == 0));
  CHECK(std::abs(chi_square_excess(counts, shares)) < 5.0);
  // The paper's rule on the same axis is another one.
  const Drawn paper(SpecAugment{.time_masks = 1, .time_width = 5}, 3, 12);
  CHECK(counts_of(paper, 4, 5)[5] > draws / 8);
  CHECK(counts_of(drawn, 4, 5)[5] == 0);
}

TEST_CASE("torchaudio's cap holds for its rule too") {
  const SpecAugment op{.time_masks = 1,
                       .time_width = 100,
                       .time_share = 0.25,
                       .rule = SpecAugment::Rule::torchaudio};
  const Drawn drawn(op, 3, 40);
  CHECK(std::abs(chi_square_excess(counts_of(drawn, 4, 9))) < 5.0);
}

TEST_CASE("spectrograms of few frames lose at most one frame, and none below four") {
  const SpecAugment op = SpecAugment::few_frames(64);
  const struct {
    std::int64_t frames;
    std::int64_t widest;
  } cases[] = {{1, 0}, {3, 0}, {4, 1}, {5, 1}, {8, 2}, {40, 10}};
  for (const auto& one : cases) {
    CAPTURE(one.frames);
    const Drawn drawn(op, 64, one.frames);
    const std::vector<std::int64_t> widths = counts_of(drawn, 6, one.widest);
    CHECK(std::all_of(widths.begin(), widths.end(), [](std::int64_t n) { return n > 0; }));
    const std::vector<std::int64_t> heights = counts_of(drawn, 4, 10);
    CHECK(heights.back() > 0);
  }
}

TEST_CASE("a warp needs room on both sides") {
  const SpecAugment op{.time_warp = 10};
  CHECK(counts_of(Drawn(op, 2, 21), 1, 0)[0] == draws);
  CHECK(counts_of(Drawn(op, 2, 22), 1, 11)[11] == draws);
}

TEST_CASE("with one seed the masks are the same for 1, 2 and 8 threads, and over ranks") {
  const SpecAugment op = small_policy();
  const std::vector<float> wanted = stream_of(op, 1, 1);
  CHECK(wanted.size() == 2 * 8 * 12 * 12 * 30);
  for (const int threads : {2, 8})
    CHECK(stream_of(op, threads, 1) == wanted);
  for (const int world : {2, 3})
    CHECK(stream_of(op, 2, world) == wanted);
  CHECK(stream_of(op, 2, 1, 8) != wanted);
}

TEST_CASE(
    "masks drawn for a batch are the same for 1, 2 and 8 threads, any batch size and over ranks") {
  const auto stream = [](int threads, int world, std::int64_t batch, std::uint64_t seed) {
    const SpecAugmentBatch op{.augment = small_policy(), .seed = seed};
    std::vector<std::vector<float>> batches;
    for (int rank = 0; rank < world; ++rank) {
      auto loader = Pipeline::from(Spectrograms{})
                        .order(Shuffled{.seed = 1})
                        .ranks({.rank = rank, .world = world})
                        .batch({.size = batch, .tail = Tail::drop})
                        .then(op)
                        .build({.runtime = Runtime({.threads = threads})});
      std::size_t number = 0;
      for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
        for (Batch& b : loader.epoch(epoch)) {
          if (rank == 0) batches.emplace_back();
          const Tensor values = b["spectrogram"];
          auto& whole = batches[number++];
          whole.insert(whole.end(), values.values<float>().begin(), values.values<float>().end());
        }
      }
    }
    std::vector<float> all;
    for (const auto& each : batches)
      all.insert(all.end(), each.begin(), each.end());
    return all;
  };
  const std::vector<float> wanted = stream(1, 1, 12, 7);
  CHECK(stream(2, 1, 12, 7) == wanted);
  CHECK(stream(8, 1, 12, 7) == wanted);
  CHECK(stream(2, 2, 12, 7) == wanted);
  CHECK(stream(2, 3, 12, 7) == wanted);
  CHECK(stream(2, 1, 6, 7) == wanted);
  CHECK(stream(2, 1, 12, 8) != wanted);
}

TEST_CASE("draws that are keyed by their number differ over ranks") {
  const std::vector<float> wanted = stream_of(KeyedByCount{}, 1, 1);
  CHECK(stream_of(KeyedByCount{}, 1, 2) != wanted);
}
