// Every loss under the harness, and the harness under losses with a fault.
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/tests/models/loss_harness.h>
#include <headrace/tests/support/source_folder.h>

#include "../support/torch_doctest.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

using namespace headrace::models;
using namespace headrace::test;
namespace fs = std::filesystem;

namespace {

using LossNames = std::set<std::string>;

// Public functions of the headers of losses that take tensors.
LossNames public_losses() {
  static const std::regex internal(R"(namespace detail \{[^}]*\})");
  static const std::regex declared(R"(HEADRACE_API\s+[\w:]+\s+(\w+)\(\s*const at::Tensor&)");
  LossNames names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(headrace::test::source_folder()) / "models/losses")) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.find("models::detail {") != std::string::npos) continue;
    text = std::regex_replace(text, internal, "");
    for (std::sregex_iterator found(text.begin(), text.end(), declared), end; found != end; ++found)
      names.insert((*found)[1]);
  }
  // What losses divide by and are made of.
  for (const char* part : {"sum_of_weights", "masked_maps", "soft_skeleton", "truncated_distance"})
    CHECK(names.erase(part) == 1);
  return names;
}

std::string listed(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults)
    text += fault + '\n';
  return text;
}

RegisteredLoss cross_entropy_but(const std::string& what,
                                 const std::function<Loss(const Loss&)>& spoilt) {
  const auto make = [spoilt](std::int64_t times) {
    const std::vector<RegisteredLoss>& all = registered_losses();
    LossCase one = all.at(1).make(times);  // cross entropy with weights
    one.loss = spoilt(one.loss);
    return one;
  };
  return {.function = "cross_entropy", .options = what, .make = make};
}

// Its gradient is one percent too large.
struct Larger : torch::autograd::Function<Larger> {
  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, const at::Tensor& x) {
    return x.clone();
  }
  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* /*context*/,
                                          const std::vector<at::Tensor>& gradients) {
    return {gradients[0] * 1.01};
  }
};

bool names_fault(const std::vector<std::string>& faults, const std::string& kind) {
  return listed(faults).find(kind) != std::string::npos;
}

}  // namespace

TEST_CASE("every loss has the right gradient and sign, ignores what it must, and clamps nothing") {
  for (const RegisteredLoss& registered : registered_losses()) {
    CAPTURE(registered.function);
    CAPTURE(registered.options);
    const std::string faults = listed(faults_of(registered));
    CAPTURE(faults);
    CHECK(faults.empty() == registered.defect.empty());
  }
}

TEST_CASE("every public loss is registered, and nothing else is") {
  LossNames registered;
  for (const RegisteredLoss& one : registered_losses())
    registered.insert(one.function);
  REQUIRE(!registered.empty());
  CHECK(registered == public_losses());
}

TEST_CASE("the clamped focal loss is known by what its clamp does, and by that alone") {
  for (const RegisteredLoss& registered : registered_losses()) {
    if (registered.defect.empty()) continue;
    CHECK(registered.function == "clamped_focal_loss");
    const std::vector<std::string> faults = faults_of(registered);
    CHECK(names_fault(faults, "far logits: 24 of 24 have no gradient that leads to the target"));
    CHECK(names_fault(faults, "direction:"));
    CHECK_FALSE(names_fault(faults, "half precision"));
  }
}

TEST_CASE("the harness finds a planted wrong gradient") {
  const auto faults = faults_of(cross_entropy_but("steeper", [](const Loss& loss) {
    return [loss](auto& z, auto& t) { return Larger::apply(loss(z, t)); };
  }));
  CHECK(names_fault(faults, "finite differences: off by"));
}

TEST_CASE("the harness finds a planted wrong sign") {
  const auto faults = faults_of(cross_entropy_but(
      "rising", [](const Loss& loss) { return [loss](auto& z, auto& t) { return -loss(z, t); }; }));
  CHECK(names_fault(faults, "does not fall towards the target"));
  CHECK(names_fault(faults, "does not fall when row 0"));
  CHECK_FALSE(names_fault(faults, "finite differences"));
}

TEST_CASE("the harness finds a gradient where nothing weighs") {
  const auto faults = faults_of(cross_entropy_but("regularised", [](const Loss& loss) {
    return
        [loss](auto& z, auto& t) { return loss(z, t) + 1e-9 * z.square().mean().to(at::kDouble); };
  }));
  CHECK(names_fault(faults, "weightless: has a gradient"));
  CHECK(names_fault(faults, "weightless: changes the value"));
}

TEST_CASE("the harness finds a loss that is computed in half precision") {
  const auto faults = faults_of(cross_entropy_but("half", [](const Loss& loss) {
    return [loss](auto& z, auto& t) {
      return z.scalar_type() == at::kHalf ? loss(z, t) + 0.0 * z.abs().sum() : loss(z, t);
    };
  }));
  CHECK(names_fault(faults, "half precision: of +-6e4 the"));
  CHECK(names_fault(faults, "logits the loss is"));
}

TEST_CASE("the harness finds logits that are clamped, however wide") {
  const auto faults = faults_of(cross_entropy_but("clamped", [](const Loss& loss) {
    return [loss](auto& z, auto& t) { return loss(z.clamp(-100, 100), t); };
  }));
  CHECK(names_fault(faults, "far logits"));
  CHECK_FALSE(names_fault(faults, "direction"));
}
