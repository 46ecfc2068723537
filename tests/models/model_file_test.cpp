// Model files: reading, writing, and what is wrong with a bad one.
#include "models/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/derived.h"
#include "zoo_helpers.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

Model good(const std::string& text) {
  Expected<Model> model = read_model(text, "m.yaml");
  if (!model) throw std::runtime_error(to_text(model.error().front()));
  return std::move(*model);
}

Error bad(const std::string& text) {
  const Expected<Model> model = read_model(text, "m.yaml");
  EXPECT_FALSE(model.has_value()) << text;
  return model ? Error{} : model.error().front();
}

// Errors of an op in a file whose first three lines are the head and a convolution.
Error bad_op(const std::string& op) {
  return bad("name: m\ninput: {shape: [3, 8, 8]}\nops: [{op: conv2d, name: conv, out: 4, kernel: 3},\n  " + op + "]\n");
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, AWrittenModelReadsBackEqual) {
  const Model model = zoo_model(GetParam());
  const Expected<Model> back = read_model(to_model_json(model), "m.json");
  ASSERT_TRUE(back.has_value()) << to_text(back.error().front());
  EXPECT_EQ(back->parameters, model.parameters);
  EXPECT_EQ(back->buffers, model.buffers);
  ASSERT_EQ(back->ops.size(), model.ops.size());
  for (std::size_t i = 0; i < model.ops.size(); ++i) EXPECT_EQ(back->ops[i], model.ops[i]) << i << model.ops[i].name;
  EXPECT_EQ(*back, model);
  EXPECT_EQ(to_model_json(*back), to_model_json(model));
}

INSTANTIATE_TEST_SUITE_P(Zoo, RoundTrip, testing::ValuesIn(zoo_names()),
                         [](const auto& one) { return test_name(one.param); });

TEST(ModelFile, TheCifarStemAndSmallImagesSurviveARoundTrip) {
  ModelOptions options;
  options.stem = "cifar";
  const Model model = zoo_model("resnet50", options);
  EXPECT_EQ(good(to_model_json(model)), model);
}

TEST(ModelFile, ReadsTheExampleOfTheInterface) {
  const Model model = good(R"(
name: tiny-cnn
input: {shape: [3, 32, 32], dtype: fp32}
ops:
- {op: conv2d, name: conv1, out: 64, kernel: 3, padding: 1, bias: false}
- {op: batch_norm, name: bn1}
- {op: relu, name: relu}
- {op: global_avg_pool}
- {op: linear, name: fc, out: 10}        # branches: `from: [a, b]` names inputs
)");
  EXPECT_EQ(parameter_count(model), 3 * 64 * 9 + 2 * 64 + 64 * 10 + 10);
  EXPECT_EQ(forward_flop(model), 2 * 64 * 32 * 32 * 27 + 2 * 64 * 10);
  EXPECT_EQ(backward_flop(model), 2 * 64 * 32 * 32 * 27 + 2 * (2 * 64 * 10));
  EXPECT_EQ(module_count(model), 5);
  EXPECT_EQ(model.ops.back().kind, OpKind::CrossEntropy);
  EXPECT_EQ(model.target_elements, 1);
  // Sample, convolution, activation, pooled features.
  EXPECT_EQ(saved_activation_bytes_per_sample(model), 4 * (3 * 32 * 32 + 64 * 32 * 32 + 64 * 32 * 32 + 64));
}

TEST(ModelFile, BranchesAreNamedByNameOrId) {
  const Model model = good(R"(
name: residual
input: {shape: [8]}
ops:
- {op: linear, name: a, out: 8}
- {op: relu, id: hidden}
- {op: linear, name: b, out: 8, bias: false}
- {op: add, from: [b, hidden], id: sum}
- {op: linear, name: c, out: 3, from: sum}
)");
  EXPECT_EQ(model.ops[4].inputs, (std::vector<OpId>{OpId{3}, OpId{2}}));
  EXPECT_EQ(gradient_adds(model, OpId{2}), 1);
}

