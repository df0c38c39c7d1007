#include <headrace/tests/apps/report/written_run.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr int steps = 100;  // of an epoch

// Goes up and down with the epoch, the first apart, which warms up.
double step_of(const WrittenRun& run, int epoch) {
  return epoch == 0 ? 3.0 * run.step_s
                    : run.step_s * (1.0 + (epoch % 2 == 0 ? run.noise : -run.noise));
}

std::string csv_of(const WrittenRun& run) {
  std::string text =
      "member,epoch,step,train_loss,val_loss,val_accuracy,improved,learning_rate,steps,wall_s,"
      "data_wait_s,copy_s,compute_s,other_s,validation_s,epoch_s,data_stall_fraction,bottleneck,"
      "peak_memory_bytes,training_tensors_peak_bytes,training_process_bytes,"
      "evaluation_process_bytes\n";
  for (int member = 0; member < run.members; ++member) {
    for (int epoch = 0; epoch < run.epochs; ++epoch) {
      const double wall = steps * step_of(run, epoch);
      const double loss = 1.0 / (epoch + 1.0);
      text += fmt::format(
          "{},{},{},{},{},{},1,0.001,{},{},{},0,{},0,1.5,{},0.25,decode,{},{},{},{}\n", member,
          epoch, steps * (epoch + 1), loss, loss + 0.1,
          run.accuracy - 0.1 / (epoch + 1.0) + 0.01 * member, steps, wall, 0.25 * wall, 0.75 * wall,
          wall + 2.0, 500'000'000, 100'000'000 + epoch, 400'000'000, 410'000'000);
    }
  }
  return text;
}

std::string jsonl_of(const WrittenRun& run) {
  std::string text;
  for (int member = 0; member < run.members; ++member)
    for (int epoch = 0; epoch < run.epochs; ++epoch)
      for (int part = 1; part <= 2; ++part)
        text += fmt::format(
            "{{\"member\":{},\"epoch\":{},\"step\":{},\"loss\":{},\"learning_rate\":0.001,"
            "\"samples_per_s\":{}}}\n",
            member, epoch, steps * epoch + steps / 2 * part, 1.0 / (epoch + part),
            static_cast<double>(run.batch) / step_of(run, epoch));
  return text;
}

std::string result_of(const WrittenRun& run) {
  std::string members;
  for (int member = 0; member < run.members; ++member)
    members += fmt::format(
        "{}{{\"member\": \"fold {}\", \"selected_by\": \"accuracy\", \"best_epoch\": {}, "
        "\"validation\": {{\"accuracy\": {}, \"loss\": 0.3}}, \"test\": {{\"accuracy\": {}}}}}",
        member == 0 ? "" : ", ", member, run.epochs - 1, run.accuracy + 0.01 * member,
        run.accuracy - 0.05 + 0.01 * member);
  return "{\"members\": [" + members +
         "], \"goals\": [{\"goal\": \"ram\", \"result\": \"pass\", \"sentence\": \"goal ram: at "
         "most "
         "10.0 GiB: pass\"}]}\n";
}

std::string events_of(const WrittenRun& run) {
  std::string text = event_line("2026-11-27T10:00:00.100Z", "start",
                                "\"device\":\"cpu (auto: no GPU); 2 threads for LibTorch\","
                                "\"memory\":\"memory 453 MiB of 10.0 GiB (configuration)\"");
  for (int epoch = 0; epoch < run.epochs; ++epoch)
    text += event_line(
        fmt::format("2026-11-27T10:{:02}:30.000Z", epoch % 60), "verdict",
        fmt::format("\"verdict\":\"highly input-bound\",\"bottleneck\":\"decode\",\"said\":"
                    "\"highly input-bound (data stall 25 %): decode holds the loader back; 2 "
                    "workers can do 3{} samples/s, the consumer would take 500\"",
                    epoch % 10));
  text += event_line("2026-11-27T11:00:00.000Z", "warning", "\"said\":\"something is odd\"");
  if (run.finished)
    text += event_line("2026-11-27T11:00:01.000Z", "end",
                       "\"how\":\"done\",\"said\":\"figures and curves: results.csv\"");
  return text;
}

}  // namespace

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string event_line(const std::string& time, const std::string& event,
                       const std::string& facts) {
  return fmt::format("{{\"time\":\"{}\",\"event\":\"{}\",{}}}\n", time, event, facts);
}

void append_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::app) << text;
}

void write_run(const fs::path& folder, const WrittenRun& run) {
  fs::create_directories(folder);
  write_text(folder / "config.yaml",
             fmt::format("kind: {}\nseed: 42\nmemory: {{limit: 10GiB}}\ntraining:\n  epochs: {}\n"
                         "  batch: {}\naugment:\n  - {{flip: {{p: 0.5}}}}\n",
                         run.kind, run.epochs, run.batch));
  write_text(folder / "command.txt", "cd /data && headrace train job.yaml\n");
  write_text(folder / "env.json",
             fmt::format("{{\"written\": \"2026-11-27T10:00:00Z\", \"versions\": {{\"headrace\": "
                         "\"0.1.0\"}}, \"kernel\": {{\"host\": \"{}\"}}, \"cpu\": {{\"model\": "
                         "\"fast\", \"cores\": 8, \"usable_cores\": 4}}, \"pid\": {}}}\n",
                         run.host, run.epochs));
  write_text(folder / "log.txt", "2026-11-27T10:00:00.100Z info run folder runs/x\n");
  write_text(folder / "events.jsonl", events_of(run));
  write_text(folder / "metrics.csv", csv_of(run));
  write_text(folder / "metrics.jsonl", jsonl_of(run));
  if (run.finished) write_text(folder / "result.json", result_of(run));
}

}  // namespace headrace::test
