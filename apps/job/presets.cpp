#include <headrace/apps/config/units.h>
#include <headrace/apps/job/presets.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/gpu/gpu_sampler.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

// How much of the machine one takes.
struct Share {
  const char* name = "";
  const char* help = "";
  double cores = 0.0;  // of the loader
  double torch = 0.0;  // of the operators
  double memory = 0.0;
  double gpu = 0.0;
  int io = 0;
  int prefetch = 0;
  double cache = 0.0;  // of the memory; 0: as it is
};

constexpr std::array<Share, 3> shares{{{.name = "conservative",
                                        .help = "leaves most of the machine to others",
                                        .cores = 0.25,
                                        .torch = 0.5,
                                        .memory = 0.5,
                                        .gpu = 0.7,
                                        .io = 2,
                                        .prefetch = 2},
                                       {.name = "balanced",
                                        .help = "leaves room for a person at the machine",
                                        .cores = 0.5,
                                        .torch = 1.0,
                                        .memory = 0.75,
                                        .gpu = 0.85,
                                        .io = 4,
                                        .prefetch = 4},
                                       {.name = "aggressive",
                                        .help = "takes the machine as its own",
                                        .cores = 1.0,
                                        .torch = 1.0,
                                        .memory = 0.9,
                                        .gpu = 0.95,
                                        .io = 16,
                                        .prefetch = 8,
                                        .cache = 0.25}}};

constexpr std::array<int, 8> cards_gb{8, 12, 16, 24, 32, 40, 48, 80};

// A card has a little less than it is called by, and its driver takes some: in whole 256 MiB.
constexpr double of_card = 0.9;
constexpr std::uint64_t step = 256ULL << 20;
constexpr int small_card_gb = 16;
constexpr int large_card_gb = 40;

std::optional<std::uint64_t> gpu_memory() {
  monitor::GpuSampler sampler({.pid = ::getpid(), .pcie_every = 0});
  const auto gpus = sampler.sample([](int) { return false; });
  return gpus.empty() ? std::nullopt : gpus.front().memory_total;
}

std::string size_text(double bytes) {
  const auto steps = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes) / step);
  return format_exact(Bytes{steps * step});
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", share * 100.0);
}

PresetKey threads_key(const char* key, double share, unsigned cores) {
  const auto threads = std::max(1, static_cast<int>(share * cores));
  return {.key = key,
          .value = std::to_string(threads),
          .why = fmt::format("{} of {} core{}", percent(share), cores, cores == 1 ? "" : "s")};
}

PresetKey size_key(const char* key, double share, std::uint64_t of) {
  return {.key = key,
          .value = size_text(share * static_cast<double>(of)),
          .why = fmt::format("{} of {}", percent(share), monitor::format_bytes(of))};
}

PresetKey fit_key() {
  return {.key = "memory.fit", .value = "true", .why = "smaller micro-batches where it must be"};
}

PresetKey evaluation_key() {
  return {.key = "training.evaluation_batch",
          .no_more_than = "training.batch",
          .why = "evaluation takes no more than training"};
}

Preset preset_of(const Share& share, const PresetMachine& machine) {
  Preset preset{.name = share.name, .help = share.help};
  auto& keys = preset.keys;
  if (machine.memory > 0) keys.push_back(size_key("memory.limit", share.memory, machine.memory));
  if (machine.gpu_memory) keys.push_back(size_key("memory.gpu", share.gpu, *machine.gpu_memory));
  keys.push_back(fit_key());
  keys.push_back(threads_key("threads.loader", share.cores, machine.cores));
  keys.push_back({.key = "threads.io", .value = std::to_string(share.io), .why = "they only wait"});
  keys.push_back(threads_key("threads.torch", share.torch, machine.cores));
  keys.push_back({.key = "data.prefetch",
                  .value = std::to_string(share.prefetch),
                  .why = "batches ready ahead"});
  if (share.cache > 0.0 && machine.memory > 0) {
    keys.push_back(size_key("data.cache.memory", share.cache, machine.memory));
    keys.back().unless = "data.cache.disk";
  }
  if (share.memory <= 0.5) keys.push_back(evaluation_key());
  return preset;
}