TEST(ModelFile, TakesLearnedTensorsFusedAttentionAndTwoOutputs) {
  const Model model = good(R"(
name: small-vit
input: {shape: [3, 8, 8]}
ops:
- {op: conv2d, name: patches, out: 8, kernel: 4, stride: 4}
- {op: view, shape: [4, 8], id: rows}
- {op: parameter, name: token, shape: [1, 1, 8]}
- {op: concat, from: [token, rows]}
- {op: linear, name: mix, out: 24, weight_name: mix.in_weight, bias_name: mix.in_bias}
- {op: split, id: parts}
- {op: view, shape: [2, 5, 4], from: parts, id: q}
- {op: view, shape: [2, 5, 4], from: parts, id: k}
- {op: view, shape: [2, 5, 4], from: parts, id: v}
- {op: attention, from: [q, k, v], gemm: {batch: 2, m: 5, n: 5, k: 4}}
- {op: dropout, probability: 0.1, per_sample: true}
- {op: flatten, id: features}
- {op: linear, name: side, out: 3}
- {op: linear, name: main, out: 3, from: features}
- {op: cross_entropy, from: [main, side]}
)");
  EXPECT_EQ(model.parameters[2].name, "token");
  EXPECT_EQ(model.parameters[3].name, "mix.in_weight");
  EXPECT_EQ(model.target_elements, 1);
  EXPECT_EQ(model.ops[11].row, 40);
  EXPECT_EQ(good(to_model_json(model)), model);
}

TEST(ModelFile, SharedWeightsAreOneParameter) {
  const Model model = good(R"(
name: tied
input: {shape: [5], dtype: int64}
ops:
- {op: embedding, name: embed, entries: 20, width: 6}
- {op: layer_norm, name: norm}
- {op: linear, name: head, out: 20, shares: embed.weight, bias: false}
)");
  EXPECT_EQ(model.parameters.size(), 3u);
  EXPECT_EQ(model.ops[3].parameters, model.ops[1].parameters);
  EXPECT_EQ(model.target_elements, 5) << "one label per position";
}

TEST(ModelFile, AModuleUsedTwiceHasOneSetOfParameters) {
  const Model model = good(R"(
name: twice
input: {shape: [6]}
ops:
- {op: linear, name: same, out: 6}
- {op: linear, name: same, out: 6}
)");
  EXPECT_EQ(model.parameters.size(), 2u);
  EXPECT_EQ(tied_gradient_adds(model), 2);
}

TEST(ModelFile, ANameThatComesAgainWithOtherSettingsIsAnError) {
  // Both have a weight of [4, 3, 3, 3], so the shapes alone do not tell.
  const Error padded =
      bad("name: m\ninput: {shape: [3, 8, 8]}\nops:\n- {op: conv2d, name: conv, out: 4, kernel: 3, bias: false}\n"
          "- {op: conv2d, name: conv, from: input, out: 4, kernel: 3, padding: 1, bias: false}\n");
  EXPECT_EQ(padded.kind, ErrorKind::Conflict);
  EXPECT_EQ(padded.key, "ops[1].name");
  EXPECT_THAT(padded.message, HasSubstr("with other settings"));
  const Error other = bad_op("{op: layer_norm, name: a}, {op: batch_norm, name: a, from: input}");
  EXPECT_EQ(other.kind, ErrorKind::Conflict);
  const Error norms =
      bad("name: m\ninput: {shape: [6]}\nops:\n- {op: layer_norm, name: n}\n- {op: batch_norm, name: n}\n");
  EXPECT_THAT(norms.message, HasSubstr("is a layer_norm"));
}

