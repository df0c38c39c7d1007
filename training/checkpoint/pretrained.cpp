#include <headrace/models/networks/named_network.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/detail/weight_match.h>
#include <headrace/training/checkpoint/pretrained.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sum.h>

namespace headrace::inline v1::training {

namespace {

std::string first_bytes(const std::filesystem::path& path) {
  std::string bytes(32, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// Whether an archive's list of entries, which ends the file, has the constants of TorchScript.
bool is_script(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  std::string end(static_cast<std::size_t>(std::min<std::streamoff>(size, 1 << 16)), '\0');
  file.seekg(size - static_cast<std::streamoff>(end.size()));
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  return end.find("/constants.pkl") != std::string::npos;
}

[[noreturn]] void refuse_pickle(const std::filesystem::path& path) {
  const std::string to = std::filesystem::path(path).replace_extension(".safetensors").string();
  throw CheckpointError(
      "[weights] " + path.string() +
      ": weights must be in a safetensors file, this is a pickle or an archive of Python, which "
      "may "
      "run code when it is read; if you trust it, convert it once in Python:\n"
      "  import torch, safetensors.torch\n"
      "  weights = torch.load(\"" +
      path.string() +
      "\", map_location=\"cpu\", weights_only=True)\n"
      "  safetensors.torch.save_file({name: value.contiguous().clone() for name, value in "
      "weights.get(\"state_dict\", weights).items()}, \"" +
      to + "\")");
}

}  // namespace

TensorMap read_weights(const std::filesystem::path& path) {
  using std::string_view_literals::operator""sv;
  const std::string begin = first_bytes(path);
  // The header of a safetensors file begins behind its length.
  const bool safetensors = begin.size() > 8 && begin[8] == '{';
  if (begin.starts_with("PK\x03\x04"sv) && is_script(path))
    throw CheckpointError(
        "[weights] " + path.string() +
        ": weights must be in a safetensors file, this is a network from TorchScript, with weights "
        "of its own; give it as that (model.torchscript of a configuration)");
  if (!safetensors && (begin.starts_with("PK\x03\x04"sv) || begin.starts_with('\x80')))
    refuse_pickle(path);
  if (begin.starts_with("version https://git-lfs"sv))
    throw CheckpointError(
        "[weights] " + path.string() +
        ": weights must be in a safetensors file, this is a pointer of Git LFS to "
        "one; fetch it by `git lfs pull`");
  return read_best_weights(path).weights;
}

namespace {

using detail::MatchedWeight;
using detail::WeightMatch;

constexpr std::size_t most_named = 8;

std::string first_listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most_named)
    text += " and " + std::to_string(names.size() - most_named) + " more";
  return text;
}

// The first named network whose weights these may be.
std::optional<std::string> network_of(const TensorMap& weights) {
  for (const models::Task task : {models::Task::classification, models::Task::segmentation}) {
    for (const std::string& name : models::network_names(task)) {
      std::vector<std::string> encoders = models::network_encoders(name);
      if (encoders.empty()) encoders.emplace_back();
      for (const std::string& encoder : encoders) {
        const models::NetworkOptions options{.name = name, .encoder = encoder};
        const models::NamedTensors state = models::state_of(*models::make_network(options));
        const models::WeightNames names = models::network_traits(options).weights;
        if (!detail::match_weights(state, weights, names).fits()) continue;
        return '"' + name + '"' + (encoder.empty() ? "" : " with the encoder \"" + encoder + '"') +
               ", width 1";
      }
    }
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const WeightMatch& match, const TensorMap& weights,
                         const std::string& who) {
  std::string text = who + ": weights must be those of the network";
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty())
      text += "; " + std::to_string(names.size()) + ' ' + what + " (" + first_listed(names) + ')';
  };
  add("missing", match.missing);
  add("unexpected", match.unexpected);
  add("of another shape", match.misshapen);
  if (const std::optional<std::string> other = network_of(weights))
    text += "; these are weights of " + *other;
  throw CheckpointError(text);
}

at::Tensor for_channels(const at::Tensor& convolution, std::int64_t channels) {
  const at::Tensor values = convolution.to(at::kDouble);
  if (channels == 1) return values.sum(1, true);
  const std::int64_t known = values.size(1);
  const at::Tensor in_turn = at::arange(channels, at::kLong).remainder(known);
  return values.index_select(1, in_turn) *
         (static_cast<double>(known) / static_cast<double>(channels));
}

// The values that are copied, in the network's dtype.
at::Tensor cast_values(const MatchedWeight& weight, const std::string& who) {
  if (weight.from.is_floating_point() != weight.into.is_floating_point())
    throw CheckpointError(who + ": \"" + weight.name + "\" must be of a dtype like " +
                          c10::toString(weight.into.scalar_type()) + ", got " +
                          c10::toString(weight.from.scalar_type()));
  const at::Tensor values =
      (weight.adapted ? for_channels(weight.from, weight.into.size(1)) : weight.from)
          .to(weight.into.scalar_type());
  if (values.is_floating_point() && !at::isfinite(values).all().item<bool>())
    throw CheckpointError(who + ": \"" + weight.name + "\" holds values that are not finite");
  return values;
}

}  // namespace

std::string summary(const LoadedWeights& loaded) {
  std::string text = std::to_string(loaded.loaded.size()) + " tensors loaded";
  if (!loaded.prefix.empty()) text += "; names taken without \"" + loaded.prefix + '"';
  if (!loaded.adapted.empty()) text += "; adapted to the channels: " + loaded.adapted;
  if (!loaded.fresh.empty())
    text += "; " + std::to_string(loaded.fresh.size()) + " new: " + first_listed(loaded.fresh);
  if (!loaded.left_out.empty()) text += "; left out of the file: " + first_listed(loaded.left_out);
  return text;
}

LoadedWeights load_pretrained(models::Network& network, const TensorMap& weights,
                              const models::WeightNames& names, const std::string& who) {
  WeightMatch match = detail::match_weights(models::state_of(network), weights, names);
  if (!match.fits()) refuse(match, weights, who);
  std::vector<at::Tensor> values;
  for (const MatchedWeight& weight : match.matched)
    values.push_back(cast_values(weight, who));

  LoadedWeights loaded{.fresh = std::move(match.fresh),
                       .left_out = std::move(match.left_out),
                       .prefix = std::move(match.prefix)};
  const at::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const MatchedWeight& weight = match.matched[i];
    at::Tensor(weight.into).copy_(values[i]);
    loaded.loaded.push_back(weight.name);
    if (weight.adapted) loaded.adapted = weight.name;
  }
  return loaded;
}

LoadedWeights load_pretrained(models::Network& network, const std::filesystem::path& path,
                              const models::WeightNames& names) {
  return load_pretrained(network, read_weights(path), names, "[weights] " + path.string());
}

}  // namespace headrace::inline v1::training
