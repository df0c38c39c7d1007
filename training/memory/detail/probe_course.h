#pragma once

#include <headrace/training/recipe.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <c10/core/Device.h>

namespace headrace::inline v1::training::detail {

// What the metric of an evaluation keeps of each of its batches, the first left out: with that come
// its sums.
struct KeptOfBatches {
  at::Device device;
  std::uint64_t bytes = 0;
  std::int64_t batches = 0;
};

// A course whose data are placeholders: what it says of them is not looked at, what it does with
// them is the course's own.
class ProbeCourse final : public Course {
 public:
  // Both outlive it.
  ProbeCourse(const Course& course, const Stage& stage, at::Device device)
      : course_(course),
        stage_(stage),
        kept_(std::make_shared<KeptOfBatches>(KeptOfBatches{.device = device})) {}

  std::vector<Stage> stages() const override { return {stage_}; }
  std::unique_ptr<models::Network> network() const override { return course_.network(); }
  Pipeline train(const Stage& stage, const Feed& feed) const override {
    return course_.train(stage, feed);
  }
  bool evaluates(Split split) const override { return course_.evaluates(split); }
  Pipeline evaluation(Split split, const Feed& feed) const override {
    return course_.evaluation(split, feed);
  }
  Example example(const Batch& batch, const Moment& moment) const override;
  Output forward(models::Network& network, const Example& example,
                 const Moment& moment) const override {
    return course_.forward(network, example, moment);
  }
  std::vector<Term> loss(const Output& output, const Example& example,
                         const Moment& moment) const override {
    return course_.loss(output, example, moment);
  }
  at::Tensor scores(const Output& output) const override { return course_.scores(output); }
  // Rows that the course's takes for none of its cases go through the network all the same.
  std::unique_ptr<Inference> inference(Split split) const override;
  // Takes the cases in as the course's does; its figures are all 0.
  std::unique_ptr<Metric> metric(Split split, const TensorMap& fitted) const override;
  Selection selected_by() const override { return course_.selected_by(); }
  const KeptOfBatches& kept() const { return *kept_; }

 private:
  const Course& course_;
  const Stage& stage_;
  std::shared_ptr<KeptOfBatches> kept_;  // metrics may outlive their course
};

}  // namespace headrace::inline v1::training::detail
