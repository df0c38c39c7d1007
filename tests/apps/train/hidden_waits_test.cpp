// Neither a training step nor an evaluation's waits for the device: on `meta` whatever reads a
// value throws, and copies from the host are listed.
#include <headrace/tests/apps/job_steps.h>
#include <headrace/tests/apps/meta_device.h>
#include <headrace/tests/support/torch_doctest.h>
#include <headrace/tests/training/changed_course.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

namespace headrace {
using namespace test;
using training::Precision;

namespace {

using Change = std::function<void(JobStep&)>;

struct Steps {
  std::vector<std::string> waits;
  std::int64_t taken = 0;
  std::size_t fields = 0;  ///< of a batch, beside which rows of it are padding
  int fields_copied = 0;
};

Steps steps_on_meta(const JobStepMaker& maker, const StepVariant& variant,
                    const Change& change = {}) {
  JobStep job = maker.make(at::kMeta);
  job.network->move_to(at::kCPU, true);
  job.network =
      std::make_unique<MetaNetwork>(std::move(job.network), variant.precision == Precision::bf16);
  job.options.read_loss_every = 1 << 20;  // what is asked for is no hidden wait
  if (change) change(job);
  HostCopies copies;
  job.course = std::make_shared<ChangedCourse>(
      job.course,
      CourseChanges{.before_example = [&copies](const Batch& batch) { copies.allow(batch); }});
  Steps steps;
  steps.fields = job.rows->fields().size();
  try {
    run_steps(job, variant, Device::cpu(), [&](const training::StepReport&) { ++steps.taken; });
    steps.waits = copies.found();
  } catch (const std::exception& error) {
    steps.waits = copies.found();
    steps.waits.push_back(std::string("read: ") + error.what());
  }
  steps.fields_copied = copies.allowed();
  return steps;
}

std::string text(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines)
    all += line.substr(0, 200) + '\n';
  return all;
}

// The first thing that was found after the change; empty where nothing was.
std::string found_after(const Change& change, const StepVariant& variant = {}) {
  const Steps steps = steps_on_meta(job_steps().front(), variant, change);
  return steps.waits.empty() ? "" : steps.waits.front();
}

Change changed(CourseChanges changes) {
  return [changes = std::move(changes)](JobStep& job) {
    job.course = std::make_shared<ChangedCourse>(job.course, changes);
  };
}

template <class F>
Change with_loss(F planted) {
  return changed({.loss = planted});
}

bool has(const std::string& line, const char* part) {
  return line.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no step of a job reads a value on the host or copies more than its batch") {
  // Each two of the three in every way; with the next job the other four.
  const std::vector<StepVariant> variants{
      {.precision = Precision::fp32, .accumulation = 1, .padded = false},
      {.precision = Precision::fp32, .accumulation = 3, .padded = true},
      {.precision = Precision::bf16, .accumulation = 1, .padded = true},
      {.precision = Precision::bf16, .accumulation = 3, .padded = false}};
  bool other = false;
  for (const JobStepMaker& maker : job_steps()) {
    for (StepVariant variant : variants) {
      variant.padded = variant.padded != other;
      CAPTURE(maker.name);
      CAPTURE((variant.precision == Precision::bf16));
      CAPTURE(variant.accumulation);
      CAPTURE(variant.padded);
      const Steps steps = steps_on_meta(maker, variant);
      CHECK_MESSAGE(steps.waits.empty(), text(steps.waits));
      CHECK(steps.taken == (variant.accumulation == 1 ? 6 : 2));
      // Six batches that are trained on and then evaluated, the last one padded.
      CHECK(steps.fields_copied == 2 * (6 * static_cast<int>(steps.fields) + variant.padded));
    }
    other = !other;
  }
}

TEST_CASE("mixed precision on meta lowers the network and not the loss") {
  for (const JobStepMaker& maker : job_steps()) {
    CAPTURE(maker.name);
    bool lowered = false;
    const Steps steps = steps_on_meta(
        maker, {.precision = Precision::bf16},
        with_loss([&lowered](const at::Tensor& value, const at::Tensor& logits, auto&) {
          lowered = logits.scalar_type() == at::kBFloat16;
          CHECK((value.scalar_type() == at::kFloat));
          return value;
        }));
    CHECK(steps.waits.empty());
    CHECK(lowered);
  }
}

TEST_CASE("a planted read is found") {
  CHECK(has(found_after(with_loss([](const at::Tensor& loss, auto&, auto&) {
              return loss * (loss.item<float>() > 0 ? 1.0 : 2.0);
            })),
            "_local_scalar_dense"));
  CHECK(has(found_after(with_loss([](const at::Tensor&, const at::Tensor& logits,
                                     const training::Example& example) {
                          // Of a batch that is full none is said.
                          const at::Tensor& present = example.present;
                          return present.defined() ? logits.index({present}).sum() : logits.sum();
                        }),
                        {.padded = true}),
            "nonzero"));
  CHECK(has(
      found_after(with_loss([](const at::Tensor& loss, auto&, const training::Example& example) {
        return loss + training::only(example.targets, "target").bincount().sum();
      })),
      "bincount"));
  CHECK(has(found_after(with_loss([](const at::Tensor& loss, const at::Tensor& logits, auto&) {
              return loss + logits.cpu().sum().to(at::kMeta);
            })),
            "copy out of meta"));
}

TEST_CASE("an example that does not say how many rows are present is found") {
  const Change forgetful = changed({.example = [](const Batch&, training::Example example) {
    example.rows.reset();
    return example;
  }});
  CHECK(has(found_after(forgetful, {.padded = true}), "_local_scalar_dense"));
  CHECK(found_after(forgetful, {.padded = false}).empty());
}

TEST_CASE("a planted copy is found") {
  const std::string weights =
      found_after(with_loss([](const at::Tensor& loss, const at::Tensor& logits, auto&) {
        const at::Tensor fresh = at::tensor({1.0, 2.0, 1.0}).to(logits.device());
        return loss + logits.sum() * fresh.to(logits.scalar_type()).sum();
      }));
  CHECK(has(weights, "copy to the device"));
  CHECK(has(weights, "[3]"));
  const std::string statistics =
      found_after(changed({.example = [](const Batch&, training::Example example) {
        at::Tensor& input = example.inputs.begin()->second;
        input = input - at::ones({1, 1}).to(input.device());
        return example;
      }}));
  CHECK(has(statistics, "[1, 1]"));
}

namespace {

// Three batches, of which nothing but the mean and the deviation goes to the device besides.
void check_statistics_copied_once(const training::Unpack& unpack, Loader& loader) {
  HostCopies copies;
  for (int number = 0; number < 3; ++number) {
    const NextBatch next = loader.next();
    copies.allow(next.batch);
    static_cast<void>(unpack(next.batch, at::kMeta));
  }
  CHECK_MESSAGE(copies.found().size() == 2, text(copies.found()));
  CHECK(copies.allowed() == 6);
}

}  // namespace

TEST_CASE("the statistics of integer images go to a device once") {
  const training::Unpack unpack =
      training::unpack_images({.mean = {.5, .5, .5}, .stddev = {.25, .25, .25}});
  class Bytes final : public Source {
   public:
    std::string name() const override { return "bytes"; }
    std::int64_t size() const override { return 6; }
    Schema fields() const override {
      return {FieldSpec::fixed("image", DType::uint8, {3, 4, 4}),
              FieldSpec::fixed("label", DType::int64, {})};
    }
    void read(std::int64_t index, Sample& sample) const override {
      sample.make("image", DType::uint8, {3, 4, 4});
      sample.set_scalar<std::int64_t>("label", index);
    }
  };
  Loader loader = Pipeline::from(Bytes{}).batch({.size = 2}).build();
  check_statistics_copied_once(unpack, loader);
}

TEST_CASE("the statistics of arrays go to a device once") {
  const training::Unpack unpack =
      training::unpack_arrays({.mean = {1, 2, 3, 4}, .stddev = {1, 1, 1, 1}});
  Loader loader = Pipeline::from(zero_rows(FieldSpec::fixed("array", DType::float32, {4}), 3))
                      .batch({.size = 2})
                      .build();
  check_statistics_copied_once(unpack, loader);
}

}  // namespace headrace
