#pragma once

#include <headrace/apps/learn/task_config.h>
#include <headrace/models/metrics/one_vs_one.h>

#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

enum class EnsembleMethod : unsigned char {
  one_vs_one,   ///< a network of one output for each pair of classes, which then vote
  multi_class,  ///< one network of an output for each class
};

/// How the networks of the pairs vote: the section `vote`.
struct VoteSettings {
  models::VoteScheme by = models::VoteScheme::coupling;
  bool calibrate = true;                ///< a pair's probability goes through its temperature
  std::vector<double> class_weights{};  ///< of the scheme weighted; empty: 1 each
  std::vector<double> boosts{};         ///< likewise
};

/// The configuration of the job retinopathy. Its constructor says what this job's defaults are.
struct RetinopathyConfig final : TaskConfig {
  RetinopathyConfig();

  EnsembleMethod method = EnsembleMethod::one_vs_one;
  VoteSettings vote;

  bool pairs() const { return method == EnsembleMethod::one_vs_one; }

  void describe_keys(Fields& fields) override;
  /// Loss and head are those of the method; head and rates are the original's with its network, and
  /// none with another.
  void settle(const Fields& read) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;

 private:
  void be_plain(const Fields& read);
};

}  // namespace headrace::inline v1::app
