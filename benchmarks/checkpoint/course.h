#pragma once

#include <headrace/engine/plan/pipeline.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::bench {

/// Vectors that cost nothing to make, classified by four linear layers of `width` x `width`.
class WideCourse final : public training::Course {
 public:
  WideCourse(std::int64_t width, std::int64_t records) : width_(width), records_(records) {}

  std::unique_ptr<models::Network> network() const override;
  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override;
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override;
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment& moment) const override;
  std::unique_ptr<training::Metric> metric(training::Split,
                                           const training::TensorMap&) const override {
    return nullptr;
  }

 private:
  std::int64_t width_;
  std::int64_t records_;
};

}  // namespace headrace::inline v1::bench