TEST(ModelFile, AModelHasAName) {
  const Error error = bad("name: \"\"\ninput: {shape: [4]}\nops: [{op: linear, name: a, out: 2}]\n");
  EXPECT_EQ(error.kind, ErrorKind::Range);
  EXPECT_EQ(error.key, "name");
  EXPECT_EQ(error.line, 1);
}

TEST(ModelFile, AnUnknownKeyOfAnOpIsNamedInGoodEnglish) {
  EXPECT_THAT(bad_op("{op: relu, colour: 1}").message, HasSubstr("an op has no such key"));
}

TEST(ModelFile, TheExampleThatComesAlongIsRead) {
  const Expected<Model> model = read_model_file(LOCKSTEP_SOURCE_DIR "/models/examples/residual-cnn.yaml");
  ASSERT_TRUE(model.has_value()) << to_text(model.error().front());
  const auto fc1 = std::find_if(model->parameters.begin(), model->parameters.end(),
                                [](const Parameter& p) { return p.name == "fc1.weight"; });
  ASSERT_NE(fc1, model->parameters.end());
  EXPECT_EQ(fc1->shape, (Shape{4096, 128 * 8 * 8}));
  EXPECT_GT(static_cast<double>(fc1->elements()), 0.9 * static_cast<double>(parameter_count(*model)));
}

TEST(ModelFile, TheDerivedBlockHoldsThePublishedNumbers) {
  const nlohmann::json derived = nlohmann::json::parse(to_model_json(zoo_model("resnet50")))["derived"];
  EXPECT_EQ(derived["parameters"], 25557032);
  EXPECT_EQ(derived["parameter_tensors"], 161);
  EXPECT_EQ(derived["buffers"], 159);
  EXPECT_EQ(derived["buffer_bytes"], 212904);
  EXPECT_EQ(derived["modules"], 151);
  EXPECT_EQ(derived["forward_flop_per_sample"], 8178368512);
  EXPECT_EQ(derived["backward_flop_per_sample"], 16120709120);
  EXPECT_EQ(derived["saved_activation_bytes_per_sample"], 85909504);
  EXPECT_EQ(derived["gradient_order"].size(), 161u);
  EXPECT_EQ(derived["gradient_order"][0], "fc.bias");
}

TEST(ModelFile, TheDerivedBlockIsNotRead) {
  const Model model =
      good("name: m\ninput: {shape: [4]}\nops: [{op: linear, name: a, out: 2}]\nderived: {parameters: 7}\n");
  EXPECT_EQ(parameter_count(model), 10);
}

TEST(ModelFile, RegistrationMayDifferFromUse) {
  const std::string head =
      "name: m\ninput: {shape: [4]}\nops: [{op: linear, name: a, out: 4}, {op: linear, name: b, out: 2}]\n";
  const Model model = good(head + "registration: [b.weight, b.bias]\n");
  EXPECT_EQ(model.parameters[0].name, "b.weight");
  EXPECT_EQ(model.parameters[2].name, "a.weight");
  EXPECT_EQ(model.ops[1].parameters[0], ParameterId{2});
  EXPECT_THAT(bad(head + "registration: [b.wieght]\n").hint, HasSubstr("b.weight"));
  EXPECT_THAT(bad(head + "registration: [b.bias, b.bias]\n").message, HasSubstr("once"));
}

TEST(ModelFile, UnusedParametersAreCountedButNeverReady) {
  const Model model = good(
      "name: m\ninput: {shape: [4]}\nops: [{op: linear, name: a, out: 2}]\nunused_parameters: [{name: spare, shape: "
      "[9]}]\n");
  EXPECT_EQ(parameter_count(model), 19);
  EXPECT_EQ(gradient_order(model).size(), 2u);
  EXPECT_EQ(good(to_model_json(model)), model);
}

struct BadOp {
  const char* what;
  const char* op;
  ErrorKind kind;
  const char* key;
  const char* says;  // part of the error as text
};

class BadOps : public testing::TestWithParam<BadOp> {};

