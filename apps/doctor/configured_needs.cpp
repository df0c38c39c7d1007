#include <headrace/apps/config/units.h>
#include <headrace/apps/doctor/configured_needs.h>
#include <headrace/apps/train/setting_facts.h>

namespace headrace::inline v1::app {

EnvironmentNeeds configured_needs(const WholeConfiguration& configuration) {
  const monitor::SettingFacts settings = setting_facts(configuration.full);
  EnvironmentNeeds needs{
      .gpu = configuration.value("device") == "cuda",
      .cpu = configuration.value("device") == "cpu",
      .loader_threads = configuration.number("threads.loader").value_or(0),
      .torch_threads = configuration.number("threads.torch").value_or(0),
      .memory_key = configuration.trains ? "memory.limit" : "memory",
      .can_stage = configuration.value("data.stage") == "",
      .can_cache = settings.can_cache && settings.may_cache(),
  };
  if (const auto bytes = parse_bytes(configuration.value(needs.memory_key).value_or("")))
    needs.memory_limit = bytes->value;
  return needs;
}

}  // namespace headrace::inline v1::app
