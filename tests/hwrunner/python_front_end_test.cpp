// hwrunner/python/lockstep_train.py: what PyTorch's own modules, autograd and DistributedDataParallel say about the
// networks, against what models/ and simulator/steps derive. Skipped where no Python can import torch. A start of
// PyTorch takes seconds, so a case asks for many networks at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "models/derived.h"
#include "models/model_file.h"
#include "simulator/steps/buckets.h"
#include "tests/models/zoo_helpers.h"
#ifdef LOCKSTEP_WITH_LIBTORCH
#include "hwrunner/modules/module_facts.h"
#include "hwrunner/trainers/trainer.h"
#endif

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
const std::string kScript = std::string(LOCKSTEP_SOURCE_DIR) + "/hwrunner/python/lockstep_train.py";
constexpr int kNoTorch = 3, kNoProgram = 127;  // exit codes of the script and of execvp below

struct Ended {
  int code = -1;
  std::string output;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class PythonFrontEnd : public ::testing::Test {
 protected:
  PythonFrontEnd() {
    std::string pattern = ::testing::TempDir() + "/lockstep-python-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PythonFrontEnd() override { std::filesystem::remove_all(folder_); }

  // $LOCKSTEP_PYTHON alone where it is set.
  static std::vector<std::string> pythons() {
    if (const char* given = std::getenv("LOCKSTEP_PYTHON"); given != nullptr && *given != '\0') return {given};
    const std::string ours = std::string(LOCKSTEP_SOURCE_DIR) + "/.lockstep/libtorch/bin/python";
    return {ours + "-cpu", ours, "python3"};
  }

  // Standard output is the descriptor `records`, too.
  Ended run(const std::string& program, const std::vector<std::string>& words,
            const std::map<std::string, std::string>& variables, int records = 1) {
    const std::string output = folder_ + "/output";
    std::vector<std::string> all = words;
    all.insert(all.begin(), program);
    std::vector<char*> pointers;
    for (std::string& word : all) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_PORT", "MASTER_ADDR"}) unsetenv(name);
      setenv("OMP_NUM_THREADS", "1", 1);
      setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 1);
      for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
      const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(file, 1);
      if (records != 1) dup2(file, records);
      execvp(program.c_str(), pointers.data());
      _exit(kNoProgram);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(output)};
  }

  // The script by the first Python that has torch; nothing where none has it.
  std::optional<Ended> script(std::vector<std::string> words, const std::map<std::string, std::string>& variables = {},
                              int records = 1) {
    words.insert(words.begin(), {"-W", "ignore", "-B", kScript});
    for (const std::string& python : pythons()) {
      Ended ended = run(python, words, variables, records);
      if (ended.code != kNoTorch && ended.code != kNoProgram) return ended;
    }
    return std::nullopt;
  }

  // The same, with what it writes to standard error in its output.
  std::optional<Ended> with_errors(const std::vector<std::string>& words) {
    for (const std::string& python : pythons()) {
      std::vector<std::string> all = {"-c", "exec \"$0\" \"$@\" 2>&1", python, "-W", "ignore", "-B", kScript};
      all.insert(all.end(), words.begin(), words.end());
      Ended ended = run("sh", all, {});
      if (ended.code != kNoTorch && ended.code != kNoProgram) return ended;
    }
    return std::nullopt;
  }

  std::string file_of(const Model& model, const std::string& name) const {
    const std::string path = folder_ + "/" + name + ".json";
    std::ofstream(path) << to_model_json(model);
    return path;
  }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::string folder_;
};

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line, nullptr, false));
  return lines;
}

template <class Tensors>
Json tensors_json(const Tensors& tensors) {
  Json list = Json::array();
  for (const auto& t : tensors)
    list.push_back({{"name", t.name}, {"shape", t.shape}, {"dtype", name_of(t.dtype)}, {"bytes", t.bytes()}});
  return list;
}