TEST_P(BadOps, AreRefusedAtTheirPlaceWithTheReason) {
  const Error error = bad_op(GetParam().op);
  EXPECT_EQ(name_of(error.kind), std::string(name_of(GetParam().kind))) << to_text(error);
  EXPECT_EQ(error.key, GetParam().key) << to_text(error);
  EXPECT_THAT(to_text(error), HasSubstr(GetParam().says));
  EXPECT_EQ(error.file, "m.yaml");
  EXPECT_EQ(error.line, 4);
  EXPECT_GE(error.column, 3);
}

INSTANTIATE_TEST_SUITE_P(
    ModelFile, BadOps,
    testing::Values(
        BadOp{"op", "{op: relo}", ErrorKind::Range, "ops[1].op", "did you mean `relu`?"},
        BadOp{"key", "{op: relu, kernel: 3}", ErrorKind::UnknownKey, "ops[1].kernel", "`relu` takes no `kernel`"},
        BadOp{"unknown_key", "{op: max_pool, kernel: 2, strid: 1}", ErrorKind::UnknownKey, "ops[1].strid",
              "did you mean `stride`?"},
        BadOp{"missing_out", "{op: linear, name: fc}", ErrorKind::Missing, "ops[1].out", "`linear` needs `out`"},
        BadOp{"missing_name", "{op: linear, out: 3}", ErrorKind::Missing, "ops[1].name", "`linear` needs `name`"},
        BadOp{"missing_op", "{name: fc}", ErrorKind::Missing, "ops[1].op", "`op` is missing"},
        BadOp{"zero", "{op: linear, name: fc, out: 0}", ErrorKind::Range, "ops[1].out", "from 1"},
        BadOp{"text", "{op: linear, name: fc, out: ten}", ErrorKind::Type, "ops[1].out", "ten"},
        BadOp{"window", "{op: max_pool, kernel: 9}", ErrorKind::Conflict, "ops[1].kernel",
              "larger than the input [4, 6, 6]"},
        BadOp{"triple", "{op: max_pool, kernel: [1, 2, 3]}", ErrorKind::Type, "ops[1].kernel", "[height, width]"},
        BadOp{"groups", "{op: conv2d, name: b, out: 6, kernel: 1, groups: 3}", ErrorKind::Conflict, "ops[1].groups",
              "3 groups do not divide 4 input and 6 output channels"},
        BadOp{"from", "{op: add, from: [conv, cnov]}", ErrorKind::Range, "ops[1].from", "did you mean `conv`?"},
        BadOp{"one_input", "{op: add}", ErrorKind::Conflict, "ops[1].from", "two inputs, not 1"},
        BadOp{"two_inputs", "{op: relu, from: [conv, input]}", ErrorKind::Conflict, "ops[1].from", "one input, not 2"},
        BadOp{"sum", "{op: add, from: [conv, input]}", ErrorKind::Conflict, "ops[1].from", "[4, 6, 6] and [3, 8, 8]"},
        BadOp{"same_name", "{op: conv2d, name: conv, out: 4, kernel: 1}", ErrorKind::Conflict, "ops[1].name",
              "conv.weight has the shape [4, 3, 3, 3] above and [4, 4, 1, 1] here"},
        BadOp{"shares", "{op: linear, name: fc, out: 3, shares: conv.wait}", ErrorKind::Range, "ops[1].shares",
              "no op above has this parameter"},
        BadOp{"shares_shape", "{op: linear, name: fc, out: 3, shares: conv.weight}", ErrorKind::Conflict,
              "ops[1].shares", "has the shape"},
        BadOp{"image", "{op: flatten}, {op: max_pool, kernel: 2}", ErrorKind::Conflict, "ops[2].op",
              "needs [channels, height, width]"},
        BadOp{"indices", "{op: embedding, name: e, entries: 5, width: 2}", ErrorKind::Conflict, "ops[1].op", "int64"},
        BadOp{"view", "{op: view, shape: [5]}", ErrorKind::Conflict, "ops[1].shape", "does not hold the 144 values"},
        BadOp{"ceil", "{op: conv2d, name: b, out: 4, kernel: 1, ceil_mode: true}", ErrorKind::UnknownKey,
              "ops[1].ceil_mode", "`conv2d` takes no `ceil_mode`"},
        BadOp{"learned", "{op: parameter, name: t, shape: [2], from: conv}", ErrorKind::Conflict, "ops[1].from",
              "no inputs"},
        BadOp{"attention", "{op: attention, from: [conv, conv], gemm: {m: 1, n: 1, k: 1}}", ErrorKind::Conflict,
              "ops[1].from", "three inputs, not 2"},
        BadOp{"heads", "{op: attention, from: [conv, conv, conv], gemm: {batch: 2, m: 6, n: 6, k: 6}}",
              ErrorKind::Conflict, "ops[1].gemm", "are not 2 heads of [6, 6]"},
        BadOp{"losses", "{op: cross_entropy, from: [conv, input]}", ErrorKind::Conflict, "ops[1].from",
              "do not share labels"},
        BadOp{"two_names", "{op: linear, name: fc, out: 6, shares: conv.weight, weight_name: w}", ErrorKind::Conflict,
              "ops[1].weight_name", "has its name already"},
        BadOp{"product", "{op: matmul, from: [conv, conv], gemm: {m: 2, n: 2, k: 2}}", ErrorKind::Conflict,
              "ops[1].gemm", "are not 1 x [2, 2]"},
        BadOp{"huge", "{op: linear, name: fc, out: 1000000000}, {op: linear, name: g, out: 1000000000}",
              ErrorKind::Range, "ops[2].out", "too large"},
        BadOp{"loss", "{op: cross_entropy}, {op: relu}", ErrorKind::Conflict, "ops[1].op", "the loss is the last op"},
        BadOp{"id", "{op: relu, id: conv}", ErrorKind::Conflict, "ops[1].id", "taken"},
        BadOp{"ambiguous", "{op: relu, name: r}, {op: relu, name: r}, {op: add, from: [r, conv]}", ErrorKind::Conflict,
              "ops[3].from", "give the op an `id`"},
        BadOp{"probability", "{op: dropout, probability: 1.5}", ErrorKind::Range, "ops[1].probability", "1"}),
    [](const auto& one) { return one.param.what; });

