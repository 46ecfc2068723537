// From LibTorch's exceptions to Errors: none crosses a public header of the runner. Includes LibTorch.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>

#include "simulator/base/error.h"

namespace lockstep {

// The first lines of what an exception says, without LibTorch's backtrace.
inline std::string message_of(const std::exception& exception) {
  const auto* own = dynamic_cast<const c10::Error*>(&exception);
  std::string text = own != nullptr ? own->what_without_backtrace() : exception.what();
  for (const char* end : {"\nException raised", "\nC++ CapturedTraceback"}) text = text.substr(0, text.find(end));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Calls f(), which gives an Expected; an exception becomes an Error of kind RunFailed that begins with `what`.
template <class F>
auto guarded(const std::string& what, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& exception) {  // Gloo's are no c10::Error
    Error error;
    error.kind = ErrorKind::RunFailed;
    error.message = what + ": " + message_of(exception);
    return tl::make_unexpected(Errors{error});
  }
}

}  // namespace lockstep