void expect_the_models_facts(const Json& facts, const Model& model, std::int64_t batch) {
  EXPECT_EQ(facts["parameter_tensors"], tensors_json(model.parameters));
  EXPECT_EQ(facts["buffer_tensors"], tensors_json(model.buffers));
  EXPECT_EQ(facts["parameters"], parameter_count(model));
  EXPECT_EQ(facts["parameter_bytes"], parameter_bytes(model));
  EXPECT_EQ(facts["buffer_bytes"], buffer_bytes(model));
  EXPECT_EQ(facts["modules"], module_count(model));
  ASSERT_EQ(facts["op_shapes"].size() + 2, model.ops.size());  // neither input nor loss
  for (std::size_t i = 1; i + 1 < model.ops.size(); ++i) {
    const Op& op = model.ops[i];
    Shape shape = op.output;
    shape.insert(shape.begin(), op.once_per_batch ? 1 : batch);
    EXPECT_EQ(facts["op_shapes"][i - 1], Json(shape)) << op.name << " (" << name_of(op.kind) << ")";
  }
  Json order = Json::array();
  for (const ParameterId id : gradient_order(model)) order.push_back(model.parameter(id).name);
  EXPECT_EQ(facts["gradient_order"], order);
}

ModelOptions small_transformer() {
  ModelOptions options;
  options.sequence = 16;
  options.layers = 2;
  options.width = 64;
  options.heads = 4;
  options.feed_forward = 256;
  options.vocabulary = 1000;
  return options;
}

ModelOptions image_of(std::int64_t pixels) {
  ModelOptions options;
  options.image = pixels;
  return options;
}

// Of every family one that is small; the transformer's output shares its embedding, densenet, shufflenet and squeezenet
// branch.
std::vector<std::pair<std::string, Model>> small_networks() {
  std::vector<std::pair<std::string, Model>> list;
  for (const char* name : {"resnet18", "squeezenet1-0", "shufflenet-v2-x1-0", "densenet121", "mobilenet-v2"})
    list.emplace_back(name, zoo_model(name, image_of(64)));
  list.emplace_back("transformer", zoo_model("transformer", small_transformer()));
  list.emplace_back("mlp", zoo_model("mlp"));
  return list;
}

#define LOCKSTEP_SKIP_WITHOUT(ended) \
  if (!(ended)) GTEST_SKIP() << "no Python that can import torch (./lockstep.sh libtorch, or $LOCKSTEP_PYTHON)"

TEST_F(PythonFrontEnd, BuildsEveryNetworkOfTheZooAsTheModelSays) {
  std::vector<std::string> words{"check", "--meta", "--order"};
  std::vector<Model> models;
  for (const std::string& name : zoo_names()) {
    models.push_back(zoo_model(name));
    words.push_back(file_of(models.back(), name));
  }
  const auto ended = script(words);
  LOCKSTEP_SKIP_WITHOUT(ended);
  const std::vector<Json> lines = lines_of(ended->output);
  EXPECT_EQ(ended->code, 0);
  ASSERT_EQ(lines.size(), models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(models[i].name);
    ASSERT_FALSE(lines[i].contains("error")) << lines[i];
    expect_the_models_facts(lines[i], models[i], 2);
  }
}

TEST_F(PythonFrontEnd, RunsSmallNetworksForwardAndBackward) {
  std::vector<std::string> words{"check", "--order"};
  const auto models = small_networks();
  for (const auto& [name, model] : models) words.push_back(file_of(model, name));
  const auto ended = script(words);
  LOCKSTEP_SKIP_WITHOUT(ended);
  const std::vector<Json> lines = lines_of(ended->output);
  ASSERT_EQ(lines.size(), models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(models[i].first);
    ASSERT_FALSE(lines[i].contains("error")) << lines[i];
    expect_the_models_facts(lines[i], models[i].second, 2);
    EXPECT_EQ(lines[i]["without_gradient"], Json::array());
    EXPECT_GT(lines[i]["loss"].get<double>(), 0);
#ifdef LOCKSTEP_WITH_LIBTORCH
    // Weights, samples and masks of dropouts come from the same generators, so the losses are those of the C++ module.
    const Expected<ModuleFacts> cpp = module_facts(models[i].second);
    ASSERT_TRUE(cpp) << to_text(cpp.error().front());
    EXPECT_NEAR(lines[i]["loss"].get<double>(), cpp->training_loss, 1e-4 * cpp->training_loss);
#endif
  }
}