Preset preset_of_card(int gb) {
  Preset preset{.name = fmt::format("card-{}gb", gb), .help = fmt::format("a GPU of {} GB", gb)};
  const auto bytes = static_cast<std::uint64_t>(gb) << 30;
  preset.keys.push_back(size_key("memory.gpu", of_card, bytes));
  preset.keys.push_back(fit_key());
  const int prefetch = gb < small_card_gb ? 2 : gb < large_card_gb ? 4 : 8;
  preset.keys.push_back(
      {.key = "data.prefetch", .value = std::to_string(prefetch), .why = "batches ready ahead"});
  if (gb <= small_card_gb) preset.keys.push_back(evaluation_key());
  return preset;
}

std::string cell(const PresetKey& key) {
  return key.value.empty() ? "<= " + key.no_more_than : key.value;
}

// A column for each of the presets, a row for each key that one of them sets.
std::string table_of(const std::vector<Preset>& presets) {
  std::vector<Table::Column> columns{{.heading = "key", .align = Align::left}};
  std::vector<std::string> keys;
  for (const Preset& preset : presets) {
    columns.push_back({.heading = preset.name});
    for (const PresetKey& key : preset.keys)
      if (std::find(keys.begin(), keys.end(), key.key) == keys.end()) keys.push_back(key.key);
  }
  Table table(columns);
  for (const std::string& name : keys) {
    std::vector<std::string> row{name};
    for (const Preset& preset : presets) {
      const auto key = std::find_if(preset.keys.begin(), preset.keys.end(),
                                    [&](const PresetKey& k) { return k.key == name; });
      row.push_back(key == preset.keys.end() ? "-" : cell(*key));
    }
    table.row(row);
  }
  return table.text();
}

}  // namespace

PresetMachine this_machine() {
  const std::uint64_t memory = monitor::tightest_memory_limit({}).bytes;
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  return {.cores = monitor::usable_cores(),
          .memory = memory == none ? 0 : memory,
          .gpu_memory = gpu_memory()};
}

std::vector<Preset> presets_for(const PresetMachine& machine) {
  std::vector<Preset> presets;
  for (const Share& share : shares)
    presets.push_back(preset_of(share, machine));
  for (const int gb : cards_gb)
    presets.push_back(preset_of_card(gb));
  return presets;
}

Preset find_preset(const std::string& name, const PresetMachine& machine) {
  std::vector<std::string> names;
  for (Preset& preset : presets_for(machine)) {
    if (preset.name == name) return std::move(preset);
    names.push_back(preset.name);
  }
  const auto nearest = nearest_name(name, names);
  throw ConfigError(
      fmt::format("[preset] a preset must be one that headrace config presets lists, "
                  "got \"{}\"{}",
                  name, nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

std::string presets_text(const PresetMachine& machine) {
  const std::vector<Preset> all = presets_for(machine);
  const auto of_cards = all.begin() + static_cast<std::ptrdiff_t>(shares.size());
  std::string text = fmt::format(
      "Presets set these keys between the configuration and --set; none changes what is learnt.\n"
      "Here: {} core{}, {} of memory, {}.\n\n",
      machine.cores, machine.cores == 1 ? "" : "s", monitor::format_bytes(machine.memory),
      machine.gpu_memory ? "a GPU of " + monitor::format_bytes(*machine.gpu_memory)
                         : "no GPU that is known");
  text += table_of({all.begin(), of_cards});
  for (auto preset = all.begin(); preset != of_cards; ++preset)
    text += fmt::format("{}: {}\n", preset->name, preset->help);
  // Eight columns do not fit 80: cards are rows.
  Table cards({{.heading = "card", .align = Align::left},
               {.heading = "memory.gpu"},
               {.heading = "memory.fit"},
               {.heading = "data.prefetch"},
               {.heading = "training.evaluation_batch"}});
  for (auto preset = of_cards; preset != all.end(); ++preset) {
    std::vector<std::string> row{preset->name};
    for (const PresetKey& key : preset->keys)
      row.push_back(cell(key));
    cards.row(row);
  }
  return text + '\n' + cards.text();
}

}  // namespace headrace::inline v1::app
