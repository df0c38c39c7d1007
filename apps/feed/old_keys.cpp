#include <headrace/apps/feed/old_keys.h>

#include <utility>

namespace headrace::inline v1::app {
namespace {

// A value that is no scalar cannot have been right; nothing is shown of it.
std::string with_value(std::string text, const Node& node) {
  const std::string value = node.kind == Node::Kind::scalar ? node.text : "...";
  return text.replace(text.find('@'), 1, value);
}

MovedKey written(const std::string& old, const std::string& now, const std::string& text) {
  return {
      .old = old, .now = now, .write = [text](const Node& node) { return with_value(text, node); }};
}

}  // namespace

MovedKey now_in_augment(const std::string& old, const std::string& entries) {
  return {.old = old, .now = "an entry of the list augment", .write = [entries](const Node& node) {
            const bool none = node.text == "0" || node.text == "0.0";
            return none ? std::string("augment: []")
                        : "augment: [" + with_value(entries, node) + "]";
          }};
}

MovedKey now_in_schedule(const std::string& old, const std::string& entry) {
  return written(old, "a parameter of training.schedule", "schedule: " + entry);
}

std::vector<MovedKey> old_loader_keys() {
  return {written("source.kind", "data.source", "data: {source: @, ...}"),
          {.old = "source.*", .now = "data.*"},
          {.old = "cache.*", .now = "data.cache.*"},
          {.old = "prefetch", .now = "data.prefetch"},
          now_in_augment("image.flip", "random_resized_crop, {flip: @}"),
          now_in_augment("image.rotation", "random_resized_crop, {rotate: @}")};
}

std::vector<MovedKey> old_training_keys() {
  return {{.old = "training.fold", .now = "training.member"},
          {.old = "training.loss", .now = "loss.name"},
          now_in_schedule("training.plateau_factor", "{plateau: {factor: @}}"),
          now_in_schedule("training.plateau_patience", "{plateau: {patience: @}}"),
          now_in_schedule("training.warmup_epochs", "{cosine: {warmup_epochs: @}}"),
          now_in_schedule("training.lowest_rate", "{cosine: {lowest: @}}")};
}

}  // namespace headrace::inline v1::app