TEST_F(PythonFrontEnd, BucketsOfPyTorchsDdpAreTheSimulators) {
  const std::vector<std::optional<std::int64_t>> caps{1 << 20, 4'000'000};
  std::vector<std::string> words{"check", "--ddp"};
  const auto models = small_networks();
  for (const auto& [name, model] : models) words.push_back(file_of(model, name));
  const auto with_default = script(words);
  LOCKSTEP_SKIP_WITHOUT(with_default);
  words.push_back("--bucket-caps");
  for (const auto& cap : caps) words.push_back(std::to_string(*cap));
  const auto with_caps = script(words);
  ASSERT_TRUE(with_caps);
  const auto expect_equal = [](const Json& line, const Model& model, std::optional<std::int64_t> cap) {
    SCOPED_TRACE(model.name + (cap ? ", cap " + std::to_string(*cap) : ""));
    ASSERT_FALSE(line.contains("error")) << line;
    DdpOptions options;
    options.bucket_cap_bytes = cap;
    const BucketPhases phases = bucket_phases(model, options, {2, 11});
    const auto bytes = [](const std::vector<Bucket>& buckets) {
      Json list = Json::array();
      for (const Bucket& one : buckets) list.push_back(one.bytes);
      return list;
    };
    EXPECT_EQ(line["initial_bucket_bytes"], bytes(phases.initial));
    EXPECT_EQ(line["rebuilt_bucket_bytes"], bytes(phases.rebuilt));
  };
  const std::vector<Json> plain = lines_of(with_default->output), capped = lines_of(with_caps->output);
  ASSERT_EQ(plain.size(), models.size());
  ASSERT_EQ(capped.size(), models.size() * caps.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    expect_equal(plain[i], models[i].second, std::nullopt);
    for (std::size_t c = 0; c < caps.size(); ++c) expect_equal(capped[i * caps.size() + c], models[i].second, caps[c]);
  }
}

TEST_F(PythonFrontEnd, UnderAutocastTheOrderOfGradientsAndTheRebuiltBucketsAreTheSimulators) {
  std::vector<std::string> words{"check", "--precision", "amp-bf16"};
  const auto models = small_networks();
  for (const auto& [name, model] : models) words.push_back(file_of(model, name));
  words.push_back("--order");
  const auto orders = script(words);
  LOCKSTEP_SKIP_WITHOUT(orders);
  words.back() = "--ddp";
  words.insert(words.end(), {"--bucket-caps", "100000"});
  const auto buckets = script(words);
  ASSERT_TRUE(buckets);
  const std::vector<Json> order_lines = lines_of(orders->output), bucket_lines = lines_of(buckets->output);
  ASSERT_EQ(order_lines.size(), models.size());
  ASSERT_EQ(bucket_lines.size(), models.size());
  DdpOptions options;
  options.bucket_cap_bytes = 100'000;
  bool precision_matters = false;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Model& model = models[i].second;
    SCOPED_TRACE(model.name);
    ASSERT_FALSE(order_lines[i].contains("error")) << order_lines[i];
    ASSERT_FALSE(bucket_lines[i].contains("error")) << bucket_lines[i];
    Json order = Json::array(), bytes = Json::array();
    for (const ParameterId id : gradient_order(model, true)) order.push_back(model.parameter(id).name);
    for (const Bucket& one : bucket_phases(model, options, {2, 11}, true).rebuilt) bytes.push_back(one.bytes);
    EXPECT_EQ(order_lines[i]["gradient_order"], order);
    EXPECT_EQ(bucket_lines[i]["rebuilt_bucket_bytes"], bytes);
    precision_matters |= gradient_order(model, true) != gradient_order(model);
  }
  EXPECT_TRUE(precision_matters);
}

TEST_F(PythonFrontEnd, SearchForUnusedParametersAndAFirstBucketGiveTheSimulatorsBuckets) {
  const Model model = zoo_model("resnet18", image_of(64));
  const auto ended = script({"check", "--ddp", "--find-unused-parameters", "--first-bucket", "3000000", "--bucket-caps",
                             "10000000", "--", file_of(model, "resnet18")});
  LOCKSTEP_SKIP_WITHOUT(ended);
  DdpOptions options;
  options.bucket_cap_bytes = 10'000'000;
  options.first_bucket_bytes = 3'000'000;
  options.find_unused_parameters = true;
  Json expected = Json::array();
  for (const Bucket& one : bucket_phases(model, options, {2, 11}).initial) expected.push_back(one.bytes);
  const std::vector<Json> lines = lines_of(ended->output);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_GT(expected.size(), 3);
  EXPECT_EQ(lines[0]["initial_bucket_bytes"], expected) << lines[0];
  EXPECT_EQ(lines[0]["rebuilt"], false);
}

