// The committed JSON Schemas are what the field tables give, and the files that come with lockstep satisfy them.
// LOCKSTEP_UPDATE=1 writes them anew. The validation needs python3-jsonschema and fails without it.
#include "scenarios/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "models/model_fields.h"
#include "scenarios/fields.h"
#include "simulator/base/document.h"
#include "simulator/result/json.h"
#include "topologies/fields.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = LOCKSTEP_SOURCE_DIR;

struct Schema {
  const char* name;
  std::string text;
  std::vector<const char*> folders;  // whose YAML files must satisfy it
};

std::vector<Schema> schemas() {
  return {{"scenario",
           json_schema_of(scenario_fields(), "lockstep scenario", Scenario{}),
           {"scenarios", "scenarios/gallery"}},
          {"model", json_schema_of(model_fields(), "lockstep model", ModelFile{}), {}},
          {"topology", json_schema_of(node_fields(), "lockstep topology", Node{}), {"topologies/nodes"}},
          {"gpu", json_schema_of(gpu_fields(), "lockstep GPU", GpuType{}), {"topologies/gpus"}},
          {"fabric", json_schema_of(fabric_fields(), "lockstep fabric", Fabric{}), {"topologies/fabrics"}}};
}

std::string schema_path(const Schema& schema) {
  return kRoot + "/scenarios/schema/" + schema.name + ".schema.json";
}

// The YAML text as a JSON file of its own; its path in shell quotes.
std::string as_json_file(const std::string& yaml, const std::string& name) {
  const std::string path = testing::TempDir() + "lockstep-schema-" + name + ".json";
  std::ofstream(path) << yaml_to_json(yaml);
  return "'" + path + "'";
}

int validate(const Schema& schema, const std::string& files, const char* option = "") {
  const std::string command = "/usr/bin/python3 '" + kRoot + "/tests/scenarios/validate_schema.py' " + option + " '" +
                              schema_path(schema) + "' " + files;
  return std::system(command.c_str());
}

TEST(Schema, TheCommittedFilesAreWhatTheTablesGive) {
  for (const Schema& schema : schemas()) {
    if (std::getenv("LOCKSTEP_UPDATE") != nullptr) {
      fs::create_directories(kRoot + "/scenarios/schema");
      std::ofstream(schema_path(schema)) << schema.text;
    }
    const Expected<std::string> committed = read_text_file(schema_path(schema));
    ASSERT_TRUE(committed) << to_text(committed.error().front());
    EXPECT_TRUE(*committed == schema.text)
        << schema.name << ": run test_schema with LOCKSTEP_UPDATE=1 and look at the change";
  }
}

TEST(Schema, EveryFileThatComesWithLockstepSatisfiesIt) {
  for (const Schema& schema : schemas()) {
    std::string files;
    for (const char* folder : schema.folders) {
      for (const auto& entry : fs::directory_iterator(kRoot + "/" + folder)) {
        if (entry.path().extension() != ".yaml") continue;
        const Expected<std::string> yaml = read_text_file(entry.path().string());
        ASSERT_TRUE(yaml);
        files += " " + as_json_file(*yaml, std::string(schema.name) + "-" + entry.path().stem().string());
      }
    }
    if (schema.folders.empty()) continue;
    ASSERT_FALSE(files.empty()) << schema.name;
    EXPECT_EQ(validate(schema, files), 0) << schema.name;
  }
}

TEST(Schema, AModelFileSatisfiesIt) {
  const std::string model = R"(
name: tiny-cnn
input: {shape: [3, 32, 32], dtype: fp32}
ops:
- {op: conv2d, name: conv1, out: 64, kernel: 3, padding: 1, bias: false}
- {op: batch_norm, name: bn1}
- {op: relu, name: relu}
- {op: global_avg_pool}
- {op: linear, name: fc, out: 10}
)";
  EXPECT_EQ(validate(schemas()[1], as_json_file(model, "tiny-cnn")), 0);
}

