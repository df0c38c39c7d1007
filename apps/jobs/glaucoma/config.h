#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/task/model_settings.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where the samples come from and how batches are made of them.
struct GlaucomaData {
  std::filesystem::path file;   ///< HDF5: features/*, labels, split
  Bytes resident{2ULL << 30};   ///< most of the file that is kept in memory
  std::filesystem::path stage;  ///< folder the file is copied to first; empty: none
  CacheSettings cache;          ///< of pair means
  int prefetch = 4;             ///< batches ahead of the trainer
  int folds = 5;                ///< stratified parts of the training split
};

enum class GlaucomaLossName : unsigned char { focal, clamped_focal, cross_entropy };

/// What is minimised.
struct GlaucomaLoss {
  GlaucomaLossName name = GlaucomaLossName::focal;
  double gamma = 2.0;
};

/// The configuration of the job glaucoma. Its constructor says what this job's defaults are.
struct GlaucomaConfig final : JobConfig {
  GlaucomaConfig();

  GlaucomaData data;
  AugmentList augment;
  ModelSettings model;
  GlaucomaLoss loss;

  void describe_keys(Fields& fields) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  int prefetch() const override { return data.prefetch; }
  std::vector<std::string> frozen() const override { return model.frozen; }
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
};

}  // namespace headrace::inline v1::app
