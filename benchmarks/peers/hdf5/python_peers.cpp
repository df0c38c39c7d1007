#include <headrace/benchmarks/peers/hdf5/peers.h>

#include <csignal>
#include <cstdio>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

PythonPeers::PythonPeers(const std::filesystem::path& python, const std::filesystem::path& script) {
  if (python.empty() || !std::filesystem::exists(python)) {
    std::printf("no Python peers: %s\n",
                python.empty() ? "none was named" : "that interpreter is not there");
    return;
  }
  std::signal(SIGPIPE, SIG_IGN);
  int there[2], back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) throw ResourceError("[benchmark] no pipe");
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(there[0], 0);
    ::dup2(back[1], 1);
    for (const int end : {there[0], there[1], back[0], back[1]})
      ::close(end);
    ::execl(python.c_str(), python.c_str(), script.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(there[0]);
  ::close(back[1]);
  to_ = there[1];
  from_ = back[0];
  known_ = ask("known");
  std::printf("Python peers: %s\n", known_.empty() ? "none started" : known_.c_str());
}

PythonPeers::~PythonPeers() {
  if (child_ <= 0) return;
  ::close(to_);
  ::close(from_);
  ::waitpid(child_, nullptr, 0);
}

bool PythonPeers::has(const std::string& what) const {
  return (" " + known_ + " ").find(" " + what + " ") != std::string::npos;
}

std::string PythonPeers::ask(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(to_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) return {};
  for (;;) {
    const auto end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string answer = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return answer;
    }
    char part[4096];
    const ssize_t got = ::read(from_, part, sizeof(part));
    if (got <= 0) return {};
    buffer_.append(part, static_cast<std::size_t>(got));
  }
}

std::function<double()> PythonPeers::contender(const std::string& what, const DataSet& data,
                                               std::int64_t rows) {
  if (!has(what)) return {};
  std::ostringstream line;
  line << what << " " << data.file.string() << " " << rows << " " << data.chunk;
  return [this, text = line.str()] {
    const std::string answer = ask(text);
    if (answer.empty() || answer.starts_with("error"))
      throw PipelineError("[benchmark] " + text + ": the Python peer says \"" + answer + "\"");
    return std::stod(answer);
  };
}

}  // namespace headrace::inline v1::bench
