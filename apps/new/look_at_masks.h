#pragma once

#include <headrace/apps/task/mask_settings.h>
#include <headrace/loaders/image/image_source.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What the values or colours of masks seem to mean.
struct MaskFacts {
  MaskSettings settings{};
  std::vector<std::string> lines{};  ///< what is to be said of them, a sentence each
};

/// Looks at the masks of all parts, at as many as check_masks() does. Of two classes whose edges
/// are smoothed each value stands for the nearer one. Throws DataError for masks that cannot be
/// read, that hold one value, and whose values are shades and no classes.
MaskFacts look_at_masks(const std::vector<std::shared_ptr<const ImageSource>>& parts, int threads);

}  // namespace headrace::inline v1::app
