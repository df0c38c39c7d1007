#pragma once

#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/training_runs.h>

#include <cstdint>

namespace headrace::test {

/// A folder with data and a configuration of the glaucoma job: 2 epochs of 10 steps, memory
/// not measured.
class SmallGlaucomaJob : public TrainingFolder {
 public:
  static constexpr std::int64_t train_rows = 200;
  static constexpr std::int64_t test_rows = 40;

  SmallGlaucomaJob()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata:\n  file: data.h5\ntraining:\n"
            "  epochs: 2\n  batch: 16\n  evaluation_batch: 20\n  member: 0\n"
            "threads:\n  loader: 1\n  torch: 1\nmemory:\n  measure: false\n") {
    write_glaucoma_data(path() / "data.h5", train_rows, test_rows);
  }
};

}  // namespace headrace::test
