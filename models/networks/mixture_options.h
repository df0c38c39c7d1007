#pragma once

#include <cstdint>
#include <optional>

namespace headrace::inline v1::models {

/// Of networks with mixtures of experts and heads at coarser maps.
struct MixtureOptions {
  std::optional<std::int64_t> experts = {};  ///< of each mixture; none: as many as there are kinds
  double balance = 0.1;                      ///< factor of the loss `balance`; 0: there is none
  bool deep_supervision = true;              ///< without it there are no heads for it
  double capacity = 0.0;                     ///< see `ExpertMixtureOptions`

  bool operator==(const MixtureOptions&) const = default;
};

}  // namespace headrace::inline v1::models
