#include <headrace/engine/base/error.h>

#include <utility>

namespace headrace::inline v1 {

namespace {

std::string message(const std::string& stage, const Origin& origin, const std::string& what) {
  const std::string who = stage.empty() ? "" : "[" + stage + "] ";
  return who + to_string(origin) + ": " + what;
}

}  // namespace

DataError::DataError(std::string stage, Origin origin, const std::string& what)
    : Error(message(stage, origin, what)), stage_(std::move(stage)), origin_(std::move(origin)) {}

}  // namespace headrace::inline v1
