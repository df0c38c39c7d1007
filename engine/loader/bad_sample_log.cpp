#include <headrace/engine/base/utf8.h>
#include <headrace/engine/loader/detail/bad_sample_log.h>

#include <algorithm>
#include <cstdio>

namespace headrace::inline v1::detail {

namespace {

/// A JSON string; bytes that are no UTF-8, as file names may have, are escaped one by one.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = utf8_sequence(text, at);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f || length == 0) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return out + '"';
}

const char* word(BadSamples::Rule rule) {
  switch (rule) {
    case BadSamples::Rule::fail:
      return "fail";
    case BadSamples::Rule::replace:
      return "replace";
    case BadSamples::Rule::shrink:
      return "shrink";
  }
  return "";
}

}  // namespace

BadSampleLog::Verdict BadSampleLog::add(std::span<const Case> cases, std::int64_t& in_pass,
                                        std::int64_t epoch_samples) {
  Verdict verdict;
  for (const Case& bad : cases) {
    count_.fetch_add(1, std::memory_order_relaxed);
    ++in_pass;
    write(bad);
    if (!verdict.text.empty()) continue;
    verdict.text = judge(bad, in_pass, epoch_samples);
    if (!verdict.text.empty()) verdict.row = bad.origin.row;
  }
  return verdict;
}

std::string BadSampleLog::judge(const Case& bad, std::int64_t in_pass,
                                std::int64_t epoch_samples) const {
  const std::string who = "[" + loader_ + "] " + to_string(bad.origin) + ": ";
  const std::string setting = rule_.setting.empty() ? "BadSamples" : rule_.setting;
  if (rule_.most >= 0 && count() > rule_.most) {
    return who + "at most " + std::to_string(rule_.most) +
           " bad samples are allowed, this is number " + std::to_string(count()) + " (" +
           bad.cause + "); mend the data or raise " + setting + ".most";
  }
  if (rule_.most_share < 1.0 &&
      static_cast<double>(in_pass) > rule_.most_share * static_cast<double>(epoch_samples)) {
    return who + "at most " + std::to_string(rule_.most_share) + " of " +
           std::to_string(epoch_samples) + " samples may be bad, this is number " +
           std::to_string(in_pass) + " (" + bad.cause + "); mend the data or raise " + setting +
           ".most_share";
  }
  return {};
}

// What ends the run is told by its error.
void BadSampleLog::tell(const Case& bad) const {
  if (!log_ || (bad.replacement < 0 && rule_.rule != BadSamples::Rule::shrink)) return;
  log_(LogLevel::warning,
       "[" + loader_ + "] " + to_string(bad.origin) + ": " + bad.stage + ": " + bad.cause +
           (bad.replacement < 0
                ? std::string("; it is left out")
                : "; sample " + std::to_string(bad.replacement) + " takes its place"));
}

void BadSampleLog::write(const Case& bad) {
  if (rule_.log.empty()) return tell(bad);
  if (!file_.is_open()) file_.open(rule_.log, std::ios::app);
  const Origin& o = bad.origin;
  file_ << "{\"loader\": " << quoted(loader_) << ", \"stage\": " << quoted(bad.stage)
        << ", \"file\": " << quoted(o.file) << ", \"index\": " << o.index
        << ", \"part\": " << o.part << ", \"epoch\": " << o.epoch
        << ", \"position\": " << o.position << ", \"batch\": " << o.batch << ", \"row\": " << o.row
        << ", \"rule\": " << quoted(word(rule_.rule)) << ", \"replacement\": " << bad.replacement
        << ", \"cause\": " << quoted(bad.cause) << "}\n"
        << std::flush;
  if (!file_) {
    file_.close();  // the next case opens it again
    file_.clear();
    throw PipelineError("[" + loader_ + "] every bad sample must be written down, " +
                        rule_.log.string() + " cannot be; check the folder and the space left");
  }
}

}  // namespace headrace::inline v1::detail
