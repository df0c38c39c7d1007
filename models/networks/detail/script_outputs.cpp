#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/script_outputs.h>

#include <iterator>
#include <map>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

namespace headrace::inline v1::models::detail {

namespace {

const at::Tensor& tensor_of(const c10::IValue& value, const std::string& who) {
  if (value.isTensor() && value.toTensor().defined()) return value.toTensor();
  throw ConfigError(who + ": forward must give tensors, alone, in a tuple, list or dict, got " +
                    value.tagKind());
}

Output of_sequence(c10::ArrayRef<c10::IValue> values, const std::string& who) {
  Output output;
  for (const c10::IValue& value : values) {
    if (value.isNone()) continue;
    const at::Tensor& tensor = tensor_of(value, who);
    if (output.main.defined())
      output.deep.push_back(tensor);
    else
      output.main = tensor;
  }
  if (!output.main.defined())
    throw ConfigError(who + ": forward must give a tensor at least, got an empty tuple or list");
  return output;
}

std::string main_of(const std::map<std::string, at::Tensor>& named, const std::string& main,
                    const std::string& who) {
  if (main.empty()) {
    for (const char* name : {"main", "out"})
      if (named.contains(name)) return name;
    if (named.size() == 1) return named.begin()->first;
  } else if (named.contains(main)) {
    return main;
  }
  std::string names;
  for (const auto& [name, tensor] : named)
    names += (names.empty() ? "\"" : ", \"") + name + '"';
  throw ConfigError(who + ": one of the outputs must be the main one, " +
                    (main.empty() ? "\"main\" or \"out\"" : '"' + main + '"') + ", got " +
                    (names.empty() ? "none" : names) + "; name it by the key main");
}

Output of_dict(const c10::impl::GenericDict& dict, const std::string& main,
               const std::string& who) {
  Output output;
  for (const auto& entry : dict)
    if (!entry.value().isNone())
      output.extra.emplace(entry.key().toStringRef(), tensor_of(entry.value(), who));
  output.main = output.extra.extract(main_of(output.extra, main, who)).mapped();
  return output;
}

}  // namespace

Output to_output(const c10::IValue& value, const std::string& main, const std::string& who) {
  if (value.isTuple()) {
    const auto tuple = value.toTuple();
    const c10::ivalue::TupleElements& elements = tuple->elements();
    return of_sequence(c10::ArrayRef<c10::IValue>(elements.begin(), elements.size()), who);
  }
  if (value.isList()) return of_sequence(value.toListRef(), who);
  if (value.isGenericDict()) return of_dict(value.toGenericDict(), main, who);
  return {.main = tensor_of(value, who)};
}

}  // namespace headrace::inline v1::models::detail
