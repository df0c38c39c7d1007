// What the list `loss` of a segmentation says of masks by sigmoids.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/text_checks.h>

#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

std::string loss_yaml(const std::string& loss, bool volumes = false) {
  const std::string data =
      volumes ? "data: {train: {source: volumes, folder: a}}\n"
              : "data: {train: {source: pairs, folder: a, masks: b}}\n"
                "mask: {classes: [{name: a, values: [0]}, {name: b, values: [1]}]}\n";
  return "kind: segmentation\n" + data + "loss: " + loss + '\n';
}

TrainingJob read_loss(const std::string& text) {
  return read_training_text(jobs(), text, "job.yaml");
}

const LossList& loss_of(const TrainingJob& job) {
  return dynamic_cast<const SegmentationConfig&>(*job.config).task.loss;
}

std::string loss_refusal(const std::string& loss, bool volumes = false) {
  try {
    read_loss(loss_yaml(loss, volumes));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the loss of camouflaged objects is read as it is written") {
  const TrainingJob job = read_loss(loss_yaml(
      "[{bce: {}, factor: 5}, {iou: 1e-5, factor: 3}, {edge: {}, factor: 2}, {structure: "
      "{legacy: true}}, {bce: {}, factor: 0.4, on: deep, shares: equal, resize: bilinear}]"));
  const LossList& loss = loss_of(job);
  REQUIRE(loss.size() == 5);
  CHECK(name_of(loss[0]) == "bce");
  CHECK(loss[0].factor == 5);
  CHECK(std::get<IouTerm>(loss[1].term).smooth == 1e-5);
  CHECK(std::holds_alternative<EdgeTerm>(loss[2].term));
  CHECK(loss[2].factor == 2);
  CHECK(std::get<StructureTerm>(loss[3].term).legacy);
  CHECK(loss[3].shares == DeepShares::halving);
  CHECK(loss[4].on == "deep");
  CHECK(loss[4].shares == DeepShares::equal);
  CHECK(loss[4].resize == TargetResize::bilinear);
  CHECK(loss_refusal("[bce, {dice: {}, on: deep, resize: bilinear}]").empty());
  CHECK(loss_refusal("[structure]").empty());
  CHECK(loss_refusal("[iou, edge]").empty());
}

TEST_CASE("keys of a loss term are refused where they mean nothing") {
  CHECK(
      test::contains(loss_refusal("[{bce: {}, shares: equal}]"), "is not used unless on is deep"));
  CHECK(test::contains(loss_refusal("[{bce: {}, on: edges, shares: equal}]"),
                       "is not used unless on is deep"));
  CHECK(test::contains(loss_refusal("[{bce: {}, resize: bilinear}]"),
                       "is not used unless on is not main"));
  CHECK(test::contains(loss_refusal("[{bce: {}, on: deep, resize: cubic}]"), "nearest, bilinear"));
  CHECK(test::contains(loss_refusal("[{edge: 2}]"), "edge"));
}

TEST_CASE("terms by sigmoids are refused beside classes that exclude each other, and of volumes") {
  CHECK(test::contains(
      loss_refusal("[cross_entropy, edge]"),
      "edge judges every label by itself, cross_entropy (job.yaml:4:8) classes that exclude "
      "each other; take one of them"));
  CHECK(test::contains(loss_refusal("[structure, cross_entropy]"),
                       "structure judges every label by itself"));
  CHECK(test::contains(loss_refusal("[edge]"), "edge takes a mask for its opposite"));
  CHECK(test::contains(
      loss_refusal("[cross_entropy, {cross_entropy: {}, on: deep, resize: bilinear}]"),
      "the classes of cross_entropy have none, take nearest"));
  CHECK(test::contains(loss_refusal("[dice, {dice: {}, on: deep, resize: bilinear}]", true),
                       "volumes have none, take nearest"));
}

}  // namespace headrace::app
