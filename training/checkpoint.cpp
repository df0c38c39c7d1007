#include <headrace/engine/base/utf8.h>
#include <headrace/training/checkpoint.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/detail/safetensors_stream.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <zlib.h>

namespace headrace::inline v1::training {

namespace {

using nlohmann::json;
using Words = std::map<std::string, std::string>;

constexpr std::string_view checksum_key = "headrace.crc32";
constexpr std::string_view no_checksum = "00000000";
constexpr std::string_view checksum_text = "\"headrace.crc32\":\"";

json from_best(const std::optional<double>& best) {
  return best ? json(*best) : json(nullptr);
}
std::optional<double> to_best(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

json to_json(const Progress& progress) {
  const Position& position = progress.position;
  return {{"stage", progress.stage},
          {"epoch", progress.epoch},
          {"step", progress.step},
          {"skipped", progress.skipped},
          {"trained", progress.trained},
          {"position",
           {{"seed", position.seed},
            {"epoch", position.epoch},
            {"position", position.position},
            {"order_version", position.order_version}}},
          {"samples", progress.samples},
          {"epoch_skipped", progress.epoch_skipped},
          {"plateau",
           {{"reductions", progress.plateau.reductions},
            {"best", from_best(progress.plateau.best)},
            {"bad", progress.plateau.bad},
            {"cooldown", progress.plateau.cooldown}}},
          {"early_stopping",
           {{"best", from_best(progress.early_stopping.best)},
            {"reference", from_best(progress.early_stopping.reference)},
            {"bad", progress.early_stopping.bad}}},
          {"best_epoch", progress.best_epoch},
          {"skipped_in_a_row", progress.skipped_in_a_row},
          {"overflows_in_a_row", progress.overflows_in_a_row},
          {"reloads", progress.reloads},
          {"rate_factor", progress.rate_factor},
          {"unfrozen_at", progress.unfrozen_at},
          {"halvings", progress.halvings},
          {"checkpointed", progress.checkpointed},
          {"evaluation_rows", progress.evaluation_rows}};
}

Progress progress_from(const json& state) {
  const auto& position = state.at("position");
  const auto& plateau = state.at("plateau");
  const auto& stopping = state.at("early_stopping");
  return {.stage = state.at("stage").get<std::int64_t>(),
          .epoch = state.at("epoch").get<std::int64_t>(),
          .step = state.at("step").get<std::int64_t>(),
          .skipped = state.at("skipped").get<std::int64_t>(),
          .trained = state.at("trained").get<bool>(),
          .position = {.seed = position.at("seed").get<std::uint64_t>(),
                       .epoch = position.at("epoch").get<std::int64_t>(),
                       .position = position.at("position").get<std::int64_t>(),
                       .order_version = position.at("order_version").get<int>()},
          .samples = state.at("samples").get<std::int64_t>(),
          .epoch_skipped = state.at("epoch_skipped").get<std::int64_t>(),
          .plateau = {.best = to_best(plateau.at("best")),
                      .bad = plateau.at("bad").get<int>(),
                      .cooldown = plateau.at("cooldown").get<int>(),
                      .reductions = plateau.at("reductions").get<int>()},
          .early_stopping = {.best = to_best(stopping.at("best")),
                             .reference = to_best(stopping.at("reference")),
                             .bad = stopping.at("bad").get<int>()},
          .best_epoch = state.at("best_epoch").get<std::int64_t>(),
          .skipped_in_a_row = state.at("skipped_in_a_row").get<int>(),
          .overflows_in_a_row = state.at("overflows_in_a_row").get<int>(),
          .reloads = state.at("reloads").get<int>(),
          .rate_factor = state.at("rate_factor").get<double>(),
          .unfrozen_at = state.at("unfrozen_at").get<std::vector<std::int64_t>>(),
          .halvings = state.value("halvings", 0),
          .checkpointed = state.value("checkpointed", false),
          .evaluation_rows = state.value("evaluation_rows", std::int64_t{0})};
}

// CRC-32 of a file with zeros where its own eight digits stand: in the header, of which it is
// given all at once.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t place = stored_.empty() ? find_digits(text) : std::string_view::npos;
    if (place == std::string_view::npos) return add(text);
    stored_ = text.substr(place, no_checksum.size());
    add(text.substr(0, place));
    add(no_checksum);
    add(text.substr(place + no_checksum.size()));
  }

  // Where the digits begin, or npos.
  static std::size_t find_digits(std::string_view text) {
    const std::size_t found = text.find(checksum_text);
    if (found == std::string_view::npos) return found;
    const std::size_t digits = found + checksum_text.size();
    return digits + no_checksum.size() <= text.size() ? digits : std::string_view::npos;
  }

  // Of the bytes, and as the file has them: empty where it has none.
  std::string digits() const {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(sum_));
    return digits.data();
  }
  const std::string& stored() const { return stored_; }

 private:
  void add(std::string_view text) {
    sum_ = ::crc32_z(sum_, reinterpret_cast<const Bytef*>(text.data()), text.size());
  }

  uLong sum_ = 0;
  std::string stored_;
};

