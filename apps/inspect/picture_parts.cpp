#include <headrace/apps/feed/wrapped_source.h>
#include <headrace/apps/inspect/picture_parts.h>
#include <headrace/apps/task/find_data.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace headrace::inline v1::app {
namespace {

class PicturesAlone : public WrappedSource {
 public:
  using WrappedSource::WrappedSource;

  Schema fields() const override {
    Schema fields = source().fields();
    fields.remove("mask");
    return fields;
  }
  void read(std::int64_t index, Sample& sample) const override {
    source().read(index, sample);
    sample.remove("mask");
  }
};

std::vector<PicturePart> parts_of(const FoundData& found, bool follow_links) {
  const TaskData quiet{.listings = {}, .follow_links = follow_links};
  const auto open = [&](const DataSet& set, std::vector<std::string> classes) {
    ImageData data = image_data_of(set, quiet, "data.train");
    data.classes = std::move(classes);
    return open_image_data(data);
  };
  std::vector<PicturePart> parts{{.source = open(found.train, {})}};
  const auto add = [&](const std::optional<DataSet>& set, const char* name, Side side) {
    if (!set) return;
    parts.front().name = "training";
    parts.push_back({name, side, open(*set, parts.front().source->classes())});
  };
  add(found.validation, "validation", Side::validation);
  add(found.test, "test", Side::test);
  return parts;
}

}  // namespace

std::vector<PicturePart> picture_parts(const ImageData& data) {
  std::error_code failed;
  const bool folder = std::filesystem::is_directory(data.data, failed);
  if (!data.masks.empty() || (folder && !data.mask_suffix.empty()))
    return parts_of(find_masks(data.data, data.masks, data.mask_suffix, data.follow_links),
                    data.follow_links);
  if (folder) return parts_of(find_pictures(data.data, data.follow_links), data.follow_links);
  return {{.source = open_image_data(data)}};
}

std::shared_ptr<const Source> pictures_alone(std::shared_ptr<const ImageSource> source) {
  if (!source->has_masks()) return source;
  return std::make_shared<const PicturesAlone>(std::move(source));
}

}  // namespace headrace::inline v1::app
