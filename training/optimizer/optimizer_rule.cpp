#include <headrace/training/optimizer/optimizer_rule.h>

#include <array>

namespace headrace::inline v1::training {

const char* name_of(const OptimizerRule& rule) {
  constexpr std::array names{"adamw", "adam", "sgd"};
  return names.at(rule.index());
}

}  // namespace headrace::inline v1::training
