#include <headrace/engine/error.h>

#include <utility>

namespace headrace::inline v1 {

namespace {

void append(std::string& list, const std::string& item) {
  if (!list.empty()) list += ", ";
  list += item;
}

std::string message(const std::string& stage, const Origin& origin, const std::string& what) {
  const std::string who = stage.empty() ? "" : "[" + stage + "] ";
  return who + to_string(origin) + ": " + what;
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

DataError::DataError(std::string stage, Origin origin, const std::string& what)
    : Error(message(stage, origin, what)), stage_(std::move(stage)), origin_(std::move(origin)) {}

}  // namespace headrace::inline v1
