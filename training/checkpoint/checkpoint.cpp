#include <headrace/engine/base/internal/json_fields.h>
#include <headrace/engine/base/utf8.h>
#include <headrace/training/checkpoint/checkpoint.h>
#include <headrace/training/checkpoint/detail/checkpoint_file.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <zlib.h>

namespace headrace::inline v1 {

void fields(of_type<Position> auto& position, const auto& field) {
  field("seed", position.seed);
  field("epoch", position.epoch);
  field("position", position.position);
  field("order_version", position.order_version);
}

}  // namespace headrace::inline v1

namespace headrace::inline v1::training {

void fields(of_type<PlateauState> auto& plateau, const auto& field) {
  field("reductions", plateau.reductions);
  field("best", plateau.best);
  field("bad", plateau.bad);
  field("cooldown", plateau.cooldown);
}

void fields(of_type<EarlyStoppingState> auto& stopping, const auto& field) {
  field("best", stopping.best);
  field.if_there("best_loss", stopping.best_loss);
  field("reference", stopping.reference);
  field("bad", stopping.bad);
}

void fields(of_type<Progress> auto& progress, const auto& field) {
  field("stage", progress.stage);
  field("epoch", progress.epoch);
  field("step", progress.step);
  field("skipped", progress.skipped);
  field("trained", progress.trained);
  field("position", progress.position);
  field("samples", progress.samples);
  field("epoch_skipped", progress.epoch_skipped);
  field("plateau", progress.plateau);
  field("early_stopping", progress.early_stopping);
  field("best_epoch", progress.best_epoch);
  field("skipped_in_a_row", progress.skipped_in_a_row);
  field("overflows_in_a_row", progress.overflows_in_a_row);
  field("reloads", progress.reloads);
  field("rate_factor", progress.rate_factor);
  field("unfrozen_at", progress.unfrozen_at);
  field.if_there("halvings", progress.halvings);
  field.if_there("checkpointed", progress.checkpointed);
  field.if_there("evaluation_rows", progress.evaluation_rows);
}

namespace {

using nlohmann::json;
using Words = std::map<std::string, std::string>;

constexpr std::string_view checksum_key = "headrace.crc32";
constexpr std::string_view no_checksum = "00000000";
constexpr std::string_view checksum_text = "\"headrace.crc32\":\"";

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
    read_fields(state.at("progress"), checkpoint.progress);
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
                      {"progress", write_fields<json>(checkpoint.progress)},
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
                           const std::map<std::string, std::string>& of_run,
                           const std::set<std::string>& defaults) {
  const auto value = [](const std::map<std::string, std::string>& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? std::string("nothing") : '"' + found->second + '"';
  };
  std::map<std::string, std::string> all = in_file;
  all.insert(of_run.begin(), of_run.end());
  std::string differences;
  for (const auto& [name, any] : all) {
    const bool added = !in_file.contains(name) && defaults.contains(name);
    if (!added && value(of_run, name) != value(in_file, name))
      differences += "\n  " + name + ": " + value(in_file, name) + " is now " + value(of_run, name);
  }
  if (!differences.empty())
    throw CheckpointError(
        "[checkpoint] belongs to another run; go on with the same configuration and data, or begin "
        "a "
        "new run:" +
        differences);
}

}  // namespace headrace::inline v1::training
