#include <headrace/apps/commands/run_command.h>
#include <headrace/apps/terminal/text_width.h>

#include <cstdio>
#include <exception>
#include <string>

namespace headrace::inline v1::app {

int run_command(const std::string& program, const std::function<ExitCode()>& command) noexcept {
  try {
    return static_cast<int>(command());
  } catch (const std::exception& error) {
    const ExitCode code = exit_code_of(error);
    std::string text = clean_message(error.what());
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    std::fprintf(stderr, "%s: %s%s\n", program.c_str(),
                 code == ExitCode::bug ? "this is a bug, please report it: " : "", text.c_str());
    return static_cast<int>(code);
  } catch (...) {
    std::fprintf(stderr, "%s: this is a bug, please report it: an exception of no known type\n",
                 program.c_str());
    return static_cast<int>(ExitCode::bug);
  }
}

}  // namespace headrace::inline v1::app