Json plan_of(const Model& model) {
  return {{"protocol", 1},
          {"strategy", "single"},
          {"world_size", 1},
          {"per_gpu_batch", 4},
          {"micro_steps", 2},
          {"warm_up", 1},
          {"steps", 2},
          {"repeat", 0},
          {"instrumented", true},
          {"threads_per_rank", 1},
          {"backend", "gloo"},
          {"join_timeout_s", 20},
          {"group_timeout_s", 20},
          {"silence_timeout_s", 40},
          {"rendezvous", ""},
          {"model", Json::parse(to_model_json(model))},
          {"training", {{"optimizer", "adam"}}}};
}

TEST_F(PythonFrontEnd, AWorkerTellsItsStepsInTheProtocolOfTheLauncher) {
  const Json plan = plan_of(zoo_model("mlp"));
  const auto ended = script({"worker", "--plan", write("plan.json", plan.dump()), "--records", "3"}, {}, 3);
  LOCKSTEP_SKIP_WITHOUT(ended);
  EXPECT_EQ(ended->code, 0);
  std::vector<std::string> types;
  double before = 0;
  for (const Json& line : lines_of(ended->output)) {
    ASSERT_TRUE(line.is_object()) << ended->output;
    types.push_back(line["type"]);
    if (types.back() == "hello") {
      EXPECT_EQ(line["protocol"], 1);
      EXPECT_EQ(line["implementation"], "torch.nn.Module");
      EXPECT_FALSE(line["software"]["torch"].get<std::string>().empty());
    }
    if (types.back() == "start") before = line["at_s"];
    if (types.back() != "step") continue;
    const double end = line["end_s"];
    double parts = 0;
    for (const auto& [name, seconds] : line["parts"].items()) parts += seconds.get<double>();
    EXPECT_GT(end, before);
    EXPECT_GT(parts, 0);
    EXPECT_LE(parts, end - before + 1e-6) << "a step holds its parts, and the time in which records were written";
    EXPECT_GT(line["parts"]["backward"].get<double>(), 0);
    before = end;
  }
  EXPECT_EQ(types,
            (std::vector<std::string>{"hello", "joining", "ready", "start", "step", "step", "step", "facts", "done"}));
}

TEST_F(PythonFrontEnd, AWorkerSaysInARecordWhatItCannotDo) {
  Json plan = plan_of(zoo_model("mlp"));
  const auto error_of = [&](const std::map<std::string, std::string>& variables) -> std::optional<Json> {
    const auto ended = script({"worker", "--plan", write("plan.json", plan.dump()), "--records", "3"}, variables, 3);
    if (!ended) return std::nullopt;
    EXPECT_EQ(ended->code, 1);
    return lines_of(ended->output).back();
  };
  plan["strategy"] = "dp";
  const auto dp = error_of({});
  LOCKSTEP_SKIP_WITHOUT(dp);
  EXPECT_EQ((*dp)["type"], "error");
  EXPECT_EQ((*dp)["kind"], "refused");
  EXPECT_NE((*dp)["message"].get<std::string>().find("DataParallel needs GPUs"), std::string::npos);
  plan["strategy"] = "dp-cpp";
  EXPECT_EQ((*error_of({}))["message"], "the Python front end does not run `dp-cpp`");
  plan["strategy"] = "ddp";
  plan["world_size"] = 2;
  const Json size = *error_of({{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}});
  EXPECT_EQ(size["kind"], "setup");
  EXPECT_EQ(size["message"], "the plan needs 2 ranks, 3 were started");
  plan["dilate"] = 10;
  EXPECT_EQ((*error_of({}))["message"], "the Python front end does not pace its computing: that is in C++");
  plan.erase("dilate");
  plan["training"]["powersgd"] = true;
  EXPECT_EQ((*error_of({}))["message"], "the Python front end does not know `powersgd`");
}

