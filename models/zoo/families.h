// The builders behind zoo.h, one file per family. Options are checked by zoo.cpp before they get here; a builder
// returns errors only for sizes that do not fit each other.
#pragma once

#include "models/builder.h"
#include "models/model.h"
#include "models/zoo/zoo.h"
#include "simulator/base/error.h"

namespace lockstep::zoo_detail {

// torchvision.models.resnet. `stem: cifar` replaces the 7x7 stride-2 convolution and the max pool by a 3x3 stride-1
// convolution, and sets the image to 32 and the classes to 10 unless they are given.
struct ResNetShape {
  bool bottleneck = false;
  std::vector<int> blocks;        // per stage
  std::int64_t groups = 1;        // ResNeXt
  std::int64_t group_width = 64;  // 128 for the wide ones
};
Expected<Model> resnet(const std::string& name, const ResNetShape& shape, const ModelOptions& options);

// torchvision.models.vgg: channel numbers, 0 for a max pool.
struct VggShape {
  std::vector<int> channels;
  bool batch_norm = false;
};
Expected<Model> vgg(const std::string& name, const VggShape& shape, const ModelOptions& options);

// torchvision's smaller convolutional networks.
Expected<Model> alexnet(const std::string& name, const ModelOptions& options);
Expected<Model> squeezenet(const std::string& name, const ModelOptions& options);
Expected<Model> mobilenet_v2(const std::string& name, const ModelOptions& options);
Expected<Model> mnasnet(const std::string& name, const ModelOptions& options);
Expected<Model> shufflenet_v2(const std::string& name, const ModelOptions& options);

// torchvision.models.densenet, growth 32; layers per block.
Expected<Model> densenet(const std::string& name, const std::vector<int>& layers, const ModelOptions& options);

// torchvision.models.inception_v3 as it is trained: the auxiliary classifier's loss is added to the main one.
Expected<Model> inception_v3(const std::string& name, const ModelOptions& options);

// torchvision.models.efficientnet: what the variants multiply channels and blocks by, and the dropout of the
// classifier.
struct EfficientNetShape {
  double width = 1, depth = 1, dropout = 0.2;
  std::int64_t image = 224;
};
Expected<Model> efficientnet(const std::string& name, const EfficientNetShape& shape, const ModelOptions& options);

// torchvision.models.vision_transformer, with its fused attention.
struct VitShape {
  std::int64_t patch, layers, heads, width, feed_forward;
};
Expected<Model> vit(const std::string& name, const VitShape& shape, const ModelOptions& options);

struct TransformerShape {
  std::int64_t layers, width, heads, feed_forward, vocabulary, positions;
};

// transformers.BertForMaskedLM with eager attention, an attention mask, and no pooler; decoder tied to the word
// embeddings; labels at every position.
Expected<Model> bert(const std::string& name, const TransformerShape& shape, const ModelOptions& options);

// transformers.GPT2LMHeadModel with eager attention; output layer tied to the token embeddings.
Expected<Model> gpt2(const std::string& name, const TransformerShape& shape, const ModelOptions& options);

// torch.nn.Sequential of Linear and ReLU, a Linear at the end: inputs 784, hidden [512, 512], outputs 10.
Expected<Model> mlp(const std::string& name, const ModelOptions& options);

// A plain pre-norm decoder: learned positions, causal eager attention with one fused projection to query, key and
// value, exact GELU as one kernel, biases everywhere but in the output layer, which is tied to the token embeddings; no
// dropout. Defaults: layers 12, width 768, heads 12, feed_forward 4 x width, vocabulary 50257, sequence 128.
Expected<Model> transformer(const std::string& name, const ModelOptions& options);

// Attention as its elementary ops, as in eager mode: products, scale, mask, softmax, dropout. torch.matmul copies the
// transposed views of query, key and value into contiguous tensors first. q, k, v: ops whose outputs hold [sequence,
// width] (or a Split that holds all three). Returns the context, [sequence, width].
struct AttentionShape {
  std::int64_t sequence, width, heads;
  double dropout = 0;
  std::string dropout_name;
};
OpId eager_attention(ModelBuilder& builder, OpId q, OpId k, OpId v, const AttentionShape& shape);

// The image option, or an error where the network's windows leave nothing of it.
Expected<std::int64_t> image_of(const ModelOptions& options, std::int64_t otherwise, std::int64_t smallest);

Error option_error(ErrorKind kind, const std::string& option, std::string found, std::string allowed,
                   std::string message, std::string hint = "");

}  // namespace lockstep::zoo_detail
