#pragma once

#include <headrace/apps/run/csv_table.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/training/checkpoint/checkpoint.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

// Trainings of an MLP on a few vectors, each by the program: what keys of `training` change.
namespace headrace::test {

/// What a training has left behind.
class KeyRun {
 public:
  KeyRun(std::filesystem::path run, Finished finished);

  const std::filesystem::path& folder() const { return run_; }
  const std::string& err() const { return err_; }
  /// Rows of metrics.csv, an epoch each.
  std::int64_t epochs() const;
  /// A column of them.
  std::vector<std::string> column(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;
  /// The newest checkpoint of the first member.
  const training::Checkpoint& last() const { return last_; }
  at::Tensor weight(const std::string& name) const { return last_.weights.at(name); }
  /// Weights that predictions are made with.
  at::Tensor kept(const std::string& name) const;
  std::string log() const;

 private:
  std::filesystem::path run_;
  std::string err_;
  app::CsvTable metrics_;
  training::Checkpoint last_;
};

/// 48 vectors of 6 values in three classes, as features.h5, and a configuration for them.
class KeyFolder : public TrainingFolder {
 public:
  /// `spoilt`: a record of the training that no network bears; -1: none.
  explicit KeyFolder(int spoilt = -1, const std::string& more = {});

  /// Trains with these keys of the section `training`, or, with a dot, of others.
  KeyRun train(const std::vector<std::string>& settings) const;
  /// The same, however it ends.
  Finished tried(const std::vector<std::string>& settings) const;

 private:
  mutable int runs_ = 0;
};

/// Whether all weights are the same, bit by bit.
bool same_weights(const KeyRun& one, const KeyRun& other);

}  // namespace headrace::test
