// The built-in models by name. Names are torchvision's and Hugging Face's with `-` for `_`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "simulator/base/error.h"

namespace lockstep {

// Options of a zoo model as they stand in a scenario's `model` map. Unset = the model's default.
struct ModelOptions {
  std::optional<std::int64_t> image;     // square input, pixels (vision; 224, inception 299)
  std::optional<std::int64_t> classes;   // 1000
  std::optional<std::string> stem;       // "imagenet" | "cifar" (ResNet family: 3x3 stride 1, no max pool)
  std::optional<std::int64_t> sequence;  // tokens (language models; 128)
  // mlp
  std::optional<std::int64_t> inputs, outputs;
  std::vector<std::int64_t> hidden;
  // transformer
  std::optional<std::int64_t> layers, width, heads, feed_forward, vocabulary;

  bool operator==(const ModelOptions&) const = default;
};

struct ZooEntry {
  std::string name;
  std::string summary;               // one line for `lockstep list models`
  std::vector<std::string> options;  // names of the ModelOptions that it takes
};

const std::vector<ZooEntry>& zoo();  // alphabetical

// Errors: unknown name (with the nearest), option that the model does not take, size out of range. `key` of an error is
// "model.name", "model.image", ...; file and line are the caller's to fill.
Expected<Model> build_zoo_model(const std::string& name, const ModelOptions& options);

}  // namespace lockstep
