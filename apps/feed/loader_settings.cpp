#include <headrace/apps/feed/loader_settings.h>

#include <utility>

namespace headrace::inline v1::app {

void describe_resident(Fields& fields, Bytes& resident, KeyOptions options) {
  options.doc = "most of a file that is kept in memory";
  fields.key("resident", resident, std::move(options));
}

void describe_stage(Fields& fields, std::filesystem::path& stage, KeyOptions options) {
  options.doc = "folder a file is copied to first, checked; empty: read where it lies";
  fields.key("stage", stage, std::move(options));
}

void describe_prefetch(Fields& fields, int& prefetch) {
  fields.key("prefetch", prefetch,
             {.doc = "batches made ready ahead of their consumer", .min = 1.0, .max = 64.0});
}

void describe(Fields& fields, ThreadSettings& threads, bool trains) {
  const auto limits = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .min = 0.0, .max = 1024.0};
  };
  fields.key("loader", threads.loader, limits("workers of the loader; 0: usable cores"));
  fields.key("io", threads.io, limits("threads that may wait for storage; 0: 4"));
  fields.key("watchdog", threads.watchdog,
             {.doc = "a loader that finishes nothing for so long hangs: the program says where "
                     "and ends with 134; 0s: nobody looks",
              .max = 7 * 86400.0});
  if (trains) {
    fields.key("torch", threads.torch, limits("threads of LibTorch's operators; 0: usable cores"));
  }
}

void describe(Fields& fields, PlantedDelays& delay) {
  const auto doc = [](std::string text) { return KeyOptions{.doc = std::move(text), .max = 60.0}; };
  fields.key("read", delay.read, doc("added to the reading of each record"));
  fields.key("read_every", delay.read_every,
             {.doc = "one record of so many is slowed down by `read`; 1: each", .min = 1.0});
  fields.key("decode", delay.decode, doc("added to the decoding of each sample"));
  fields.key("augment", delay.augment, doc("added to the augmentation of each sample"));
  fields.key("transfer", delay.transfer, doc("added to the transfer of each batch"));
  fields.key("consumer", delay.consumer, doc("added to each step of the consumer"));
}

void DecodeSettings::apply(DecodeImage& decode) const {
  decode.check_first_epoch = check == FileCheck::first_epoch;
  if (sample_limit) decode.sample_limit = sample_limit->value;
}

void describe(Fields& fields, DecodeSettings& settings, KeyOptions options) {
  KeyOptions of_check = options;
  of_check.doc =
      "first_epoch: each file is read to its end once, so that damage which no crop sees is found";
  fields.choice("check", settings.check,
                {{"off", FileCheck::off}, {"first_epoch", FileCheck::first_epoch}},
                std::move(of_check));
  options.doc =
      "most that decoding one file may take; null: an eighth of the memory over the loader's "
      "threads, at most 512MiB";
  fields.key("sample_limit", settings.sample_limit, std::move(options));
}

DecodeSettings with_limit(DecodeSettings settings, const std::optional<Bytes>& memory,
                          const ThreadSettings& threads) {
  if (!settings.sample_limit) {
    const std::size_t budget = memory ? static_cast<std::size_t>(memory->value) : 0;
    settings.sample_limit = Bytes{default_sample_limit(budget, threads.loader)};
  }
  return settings;
}

}  // namespace headrace::inline v1::app
