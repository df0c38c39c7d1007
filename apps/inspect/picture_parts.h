#pragma once

#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/task/duplicates.h>
#include <headrace/loaders/image/image_source.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Pictures that are looked at.
struct PicturePart {
  std::string name{};  ///< "training"; empty: there is no other part
  Side side = Side::training;
  std::shared_ptr<const ImageSource> source{};
};

/// Of a folder its parts, train, validation and test, which have the classes of train, and masks
/// where names say so (find_pictures()); of all else what is named. The suffix of masks is found
/// where none is given. Throws what the sources throw.
std::vector<PicturePart> picture_parts(const ImageData& data);

/// The same pictures without their masks.
std::shared_ptr<const Source> pictures_alone(std::shared_ptr<const ImageSource> source);

}  // namespace headrace::inline v1::app
