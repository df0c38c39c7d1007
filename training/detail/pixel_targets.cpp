#include <headrace/engine/base/error.h>
#include <headrace/training/detail/pixel_targets.h>

#include <vector>

namespace headrace::inline v1::training::detail {

namespace {

const at::Tensor& target_named(const Example& example, const std::string& name) {
  if (name.empty()) return only(example.targets, "target");
  const auto found = example.targets.find(name);
  if (found != example.targets.end()) return found->second;
  std::string names;
  for (const auto& [other, tensor] : example.targets)
    names += (names.empty() ? "" : ", ") + other;
  throw ConfigError("[example] there must be a target \"" + name + "\", got " +
                    (names.empty() ? "none" : names));
}

}  // namespace

PixelTargets pixel_targets(const Example& example, const std::string& name,
                           std::optional<std::int64_t> ignore) {
  PixelTargets targets{.values = target_named(example, name)};
  if (example.present.defined()) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(targets.values.dim()), 1);
    rows.front() = example.present.size(0);
    targets.present = example.present.view(rows);
  }
  if (!ignore) return targets;
  if (!targets.values.is_floating_point()) targets.values = targets.values.to(at::kLong);
  const at::Tensor known = targets.values != *ignore;
  targets.present = targets.present.defined() ? targets.present & known : known;
  return targets;
}

}  // namespace headrace::inline v1::training::detail
