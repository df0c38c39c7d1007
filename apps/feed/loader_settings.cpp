#include <headrace/apps/feed/loader_settings.h>

#include <utility>
#include <vector>

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

BadSamples BadSampleSettings::in_training(std::filesystem::path log) const {
  return {.rule = rule,
          .most = most > 0 ? most : -1,
          .most_share = most_share,
          .log = std::move(log),
          .setting = "data.bad_samples"};
}

BadSamples BadSampleSettings::before_training() const {
  return rule == BadSamples::Rule::fail ? in_training({}) : unread_records({});
}

BadSamples unread_records(std::filesystem::path log) {
  return {.rule = BadSamples::Rule::shrink, .log = std::move(log)};
}

namespace {

void describe(Fields& fields, BadSampleSettings& settings) {
  using enum BadSamples::Rule;
  fields.choice("rule", settings.rule, {{"fail", fail}, {"replace", replace}, {"shrink", shrink}},
                {.doc = "fail: the run ends and names it; replace: another record is trained on in "
                        "its place; shrink: its row counts nowhere"});
  const auto counted = [&settings](std::string doc) {
    return KeyOptions{.doc = std::move(doc),
                      .used_if = [&settings] { return settings.rule != fail; },
                      .used_when = "data.bad_samples.rule is replace or shrink"};
  };
  KeyOptions of_most = counted(
      "more of them in a stage of a member end the run; each epoch adds its own, and a run that "
      "goes on begins anew; 0: any number");
  of_most.min = 0.0;
  fields.key("most", settings.most, std::move(of_most));
  KeyOptions of_share = counted("a larger share of an epoch's samples ends the run");
  of_share.min = 0.0;
  of_share.max = 1.0;
  fields.key("most_share", settings.most_share, std::move(of_share));
}

}  // namespace

void describe_bad_samples(Fields& fields, BadSampleSettings& settings) {
  fields.section("bad_samples", [&](Fields& f) { describe(f, settings); },
                 {.doc = "records to train on that cannot be read; of those to judge such are left "
                         "out of all figures, and said. All are listed in bad_samples.jsonl",
                  .main = "rule"});
}

void DecodeSettings::apply(DecodeImage& decode) const {
  decode.check_first_epoch = check == FileCheck::decode;
  if (sample_limit) decode.sample_limit = sample_limit->value;
}

void describe_check(Fields& fields, FileCheck& check, bool judges, KeyOptions options) {
  using enum FileCheck;
  std::vector<Choice<FileCheck>> choices{{"none", none}, {"decode", decode}};
  if (judges) choices.insert(choices.begin() + 1, {"quick", quick});
  choices.insert(choices.end(), {{"off", none}, {"first_epoch", decode}});  // of earlier releases
  options.doc = judges ? "of the files of validation and test, before the first step; quick: head "
                         "and end, where these are odd all of it, for 2 minutes at most; decode: "
                         "all of them whole, and each picture to train on in the first epoch"
                       : "decode: each file is read to its end once, so that damage which no crop "
                         "sees is found";
  fields.choice("check", check, std::move(choices), std::move(options));
}

void describe_sample_limit(Fields& fields, std::optional<Bytes>& limit, KeyOptions options) {
  options.doc =
      "most that decoding one file may take; null: an eighth of the memory over the loader's "
      "threads, at most 512MiB";
  fields.key("sample_limit", limit, std::move(options));
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
