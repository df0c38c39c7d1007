#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/script_file.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr std::size_t longest = 300;

// What follows "RuntimeError: " or "builtins.ValueError: " at the beginning of a line, else
// nothing.
std::string after_error_name(const std::string& line) {
  constexpr std::string_view word = "Error: ";
  const std::size_t end = line.find(word);
  if (end == std::string::npos) return {};
  const bool a_name = std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](unsigned char c) { return std::isalnum(c) || c == '.'; });
  if (!a_name) return {};
  const std::string reason = line.substr(end + word.size());
  const std::string inner = after_error_name(reason);
  return inner.empty() ? reason : inner;
}

std::string without_advice(std::string line) {
  for (const char* advice : {" This is an internal miniz error", " (Could this error message"})
    line = line.substr(0, line.find(advice));
  return line;
}

}  // namespace

std::string short_message(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::istringstream text(of_torch != nullptr ? of_torch->what_without_backtrace() : error.what());
  std::string first;
  std::string reason;
  for (std::string line; std::getline(text, line);) {
    if (first.empty()) first = without_advice(line);
    if (std::string named = after_error_name(line); !named.empty()) reason = std::move(named);
  }
  std::string message = reason.empty() ? first : reason;
  while (!message.empty() && (std::isspace(static_cast<unsigned char>(message.back())) != 0 ||
                              message.back() == '.' || message.back() == ':'))
    message.pop_back();
  if (message.size() > longest) message = message.substr(0, longest) + "...";
  return message;
}

namespace {

constexpr const char* script_it =
    "write TorchScript by torch.jit.script(net).save(\"net.pt\") (docs/torchscript.md)";

std::string first_bytes(const std::filesystem::path& path, const std::string& who) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    throw ConfigError(who + ": there is no such file; " + script_it);
  if (!std::filesystem::is_regular_file(path, unknown))
    throw ConfigError(who + ": must be a file, got a folder or device; " + script_it);
  std::ifstream file(path, std::ios::binary);
  std::string bytes(16, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad() || !file.is_open()) throw ConfigError(who + ": cannot be read");
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// A header of JSON behind its length in eight bytes.
bool is_safetensors(std::string_view bytes) {
  return bytes.size() > 8 && bytes[8] == '{' && bytes.substr(5, 3) == std::string_view("\0\0\0", 3);
}

void refuse_other_formats(std::string_view bytes, const std::string& who) {
  if (bytes.empty()) throw ConfigError(who + ": the file is empty; " + script_it);
  if (bytes.starts_with("PK")) return;
  if (is_safetensors(bytes))
    throw ConfigError(who +
                      ": is a safetensors file, which holds weights and no network; give it as "
                      "weights of a network by name, or " +
                      script_it);
  if (bytes.starts_with('\x80'))
    throw ConfigError(who +
                      ": is a pickle of torch.save in its old format, not TorchScript; load it in "
                      "Python and " +
                      script_it);
  throw ConfigError(who + ": is no TorchScript file, which begins with \"PK\"; " + script_it);
}

bool has_entry(const std::vector<std::string>& entries, std::string_view name) {
  return std::ranges::find(entries, name) != entries.end();
}

// The class that a pickle begins with, as "module.Class"; of an object made by torch.save(net).
std::string pickled_class(caffe2::serialize::PyTorchStreamReader& reader) {
  const auto [data, size] = reader.getRecord("data.pkl");
  std::string_view pickle(static_cast<const char*>(data.get()), size);
  if (pickle.size() < 3 || pickle[2] != 'c') return {};
  pickle = pickle.substr(3);
  const std::size_t end_of_module = pickle.find('\n');
  if (end_of_module == std::string_view::npos) return {};
  const std::string_view rest = pickle.substr(end_of_module + 1);
  return std::string(pickle.substr(0, end_of_module)) + '.' +
         std::string(rest.substr(0, rest.find('\n')));
}

void refuse_other_archives(caffe2::serialize::PyTorchStreamReader& reader, const std::string& who) {
  const std::vector<std::string> entries = reader.getAllRecords();
  if (has_entry(entries, "constants.pkl") && has_entry(entries, "data.pkl")) return;
  const bool exported = has_entry(entries, "archive_format") ||
                        has_entry(entries, "serialized_exported_program.json") ||
                        has_entry(entries, "models/model.json");
  if (exported)
    throw ConfigError(who +
                      ": is a .pt2 archive of torch.export, whose graph cannot be trained here; " +
                      script_it);
  if (!has_entry(entries, "data.pkl"))
    throw ConfigError(who + ": is a zip archive without a TorchScript program; " + script_it);
  const std::string name = pickled_class(reader);
  if (name.empty() || name == "collections.OrderedDict")
    throw ConfigError(who +
                      ": is a pickle of weights (torch.save of a state_dict or checkpoint), which "
                      "holds no network; load it into the network in Python and " +
                      script_it);
  throw ConfigError(who + ": is a pickle of the Python object " + name +
                    " (torch.save of a whole module), which needs its Python source; load it in "
                    "Python and " +
                    script_it);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace

ScriptFile load_script(const std::filesystem::path& path, const std::string& who) {
  refuse_other_formats(first_bytes(path, who), who);
  try {
    caffe2::serialize::PyTorchStreamReader reader(path.string());
    refuse_other_archives(reader, who);
    const bool named = reader.hasRecord(std::string("extra/") + state_names_file);
    torch::jit::ExtraFilesMap extra;
    if (named) extra.emplace(state_names_file, "");
    ScriptFile script{.module = torch::jit::load(path.string(), at::kCPU, extra)};
    if (named) script.state_names = lines_of(extra.at(state_names_file));
    return script;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw ConfigError(who + ": is damaged, cut off or no TorchScript: " + short_message(error) +
                      "; copy it again, or " + script_it);
  }
}

std::string format_script(const ScriptFile& script) {
  torch::jit::ExtraFilesMap extra;
  if (script.state_names) {
    std::string& names = extra[state_names_file];
    for (const std::string& name : *script.state_names)
      names += name + '\n';
  }
  std::ostringstream bytes;
  script.module.save(bytes, extra);
  return std::move(bytes).str();
}

}  // namespace headrace::inline v1::models::detail
