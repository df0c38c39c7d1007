#pragma once

#include <headrace/apps/learn/task_config.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Which pictures of COD10K are looked at, by their names (cod_name_of()).
enum class CodPictures : unsigned char {
  camouflaged,  ///< none that says NonCAM
  all,
};

/// The configuration of the job camouflage. Its constructor says what this job's defaults are.
struct CamouflageConfig final : TaskConfig {
  CamouflageConfig();

  CodPictures pictures = CodPictures::camouflaged;

  void describe_keys(Fields& fields) override;
  /// Experts are as many as the network has kinds, and without deep supervision, or by default with
  /// a network that has none, no term of the loss is `on: deep`.
  void settle(const Fields& read) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
  std::optional<MaskFormat> mask_format() const override;
};

}  // namespace headrace::inline v1::app
