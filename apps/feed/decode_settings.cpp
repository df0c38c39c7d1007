#include <headrace/apps/feed/decode_settings.h>

#include <utility>

namespace headrace::inline v1::app {

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