TEST(ModelFile, EveryWrongKeyIsReportedInFileOrder) {
  const Expected<Model> model =
      read_model("nam: m\ninput: {shape: [0]}\nops:\n- {op: relo}\n- {op: linear}\n", "m.yaml");
  ASSERT_FALSE(model.has_value());
  std::vector<std::string> keys;
  for (const Error& error : model.error()) keys.push_back(error.key);
  EXPECT_THAT(keys, testing::ElementsAre("nam", "input.shape", "ops[0].op", "ops[1].name", "ops[1].out", "name"));
}

TEST(ModelFile, FilesWithoutSenseAreRefused) {
  EXPECT_EQ(bad("").kind, ErrorKind::Syntax);
  EXPECT_EQ(bad("[1, 2]").kind, ErrorKind::Type);
  EXPECT_EQ(bad("name: m\ninput: {shape: [3]}\nops: []\n").key, "ops");
  EXPECT_EQ(bad("name: m\ninput: {shape: []}\nops: [{op: relu}]\n").key, "input.shape");
  EXPECT_EQ(bad("name: m\ninput: {shape: [1000000000, 1000000000]}\nops: [{op: relu}]\n").key, "input.shape");
  EXPECT_EQ(bad("name: m\ninput: {shape: [3]\n").kind, ErrorKind::Syntax);
  EXPECT_EQ(read_model_file("/no/such/file.yaml").error().front().kind, ErrorKind::Io);
}

}  // namespace
}  // namespace lockstep
