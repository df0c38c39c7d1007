#pragma once

#include <headrace/apps/job/job.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// Which sounds there are.
struct TonesData {
  std::int64_t sounds = 4096;  ///< of an epoch; a quarter as many to validate and to test.
  std::int64_t pitches = 8;
  double noise = 0.5;  ///< deviation, beside a sine of height 1.
};

/// The configuration of the job tones.
struct TonesConfig final : JobConfig {
  TonesConfig();

  TonesData data;

  void describe_keys(Fields& fields) override;
  LoaderJob loader_job() const override;
};

}  // namespace headrace::inline v1::app
