#include <headrace/augment/normalize.h>
#include <headrace/benchmarks/device/sections.h>
#include <headrace/engine/plan/pipeline.h>

#include <memory>
#include <string>

namespace headrace::inline v1::bench {

namespace {

using Layout = Normalize::Layout;

/// Pictures on the device, every other one marked to be mirrored.
Held pictures(const Bench& bench, std::int64_t rows, std::int64_t width) {
  const Schema fields{FieldSpec::fixed("image", DType::uint8, Shape{width, width, 3}),
                      FieldSpec::fixed("flip", DType::uint8, Shape{})};
  return hold(Pipeline::from(std::make_shared<const StillSource>(rows, fields))
                  .order(Sequential{})
                  .batch({.size = rows}),
              bench);
}

Measured ours(const Bench& bench, Held& held, DType dtype, Layout layout) {
  Normalize normalize = Normalize::imagenet(dtype, layout);
  normalize.flips = "flip";
  const Tensor image = held.batch["image"];
  const std::size_t bytes = image.bytes() * (1 + size_of(dtype));
  const bool first = layout == Layout::channels_first;
  return rate_of(bench, first ? "headrace, NCHW" : "headrace, NHWC", bytes,
                 [&held, &bench, image, normalize] {
                   normalize(held.batch, bench.side.stream());
                   held.batch.set("image", image);
                 });
}

}  // namespace

void measure_normalize(const Bench& bench) {
  for (const std::size_t size : bench.extent.sizes) {
    for (const std::int64_t width : {224, 227}) {
      const std::int64_t picture = 3 * width * width;
      const auto rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(size) / picture);
      Held held = pictures(bench, rows, width);
      const std::size_t bytes = held.batch["image"].bytes();
      for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
        const auto goal = bench.extent.at_largest(size, at_least(0.8));
        const auto rates = compare_measured({copy_of(bench, bytes * (1 + size_of(dtype))),
                                             ours(bench, held, dtype, Layout::channels_first),
                                             ours(bench, held, dtype, Layout::channels_last)},
                                            bench.extent.repeats);
        bench.report.add("normalize " + in_megabytes(bytes) + " uint8 to " +
                             std::string(name_of(dtype)) + ", " + std::to_string(width) + " x " +
                             std::to_string(width) + ", half of them mirrored",
                         "GB/s", rates, copy_name, {std::nullopt, goal, goal});
      }
    }
  }
}

}  // namespace headrace::inline v1::bench
