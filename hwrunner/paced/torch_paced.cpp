#include "hwrunner/paced/torch_paced.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

namespace lockstep {
namespace {

// A link of a chain through all parameters. Backward: waits until the parameter's gradient is final, then hands one
// over. A function for each parameter, because the engine promises an order only between functions. All values of a
// gradient are 1 + the rank, so that a mean over ranks shows that it is one.
class PacedGradient : public torch::autograd::Function<PacedGradient> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& chain,
                            const at::Tensor& parameter, Pace* pace, std::int64_t id) {
    context->save_for_backward({parameter});
    context->saved_data["pace"] = reinterpret_cast<std::int64_t>(pace);
    context->saved_data["id"] = id;
    return chain.clone();
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    auto* pace = reinterpret_cast<Pace*>(context->saved_data["pace"].toInt());
    pace->gradient(static_cast<ParameterId>(context->saved_data["id"].toInt()));
    const at::Tensor gradient = at::empty_like(context->get_saved_variables().front()).fill_(1 + pace->rank());
    return {gradients.front(), gradient, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

PacedModule::PacedModule(std::shared_ptr<const Model> model, std::shared_ptr<Pace> pace)
    : OpModule(std::move(model), std::make_shared<const std::vector<OpPlan>>()),
      pace_(std::move(pace)),
      gradient_order_(pace_->gradients_in_order()) {}

std::vector<at::Tensor> PacedModule::outputs(const at::Tensor&, const Observer&) {
  const std::size_t ops = model().ops.size();
  for (std::size_t i = 0; i < ops; ++i)
    if (model().ops[i].kind != OpKind::CrossEntropy) pace_->forward(i);
  at::Tensor chain = at::zeros({1});
  for (auto id = gradient_order_.rbegin(); id != gradient_order_.rend(); ++id) {
    const auto at = static_cast<std::size_t>(*id);
    chain = PacedGradient::apply(chain, parameters_in_order()[at], pace_.get(), static_cast<std::int64_t>(at));
  }
  return {chain};
}

at::Tensor PacedModule::loss(const std::vector<at::Tensor>& outputs, const at::Tensor&) {
  for (std::size_t i = 0; i < model().ops.size(); ++i)
    if (model().ops[i].kind == OpKind::CrossEntropy) pace_->forward(i);
  return outputs.front();
}

}  // namespace lockstep
