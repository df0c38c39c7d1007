#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/task/model_settings.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where the training and evaluation segments live.
enum class LeakResidence : unsigned char {
  host,    ///< in host memory; batches are gathered there
  device,  ///< in the device's memory; a batch is one gather kernel
};

/// Where the segments come from and how batches are made of them.
struct LeakData {
  std::filesystem::path training;    ///< HDF5: segments_mel, labels
  std::filesystem::path validation;  ///< selects weights and threshold
  std::filesystem::path testing;     ///< never used to select anything
  Bytes resident{4ULL << 30};        ///< most of one file that is kept in memory
  LeakResidence residence = LeakResidence::host;
  std::filesystem::path stage;  ///< folder a file is copied to before; empty: none
  int prefetch = 4;             ///< batches ahead of the trainer
};

/// What is minimised.
struct LeakLoss {
  double auxiliary = 0.3;   ///< factor of the auxiliary head's term
  double leak_boost = 1.0;  ///< of the leak's class weight
};

/// The configuration of the job leak. Its constructor says what this job's defaults are.
struct LeakConfig final : JobConfig {
  LeakConfig();

  LeakData data;
  AugmentList augment;
  ModelSettings model;
  LeakLoss loss;

  /// Whether the network is the job's own, which has an auxiliary head.
  bool is_leak_cnn() const;

  void describe_keys(Fields& fields) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  int prefetch() const override { return data.prefetch; }
  std::vector<std::string> frozen() const override { return model.frozen; }
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
};

}  // namespace headrace::inline v1::app