TEST_F(PythonFrontEnd, TwoRanksTrainTogetherAndMarkTheirBuckets) {
  const Model model = zoo_model("mlp");
  const std::string file = file_of(model, "mlp");
  // Both ranks by the first Python that has torch: a shell starts them, and each writes to its own file.
  const std::string port = std::to_string(20000 + getpid() % 20000);
  const auto probe = script({"probe"});
  LOCKSTEP_SKIP_WITHOUT(probe);
  const Json said = Json::parse(probe->output);
  EXPECT_EQ(said["protocol"], 1);
  const pid_t other = fork();
  const std::vector<std::string> words{"train",     file, "--steps",   "2",    "--warm-up", "2", "--instrument",
                                       "--threads", "1",  "--backend", "gloo", "--seed",    "3"};
  const auto rank = [&](const char* number) {
    return script(words, {{"RANK", number}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}});
  };
  if (other == 0) {
    PythonFrontEnd_TwoRanksTrainTogetherAndMarkTheirBuckets_Test own;  // a folder of its own
    const auto ended =
        own.script(words, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}});
    _exit(ended ? ended->code : 1);
  }
  const auto ended = rank("0");
  int status = 0;
  waitpid(other, &status, 0);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0) << ended->output;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::map<int, Json> bytes;
  for (const Json& line : lines_of(ended->output)) {
    if (line["type"] != "bucket") continue;
    bytes[line["step"]].push_back(line["bytes"]);
    EXPECT_LE(line["ready_s"], line["launch_s"]);
    EXPECT_LT(line["launch_s"], line["end_s"]);
  }
  Json rebuilt = Json::array();
  for (const Bucket& one : bucket_phases(model, {}, {2, 11}).rebuilt) rebuilt.push_back(one.bytes);
  EXPECT_EQ(bytes[0], Json::array({parameter_bytes(model)}));
  EXPECT_EQ(bytes[3], rebuilt);
}

TEST_F(PythonFrontEnd, MeasureObeysTheFrontEndOfTheScenario) {
  const auto probe = script({"probe"});
  LOCKSTEP_SKIP_WITHOUT(probe);
  const std::string scenario = write("scenario.yaml", R"(model: mlp
batch: {per_gpu: 8}
topology: cpu-host
gpus: [1]
strategy: [ddp]
front_end: python
measure: {steps: 3, warm_up: 2, repeats: 1}
)");
  const Ended ended = run(LOCKSTEP_PROGRAM, {"measure", scenario, "--here", "--json"}, {});
  ASSERT_EQ(ended.code, 0) << ended.output;
  const Json result = Json::parse(ended.output);
  std::map<std::string, Json> runs;
  for (const Json& one : result["runs"]) runs[one["strategy"]] = one;
  EXPECT_EQ(runs["single"]["implementation"], "torch.nn.Module");
  EXPECT_EQ(runs["ddp"]["implementation"], "DistributedDataParallel");
  EXPECT_GT(runs["ddp"]["breakdown_s"]["backward"].get<double>(), 0);
  EXPECT_TRUE(result["software"].contains("python")) << result["software"];
}

