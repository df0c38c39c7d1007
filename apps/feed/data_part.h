#pragma once

#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Samples of a configuration as they come to its list `augment:`, for whoever looks at them.
struct DataPart {
  std::string name{};                       ///< "training"; empty: there is no other part
  std::shared_ptr<const Source> records{};  ///< keeps no data in memory
  std::function<void(Sample&)> make{};      ///< what makes a sample of a record; empty: it is one
  Schema fields{};                          ///< of a sample
  std::vector<std::string> classes{};       ///< names of the field "label"; empty: it has none
  /// What the pipeline makes of the records at these places, in this order, in host memory and
  /// before it normalises; empty: it is not shown.
  std::function<Pipeline(std::vector<std::int64_t>)> fed{};
  bool normalizes = false;  ///< whether the pipeline does so behind `fed`
};

}  // namespace headrace::inline v1::app