TEST(Schema, ShortFormsAndDottedKeysSatisfyIt) {
  const std::string start = "batch: {per_gpu: 8}\ngpus: 8\n";
  std::string files;
  int number = 0;
  for (const char* text :
       {"model: resnet50\ntopology: dgx-a100-80gb\nnoise: none\n",
        "model: {mlp: {inputs: 3, hidden: [4], outputs: 2}}\ntopology: x\nnoise: {jitter: 5%}\n",
        "model: {name: vgg16, image: default}\ntopology: {node: x, override: {nic.rate: 100Gb/s}}\n",
        "model: bert-base\ntopology: {node: x, gpus_per_node: all}\nddp.bucket_cap: 25 MiB\n",
        "model: gpt2\ntopology: x\ntf32: {conv: true, matmul: auto}\nnoise: {jitter: {sigma: 0.05}}\n",
        "model: gpt2\ntopology: x\nstrategy: ddp\ncalibrate: 12it/s\nhost: {factor: auto}\n",
        "model: resnet18\ntopology: x\nloader: {workers_per_process: 4, sample_cost: 8ms}\nhost: {cores: 8}\n"})
    files += " " + as_json_file(start + text, "good-" + std::to_string(number++));
  EXPECT_EQ(validate(schemas()[0], files), 0);
}

TEST(Schema, SweptScenariosSatisfyIt) {
  const std::string start = "batch: {per_gpu: [8, 16]}\ngpus: [8, 16]\n";
  std::string files;
  int number = 0;
  for (const char* text :
       {"model: [resnet50, resnet18]\ntopology: [dgx-a100-80gb, {node: dgx-a100-80gb, fabric: own}]\nseed: [1, 2]\n",
        "model: {mlp: {inputs: [3, 4], hidden: [[4], [4, 4]], outputs: 2}}\ntopology: {node: [x, y], fabric: [own]}\n",
        "model: {name: vgg16, image: [default, 64]}\ntopology: x\nddp: {bucket_cap: [default, 25 MiB]}\n",
        "model: {mlp: {hidden: [4, 4]}}\ntopology: x\nnoise: [none, {jitter: 5%}]\n",
        "model: gpt2\ntopology: {node: x, override: {nic.rate: [1GB/s, 2GB/s]}}\nprecision: [fp32, amp-bf16]\n",
        "model: gpt2\ntopology: x\ntf32: {conv: [true, auto]}\nstrategy: [dp, ddp]\nnoise: {jitter: [1%, 0.05]}\n",
        "model: gpt2\ntopology: x\nhost: {factor: [auto, 1.5]}\ncalibrate: {single_gpu: [12img/s, 13img/s]}\n"})
    files += " " + as_json_file(start + text, "swept-" + std::to_string(number++));
  files +=
      " " + as_json_file("model: gpt2\ntopology: x\ngpus: 8\nbatch: [{per_gpu: 64}, {global: 512}]\n", "swept-maps");
  EXPECT_EQ(validate(schemas()[0], files), 0);
}

TEST(Schema, WrongScenariosBreakIt) {
  const std::string start = "model: resnet50\nbatch: {per_gpu: 8}\ntopology: x\n";
  std::string files;
  int number = 0;
  for (const char* text :
       {"", "gpus: [0]\n", "gpus: 8\nddp: {bucket_cap: 25}\n", "gpus: 8\nddp: {bukcet_cap: 25MiB}\n",
        "gpus: 8\nstrategy: fsdp\n", "gpus: 8\nloader: {workers_per_process: -1}\n", "gpus: 8\nseed: 1.5\n",
        "gpus: 8\nsoftware: {torch: 2.10}\n", "gpus: 8\nddp: {bucket_cap: [25MiB, 25]}\n", "gpus: 8\nseed: [1, 1.5]\n",
        "gpus: 8\nddp: {bucket_cap: []}\n", "gpus: 8\nddp: {bucket_cap: [[25MiB]]}\n", "gpus: [[8]]\n",
        "gpus: 8\nddp: [{bucket_cap: 25MiB}, {bukcet_cap: 25MiB}]\n", "gpus: 8\nnoise: {jitter: 5us}\n",
        "gpus: 8\nprecision: fp8\n"})
    files += " " + as_json_file(start + text, "bad-" + std::to_string(number++));
  EXPECT_EQ(validate(schemas()[0], files, "--invert"), 0);
}

}  // namespace
}  // namespace lockstep
