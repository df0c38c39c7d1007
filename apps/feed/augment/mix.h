#pragma once

#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/mix.h>

namespace headrace::inline v1::app {

struct Mix {
  MixBatch op{};
  bool soft_labels = false;
};

/// The parameters that Mixup and CutMix share.
void describe(Fields& fields, Mix& mix);

/// Limits of a parameter of the Beta distribution.
KeyOptions beta_parameter();

/// Throws ConfigError for what cannot be mixed.
void add(Mix mix, AugmentBuilder& builder);

}  // namespace headrace::inline v1::app
