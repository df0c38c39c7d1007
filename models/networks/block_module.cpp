#include <headrace/engine/base/error.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/refuse.h>
#include <headrace/models/networks/name_pattern.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::models {

namespace {

// Calls visit(module, prefix of its blocks' names) for each.
template <typename Visit>
void for_block_modules(const torch::nn::Module& module, const Visit& visit) {
  for (const auto& item : module.named_modules())
    if (auto* part = dynamic_cast<BlockModule*>(item.value().get()))
      visit(*part, item.key().empty() ? std::string() : item.key() + '.');
}

void require_fit(const std::vector<std::string>& names, const std::string& pattern) {
  const bool fits = std::ranges::any_of(
      names, [&](const std::string& name) { return fits_pattern(name, pattern); });
  if (fits) return;
  throw ConfigError("[network] each pattern of checkpointed blocks must fit a block, got \"" +
                    pattern + "\" that fits none; " +
                    (names.empty() ? "the network names no blocks: derive its modules from "
                                     "models::BlockModule"
                                   : "the blocks are " + detail::listed(names)));
}

}  // namespace

void BlockModule::add_block(std::string name, Modules modules) {
  if (std::ranges::count(blocks_, name, &NamedBlock::name) > 0)
    throw ConfigError("[network] the blocks of a module must have different names, got \"" + name +
                      "\" twice");
  blocks_.push_back({.name = std::move(name), .modules = std::move(modules)});
}

std::vector<std::string> BlockModule::block_names() const {
  std::vector<std::string> names;
  for (const NamedBlock& block : blocks_)
    names.push_back(block.name);
  return names;
}

void BlockModule::checkpoint_block(const std::string& name, bool on) {
  blocks_[index_of(name)].is_checkpointed = on;
}

std::size_t BlockModule::index_of(const std::string& name) const {
  const auto found = std::ranges::find(blocks_, name, &NamedBlock::name);
  if (found != blocks_.end()) return static_cast<std::size_t>(found - blocks_.begin());
  throw ConfigError("[network] a block must be one of " + detail::listed(block_names()) +
                    ", got \"" + name + '"');
}

std::vector<std::string> block_names(const torch::nn::Module& module) {
  std::vector<std::string> names;
  for_block_modules(module, [&](const BlockModule& part, const std::string& prefix) {
    for (const std::string& name : part.block_names())
      names.push_back(prefix + name);
  });
  return names;
}

void checkpoint_blocks(torch::nn::Module& module, const std::vector<std::string>& patterns) {
  const std::vector<std::string> names = block_names(module);
  for (const std::string& pattern : patterns)
    require_fit(names, pattern);
  for_block_modules(module, [](BlockModule& part, const std::string&) {
    for (const std::string& name : part.block_names())
      part.checkpoint_block(name, false);
  });
  // A module that is used under two names is checkpointed by either.
  for_block_modules(module, [&](BlockModule& part, const std::string& prefix) {
    for (const std::string& name : part.block_names())
      if (fits_any(prefix + name, patterns)) part.checkpoint_block(name, true);
  });
}

}  // namespace headrace::inline v1::models
