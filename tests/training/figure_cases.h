#pragma once

#include <headrace/training/metrics/metric.h>

#include <string>
#include <utility>

// Cases for metrics, as an evaluation gives them and as training does.
namespace headrace::test {

inline training::Cases evaluated(at::Tensor scores, at::Tensor target, at::Tensor present = {}) {
  return {.scores = std::move(scores),
          .example = {.targets = {{"target", std::move(target)}}, .present = std::move(present)}};
}

inline training::Cases learnt(at::Tensor logits, at::Tensor target, at::Tensor present = {}) {
  return {.output = {.main = std::move(logits)},
          .example = {.targets = {{"target", std::move(target)}}, .present = std::move(present)}};
}

/// Names of figures, in their order.
inline std::string names_of(const training::Figures& figures) {
  std::string names;
  for (const auto& [name, value] : figures)
    names += (names.empty() ? "" : " ") + name;
  return names;
}

}  // namespace headrace::test
