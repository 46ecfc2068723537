#include "simulator/cli/result_form.h"

#include "simulator/result/csv.h"
#include "simulator/result/json.h"

namespace lockstep {

std::string result_in_form(const Result& result, Form form, const std::function<std::string()>& as_text) {
  switch (form) {
    case Form::Json:
      return result_to_json(result);
    case Form::Csv:
      return result_to_csv(result);
    case Form::JsonLines:
      return R"({"type":"result",)" + result_to_json(result, JsonLayout::OneLine).substr(1);
    case Form::Text:
      break;
  }
  return as_text();
}

}  // namespace lockstep