#ifdef LOCKSTEP_WITH_LIBTORCH
// Weights, samples, scaler, clipping and optimizer are the same: so is the loss after six steps.
TEST_F(PythonFrontEnd, TrainsInEachNumberFormatToTheLossOfTheCppTrainer) {
  const Model model = zoo_model("mlp");
  const std::string file = file_of(model, "mlp");
  struct Case {
    const char* name;
    Precision precision;
    bool clip;
    OptimizerKind optimizer;
    const char* optimizer_name;
    OptimizerImplementation implementation;
    const char* implementation_name;
  };
  using I = OptimizerImplementation;
  std::set<std::string> losses;
  for (const Case& one :
       {Case{"fp32", Precision::Fp32, true, OptimizerKind::Sgd, "sgd", I::Foreach, "foreach"},
        Case{"amp-bf16", Precision::AmpBf16, false, OptimizerKind::Adam, "adam", I::Foreach, "foreach"},
        Case{"amp-fp16", Precision::AmpFp16, true, OptimizerKind::Adam, "adam", I::Foreach, "foreach"},
        Case{"amp-fp16", Precision::AmpFp16, false, OptimizerKind::Adam, "adam", I::Fused, "fused"}}) {
    SCOPED_TRACE(std::string(one.name) + " " + one.optimizer_name + " " + one.implementation_name);
    std::vector<std::string> words = {"train",
                                      file,
                                      "--batch",
                                      "16",
                                      "--warm-up",
                                      "2",
                                      "--steps",
                                      "4",
                                      "--threads",
                                      "1",
                                      "--seed",
                                      "5",
                                      "--backend",
                                      "gloo",
                                      "--input",
                                      "host",
                                      "--host-sync",
                                      "--precision",
                                      one.name,
                                      "--optimizer",
                                      one.optimizer_name,
                                      "--optimizer-implementation",
                                      one.implementation_name};
    if (one.clip) words.emplace_back("--clip-grad-norm");
    const auto ended = with_errors(words);
    LOCKSTEP_SKIP_WITHOUT(ended);
    ASSERT_EQ(ended->code, 0) << ended->output;
    const std::size_t at = ended->output.rfind("loss ");
    ASSERT_NE(at, std::string::npos) << ended->output;
    const double python = std::stod(ended->output.substr(at + 5));
    TrainerOptions options;
    options.batch = 16;
    options.seed = 5;
    options.precision = one.precision;
    options.clip_grad_norm = one.clip;
    options.optimizer = one.optimizer;
    options.optimizer_implementation = one.implementation;
    options.input.source = InputSource::Host;
    options.host_sync = true;
    auto trainer = make_trainer(std::make_shared<const Model>(model), options);
    ASSERT_TRUE(trainer) << to_text(trainer.error().front());
    double cpp = 0;
    for (int i = 0; i < 6; ++i) {
      const auto step = (*trainer)->step();
      ASSERT_TRUE(step) << to_text(step.error().front());
      cpp = step->loss;
    }
    EXPECT_NEAR(python, cpp, 2e-4 * cpp);
    losses.insert(std::to_string(python));
  }
  EXPECT_GE(losses.size(), 3U);  // and each says something of its own
}
#endif

TEST_F(PythonFrontEnd, MeasureObeysNumberFormatClippingAndReadingTheLossAndRefusesByName) {
  const auto probe = script({"probe"});
  LOCKSTEP_SKIP_WITHOUT(probe);
  const std::string head =
      "model: mlp\nbatch: {per_gpu: 8}\ntopology: {node: cpu-host, gpus_per_node: 1}\ngpus: [1]\nstrategy: single\n"
      "front_end: python\nmeasure: {steps: 2, warm_up: 2, repeats: 1}\n";
  const auto measured = [&](const std::string& more) {
    const Ended ended = run(LOCKSTEP_PROGRAM, {"measure", write("scenario.yaml", head + more), "--json"}, {});
    return Json::parse(ended.output)["runs"][0];
  };
  const Json run = measured(
      "precision: amp-fp16\nloop: {host_sync: each_step}\noptimizer: {name: sgd, clip_grad_norm: true}\n"
      "input: {source: host}\n");
  EXPECT_FALSE(run.contains("not_run")) << run;
  EXPECT_GT(run["breakdown_s"]["copy_to_device"], 0);
  for (const auto& [more, reason] : std::vector<std::pair<std::string, std::string>>{
           {"precision: tf32\n", "precision tf32 needs a GPU"},
           {"input: {source: host, touched: false}\n", "does not know `input.touched`"},
           {"loader: {sample_cost: {mean: 1ms}}\n", "does not know `loader`"}}) {
    EXPECT_NE(measured(more)["not_run"].get<std::string>().find(reason), std::string::npos) << more;
  }
}

// Needs no torch: only Python itself.
TEST_F(PythonFrontEnd, TheFileCompilesAndImportsNothingInVain) {
  const std::string check = R"(
import ast, sys
tree = ast.parse(open(sys.argv[1], encoding="utf-8").read())
names = {(alias.asname or alias.name).split(".")[0] for node in ast.walk(tree)
         if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
print(*sorted(names - used))
)";
  const Ended ended = run("python3", {"-c", check, kScript}, {});
  if (ended.code == kNoProgram) GTEST_SKIP() << "no python3";
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "\n");
}

}  // namespace
}  // namespace lockstep
