#pragma once

#include <headrace/augment/volume/detail/intensity_task.h>
#include <headrace/augment/volume/nnunet_intensity.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// What was drawn for a channel of an image of that shape.
IntensityPlan plan_intensity(const NnUNetIntensity::Parameters& drawn, const Voxels& shape,
                             std::int64_t channel);

}  // namespace headrace::inline v1::detail
