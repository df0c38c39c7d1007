#pragma once

#include <headrace/tests/apps/leak/data.h>
#include <headrace/tests/apps/training_runs.h>

#include <string>

namespace headrace::test {

/// A folder with prepared data and a configuration of the leak job that ends with `rest`.
class LeakFolder : public TrainingFolder {
 public:
  explicit LeakFolder(const std::string& rest)
      : TrainingFolder(
            "kind: leak\nseed: 7\ndevice: cpu\ndata:\n  training: data/training.h5\n"
            "  validation: data/validation.h5\n  testing: data/testing.h5\n"
            "threads:\n  loader: 2\n  torch: 1\n" +
            rest) {
    write_leak_sounds(path() / "sounds");
    done({"prepare", "leak", "--sounds", "sounds", "--output", "data", "--limit", "8",
          "--no-waveforms", "--lowest-snr", "0"});
  }
};

}  // namespace headrace::test