void sign(detail::SafetensorsLayout& layout) {
  Checksum checksum;
  layout.send([&](std::span<const std::byte> bytes) { checksum.add(bytes); });
  layout.head.replace(Checksum::find_digits(layout.head), no_checksum.size(), checksum.digits());
}

TensorFile read_signed(const std::filesystem::path& path, const std::string& who) {
  const detail::FileStream file = detail::open_file(path);
  Checksum checksum;
  const detail::FileStream watched{.size = file.size, .read = [&](std::span<std::byte> into) {
                                     file.read(into);
                                     checksum.add(into);
                                   }};
  TensorFile read = detail::read_safetensors(watched, path.string());
  if (checksum.stored().empty())
    throw CheckpointError(who + ": has no checksum, it is not a checkpoint");
  if (checksum.stored() != checksum.digits())
    throw CheckpointError(who + ": the checksum in the file is " + checksum.stored() +
                          ", its bytes give " + checksum.digits());
  return read;
}

constexpr std::array sections{
    std::pair{"weights.", &Checkpoint::weights}, std::pair{"optimizer.", &Checkpoint::optimizer},
    std::pair{"ema.", &Checkpoint::ema},         std::pair{"scaler.", &Checkpoint::scaler},
    std::pair{"rng.", &Checkpoint::rng},         std::pair{"counters.", &Checkpoint::counters},
    std::pair{"fitted.", &Checkpoint::fitted}};

void sort_into_sections(Checkpoint& checkpoint, TensorMap tensors, const std::string& who) {
  for (auto& [name, tensor] : tensors) {
    const auto* section = std::ranges::find_if(
        sections, [&name = name](const auto& s) { return name.starts_with(s.first); });
    if (section == sections.end())
      throw CheckpointError(who + ": holds the unexpected tensor \"" + name + "\"");
    (checkpoint.*section->second)
        .emplace(name.substr(std::string_view(section->first).size()), std::move(tensor));
  }
}

void require_finite_weights(const Checkpoint& checkpoint, const std::string& who) {
  const auto require = [&](const TensorMap& weights, const char* which) {
    if (const auto name = first_not_finite(weights))
      throw CheckpointError(who + ": all " + which + " must be finite, \"" + *name +
                            "\" holds values that are not");
  };
  require(checkpoint.weights, "weights");
  require(checkpoint.ema, "averaged weights");
}

void require_utf8(const Words& words, const std::string& who) {
  for (const auto& [name, value] : words)
    if (!is_utf8(name) || !is_utf8(value))
      throw CheckpointError(who + ": \"" + name + "\" and its value \"" + value +
                            "\" must be UTF-8, got other bytes");
}

}  // namespace

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  const std::string who = "[checkpoint] " + path.string();
  TensorFile file = read_signed(path, who);
  Checkpoint checkpoint;
  try {
    const json state = json::parse(file.metadata.at("headrace.state"));
    const int version = state.at("format_version").get<int>();
    if (version != Checkpoint::format_version)
      throw CheckpointError(who + ": format version must be " +
                            std::to_string(Checkpoint::format_version) + ", got " +
                            std::to_string(version));
    checkpoint.progress = progress_from(state.at("progress"));
    checkpoint.identity = state.at("identity").get<Words>();
    checkpoint.notes = state.at("notes").get<Words>();
  } catch (const json::exception& error) {
    throw CheckpointError(who + ": the state cannot be read: " + error.what());
  } catch (const std::out_of_range&) {
    throw CheckpointError(who + ": has no headrace.state, it is not a checkpoint");
  }
  sort_into_sections(checkpoint, std::move(file.tensors), who);
  require_finite_weights(checkpoint, who);
  return checkpoint;
}

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const std::string who = "[checkpoint] " + path.string();
  require_finite_weights(checkpoint, who);
  require_utf8(checkpoint.identity, who);
  require_utf8(checkpoint.notes, who);
  const json state = {{"format_version", Checkpoint::format_version},
                      {"progress", to_json(checkpoint.progress)},
                      {"identity", checkpoint.identity},
                      {"notes", checkpoint.notes}};
  TensorFile file{.tensors = {},
                  .metadata = {{std::string(checksum_key), std::string(no_checksum)},
                               {"headrace.state", state.dump()}}};
  for (const auto& [prefix, section] : sections)
    for (const auto& [name, tensor] : checkpoint.*section)
      file.tensors.emplace(prefix + name, tensor);
  detail::SafetensorsLayout layout = detail::safetensors_layout(file);
  sign(layout);
  detail::write_file(path, layout.content());
}

void require_same_identity(const std::map<std::string, std::string>& in_file,
                           const std::map<std::string, std::string>& of_run) {
  const auto value = [](const std::map<std::string, std::string>& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? std::string("nothing") : '"' + found->second + '"';
  };
  std::map<std::string, std::string> all = in_file;
  all.insert(of_run.begin(), of_run.end());
  std::string differences;
  for (const auto& [name, any] : all)
    if (value(of_run, name) != value(in_file, name))
      differences += "\n  " + name + ": " + value(in_file, name) + " is now " + value(of_run, name);
  if (!differences.empty())
    throw CheckpointError(
        "[checkpoint] belongs to another run; go on with the same configuration and data, or begin "
        "a "
        "new run:" +
        differences);
}

}  // namespace headrace::inline v1::training
