#pragma once

#include <headrace/engine/order/order.h>
#include <headrace/engine/plan/operation.h>
#include <headrace/engine/plan/options.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// What a Pipeline has been told.
struct Recipe {
  std::string name = "loader";
  std::shared_ptr<const Source> source;
  std::function<std::shared_ptr<const IndexStream>(std::int64_t)> bind_order;
  std::optional<std::uint64_t> seed;
  Ranks ranks;
  std::vector<SampleStep> sample_steps;
  std::vector<BatchStep> batch_steps;
  std::optional<Batching> batching;
  Device device;
  BadSamples bad_samples;
};

}  // namespace headrace::inline v1::detail
