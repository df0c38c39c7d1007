#include <headrace/apps/commands/bench_loader.h>
#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/commands/inspect.h>
#include <headrace/apps/commands/pack_images.h>
#include <headrace/apps/commands/pack_table.h>
#include <headrace/apps/commands/run_command.h>
#include <headrace/apps/commands/start_train_program.h>
#include <headrace/apps/jobs/glaucoma/prepare.h>
#include <headrace/apps/jobs/leak/prepare.h>

// The program for everything that needs no LibTorch. Training and prediction live in a program of
// their own, which it becomes.
int main(int argc, char** argv) {
  namespace app = headrace::app;
  const app::CommandLine line = app::parse_command_line(argc, argv);
  if (!line.command) return line.exit_code;
  return app::run_command([&] {
    if (const auto* bench = std::get_if<app::BenchLoaderOptions>(&*line.command)) {
      return app::bench_loader(*bench);
    }
    if (const auto* prepare = std::get_if<app::PrepareGlaucomaOptions>(&*line.command)) {
      return app::prepare_glaucoma(*prepare);
    }
    if (const auto* prepare = std::get_if<app::PrepareLeakOptions>(&*line.command)) {
      return app::prepare_leak(*prepare);
    }
    if (const auto* pack = std::get_if<app::PackTableOptions>(&*line.command)) {
      return app::pack_table(*pack);
    }
    if (const auto* pack = std::get_if<app::PackImagesOptions>(&*line.command)) {
      return app::pack_images_command(*pack);
    }
    if (const auto* verify = std::get_if<app::PackVerifyOptions>(&*line.command)) {
      return app::pack_verify_command(*verify);
    }
    if (const auto* inspect = std::get_if<app::InspectOptions>(&*line.command)) {
      return app::inspect(*inspect);
    }
    app::start_train_program(argv);
  });
}
