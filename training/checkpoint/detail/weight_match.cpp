#include <headrace/training/checkpoint/detail/weight_match.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>

namespace headrace::inline v1::training::detail {

namespace {

using models::NamedTensor;
using models::NamedTensors;
using models::WeightNames;

// Whether the shapes are the same but for one side.
bool differ_at(at::IntArrayRef a, at::IntArrayRef b, std::size_t side) {
  if (a.size() != b.size() || a.size() <= side) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] != b[i]) != (i == side)) return false;
  return true;
}

struct Entry {
  std::string name;  // in the file
  at::Tensor tensor;
};

// What DataParallel, torch.compile and wrappers put before every name.
constexpr std::array<std::string_view, 3> wrappers{"module.", "_orig_mod.", "model."};

bool all_begin_with(const TensorMap& weights, std::string_view prefix) {
  return !weights.empty() && std::ranges::all_of(weights, [&](const auto& item) {
    return item.first.starts_with(prefix);
  });
}

// The wrappers that all names begin with, but for those that the network's own names begin with.
std::string prefix_of(const TensorMap& weights, const NamedTensors& state) {
  std::string prefix;
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view wrapper : wrappers) {
      const std::string longer = prefix + std::string(wrapper);
      const bool own = std::ranges::any_of(
          state, [&](const NamedTensor& item) { return item.name.starts_with(wrapper); });
      if (own || !all_begin_with(weights, longer)) continue;
      prefix = longer;
      more = true;
    }
  }
  return prefix;
}

// A file's tensors under the names that they have in the network.
struct Renamed {
  std::map<std::string, Entry> entries = {};
  std::vector<std::string> left_out = {};
  bool of_encoder = false;  // the file is that of an encoder alone
};

Renamed rename(const TensorMap& weights, const WeightNames& names, std::size_t prefix) {
  Renamed renamed;
  const auto bare = [&](const std::string& name) { return std::string_view(name).substr(prefix); };
  renamed.of_encoder =
      !names.encoder.empty() && std::ranges::none_of(weights, [&](const auto& item) {
        return bare(item.first).starts_with(names.encoder);
      });
  for (const auto& [name, tensor] : weights) {
    if (renamed.of_encoder && !names.encoder_head.empty() &&
        bare(name).starts_with(names.encoder_head)) {
      renamed.left_out.push_back(name);
      continue;
    }
    const std::string here =
        names.canonical == nullptr ? std::string(bare(name)) : names.canonical(bare(name));
    renamed.entries.emplace(renamed.of_encoder ? names.encoder + here : here, Entry{name, tensor});
  }
  return renamed;
}

bool is_auxiliary(const WeightNames& names, const std::string& name) {
  return !names.auxiliary.empty() && name.starts_with(names.auxiliary);
}

bool is_head(const WeightNames& names, const std::string& name) {
  return !names.head.empty() && name.starts_with(names.head);
}

// Where the file's head has another count of classes, or none of it is there.
bool has_new_head(const NamedTensors& state, const Renamed& file, const WeightNames& names) {
  bool any = false;
  bool found = false;
  for (const NamedTensor& item : state) {
    if (!is_head(names, item.name)) continue;
    any = true;
    const auto entry = file.entries.find(item.name);
    if (entry == file.entries.end()) continue;
    found = true;
    if (differ_at(entry->second.tensor.sizes(), item.tensor.sizes(), 0)) return true;
  }
  return any && !found;
}

std::string both_shapes(const NamedTensor& item, const at::Tensor& from) {
  std::ostringstream text;
  text << '"' << item.name << "\" " << from.sizes() << " for " << item.tensor.sizes();
  return text.str();
}

}  // namespace

WeightMatch match_weights(const NamedTensors& state, const TensorMap& weights,
                          const WeightNames& names) {
  const std::string prefix = prefix_of(weights, state);
  Renamed file = rename(weights, names, prefix.size());
  WeightMatch match{.left_out = std::move(file.left_out), .prefix = prefix};
  const bool new_head = has_new_head(state, file, names);
  for (const NamedTensor& item : state) {
    const auto node = file.entries.extract(item.name);
    if (new_head && is_head(names, item.name)) {
      match.fresh.push_back(item.name);
      if (!node.empty()) match.left_out.push_back(node.mapped().name);
    } else if (!node.empty()) {
      const at::Tensor& from = node.mapped().tensor;
      const bool adapted =
          item.name == names.first_convolution && differ_at(from.sizes(), item.tensor.sizes(), 1);
      if (adapted || from.sizes() == item.tensor.sizes()) {
        match.matched.push_back({item.name, from, item.tensor, adapted});
      } else if (is_auxiliary(names, item.name)) {
        match.fresh.push_back(item.name);
        match.left_out.push_back(node.mapped().name);
      } else {
        match.misshapen.push_back(both_shapes(item, from));
      }
    } else if (is_auxiliary(names, item.name)) {
      match.fresh.push_back(item.name);
    } else if (file.of_encoder && !item.name.starts_with(names.encoder)) {
      match.fresh.push_back(item.name);
    } else if (!item.name.ends_with("num_batches_tracked")) {
      match.missing.push_back('"' + item.name + '"');
    }
  }
  for (const auto& [name, entry] : file.entries) {
    if ((new_head && is_head(names, name)) || is_auxiliary(names, name))
      match.left_out.push_back(entry.name);
    else
      match.unexpected.push_back('"' + entry.name + '"');
  }
  return match;
}

}  // namespace headrace::inline v1::training::detail
