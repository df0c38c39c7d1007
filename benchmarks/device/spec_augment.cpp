#include <headrace/augment/spectrogram/detail/spec_masks.h>
#include <headrace/augment/spectrogram/spec_augment.h>
#include <headrace/benchmarks/device/sections.h>
#include <headrace/engine/plan/pipeline.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

namespace {

using detail::SpecMasks;

/// Spectrograms of a kind, and what is done to them.
struct Kind {
  Shape shape;  ///< bins, frames
  DType dtype;
  SpecAugment augment;

  std::size_t bytes() const {
    return static_cast<std::size_t>(shape[0] * shape[1]) * size_of(dtype);
  }
};

std::vector<Kind> kinds() {
  SpecAugment large = SpecAugment::policy("LD");
  large.time_warp = 0;
  return {{Shape{80, 3000}, DType::float32, large},
          {Shape{64, 5}, DType::float16, SpecAugment::few_frames(64)}};
}

Held spectrograms(const Bench& bench, const Kind& kind, std::int64_t rows) {
  const Schema fields{FieldSpec::fixed("spectrogram", kind.dtype, kind.shape)};
  return hold(Pipeline::from(std::make_shared<const StillSource>(rows, fields))
                  .order(Sequential{})
                  .then(DrawSpecAugment{.augment = kind.augment})
                  .batch({.size = rows}),
              bench);
}

std::vector<std::int32_t> brought_back(Side& side, const Tensor& tensor) {
  const Memory host = side.of_host(tensor.bytes(), true);
  side.begin();
  side.copy(host.data(), tensor.raw(), tensor.bytes(), Way::to_host, side.stream());
  side.end();
  static_cast<void>(side.seconds());
  const auto* values = reinterpret_cast<const std::int32_t*>(host.data());
  return {values, values + tensor.elements()};
}

/// How many of `cells` the `count` masks (start and width each) cover together.
std::int64_t covered(const std::int32_t* masks, int count, std::int64_t cells) {
  std::vector<bool> is_masked(static_cast<std::size_t>(cells));
  std::int64_t sum = 0;
  for (int m = 0; m < count; ++m) {
    for (std::int32_t i = masks[2 * m]; i < masks[2 * m] + masks[2 * m + 1]; ++i) {
      sum += is_masked[static_cast<std::size_t>(i)] ? 0 : 1;
      is_masked[static_cast<std::size_t>(i)] = true;
    }
  }
  return sum;
}

/// Bytes that the masks of a batch cover: what must be written in place.
std::size_t masked_bytes(const Bench& bench, const Kind& kind, const Batch& batch) {
  const Tensor drawn = batch["spectrogram_masks"];
  const std::vector<std::int32_t> values = brought_back(bench.side, drawn);
  const int bands = kind.augment.frequency_masks;
  const int spans = kind.augment.time_masks;
  const std::int64_t of_row = SpecMasks::values(kind.augment);
  const std::int64_t bins = kind.shape[0];
  const std::int64_t frames = kind.shape[1];
  std::int64_t cells = 0;
  for (std::int64_t row = 0; row < drawn.elements() / of_row; ++row) {
    const std::int32_t* masks = values.data() + row * of_row + SpecMasks::header;
    const std::int64_t in_bins = covered(masks, bands, bins);
    const std::int64_t in_frames = covered(masks + 2 * bands, spans, frames);
    cells += in_bins * frames + in_frames * (bins - in_bins);
  }
  return static_cast<std::size_t>(cells) * size_of(kind.dtype);
}

std::string title(const Kind& kind, std::int64_t rows, const std::string& how) {
  return "SpecAugment on " + std::to_string(rows) + " x " + std::to_string(kind.shape[0]) + " x " +
         std::to_string(kind.shape[1]) + " " + std::string(name_of(kind.dtype)) + " (" +
         in_megabytes(kind.bytes() * static_cast<std::size_t>(rows)) + "), " + how;
}

void in_place(const Bench& bench, const Kind& kind, std::size_t size) {
  const auto rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(size / kind.bytes()));
  Held held = spectrograms(bench, kind, rows);
  const std::size_t bytes = masked_bytes(bench, kind, held.batch);
  const ApplySpecAugment apply{kind.augment};
  const auto rates = compare_measured(
      {copy_of(bench, bytes),
       rate_of(bench, "headrace", bytes, [&] { apply(held.batch, bench.side.stream()); })},
      bench.extent.repeats);
  bench.report.add(title(kind, rows, "in place: the masks' " + in_megabytes(bytes)), "GB/s", rates,
                   copy_name, {std::nullopt, bench.extent.at_largest(size, at_least(0.8))});
}

/// A warp reads and writes all of it.
void out_of_place(const Bench& bench, Kind kind, std::size_t size) {
  const auto rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(size / kind.bytes()));
  kind.augment.time_warp = kind.shape[1] > 200 ? 80 : 1;
  Held held = spectrograms(bench, kind, rows);
  const Tensor all = held.batch["spectrogram"];
  const std::size_t bytes = 2 * all.bytes();
  const ApplySpecAugment apply{kind.augment};
  const auto rates =
      compare_measured({copy_of(bench, bytes), rate_of(bench, "headrace", bytes,
                                                       [&] {
                                                         apply(held.batch, bench.side.stream());
                                                         held.batch.set("spectrogram", all);
                                                       })},
                       bench.extent.repeats);
  bench.report.add(title(kind, rows, "with a warp, out of place"), "GB/s", rates, copy_name,
                   {std::nullopt, bench.extent.at_largest(size, at_least(0.8))});
}

}  // namespace

void measure_spec_augment(const Bench& bench) {
  for (const std::size_t size : bench.extent.sizes) {
    for (const Kind& kind : kinds()) {
      in_place(bench, kind, size);
      out_of_place(bench, kind, size);
    }
  }
}

}  // namespace headrace::inline v1::bench
