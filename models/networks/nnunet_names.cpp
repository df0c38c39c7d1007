#include <headrace/models/networks/nnunet_names.h>

namespace headrace::inline v1::models {

namespace {

void replace(std::string& name, std::string_view from, std::string_view to) {
  if (const std::size_t at = name.find(from); at != std::string::npos)
    name.replace(at, from.size(), to);
}

}  // namespace

std::string canonical_nnunet_name(std::string_view name) {
  constexpr std::string_view owner = "decoder.";
  if (name.starts_with("decoder.encoder.")) name.remove_prefix(owner.size());
  std::string canonical(name);
  // With dropout the norm is number 2: such a file must not fit, so that number keeps its name.
  replace(canonical, ".all_modules.0.", ".conv.");
  replace(canonical, ".all_modules.1.", ".norm.");
  return canonical;
}

}  // namespace headrace::inline v1::models
