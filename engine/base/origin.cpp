#include <headrace/engine/base/origin.h>

namespace headrace::inline v1 {

namespace {

void append(std::string& list, const std::string& item) {
  if (!list.empty()) list += ", ";
  list += item;
}

}  // namespace

std::string to_string(const Origin& origin) {
  std::string place;
  if (origin.part > 0) append(place, "part " + std::to_string(origin.part));
  if (origin.position >= 0) {
    append(place, "epoch " + std::to_string(origin.epoch));
    append(place, "position " + std::to_string(origin.position));
  }
  if (!origin.file.empty()) append(place, origin.file);
  std::string text = origin.index >= 0 ? "sample " + std::to_string(origin.index) : "a sample";
  return place.empty() ? text : text + " (" + place + ")";
}

}  // namespace headrace::inline v1
