#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/train/backend_torch.h>

// Everything that needs LibTorch; the program headrace becomes this one.
int main(int argc, char** argv) {
  headrace::app::TorchBackend backend;
  return headrace::app::run_program(argc, argv, &backend);
}
