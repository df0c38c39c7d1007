#include <headrace/apps/feed/augment/volume.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

KeyOptions voxels(std::string doc, double min, double max) {
  return {.doc = std::move(doc), .unit = "voxels", .min = min, .max = max};
}

void describe(Fields& fields, LabelStep& step) {
  fields.key("ignore", step.ignore, {.doc = "label that is none; null: the task's, if it has one"});
  fields.key("limit", step.limit,
             {.doc = "that are worked on at once; 0: as many as there are workers",
              .unit = "samples",
              .min = 0.0,
              .max = 1024.0});
}

void require_new_fields(const Schema& made, std::size_t added, const AugmentBuilder& builder) {
  if (made.size() == builder.fields().size() + added) return;
  throw ConfigError("makes a field that is there already, got " + to_string(builder.fields()) +
                    "; let the two have other names, or leave one out");
}

AugmentList without_spatial(AugmentList list) {
  std::erase_if(list, [](const AugmentEntry& entry) { return entry.operation->cuts_patches; });
  return list;
}

bool all_on_device(const AugmentList& list) {
  std::vector<const AugmentRow*> seen;
  return std::all_of(list.begin(), list.end(), [&seen](const AugmentEntry& entry) {
    if (entry.operation->cuts_patches) return true;
    const bool again = std::find(seen.begin(), seen.end(), entry.operation) != seen.end();
    seen.push_back(entry.operation);
    return entry.operation->on_device && !again;
  });
}

}  // namespace headrace::inline v1::app
