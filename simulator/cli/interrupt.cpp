#include "simulator/cli/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "simulator/result/json.h"

namespace lockstep {
namespace {

// All that the handler reads, made before it can be called: in a handler nothing may be allocated.
std::array<char, 512> document = {};
std::size_t document_bytes = 0;
pid_t main_process = 0;
volatile std::sig_atomic_t document_begun = 0;

// Files are renamed into place when whole (output.cpp): at worst a `.part` beside one is left behind.
extern "C" void leave(int) {
  if (document_begun == 0 && getpid() == main_process)
    for (std::size_t at = 0; at < document_bytes;) {
      const ssize_t written = ::write(STDOUT_FILENO, document.data() + at, document_bytes - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
  ::_exit(kInterrupted);
}

}  // namespace

Error interrupted_error() {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = "interrupted";
  return error;
}

void document_begins() {
  document_begun = 1;
}

void leave_on_interrupt(Form form) {
  const std::string text = form == Form::Json ? errors_to_json({interrupted_error()}) : "";
  document_bytes = std::min(text.size(), document.size());
  std::copy_n(text.begin(), document_bytes, document.begin());
  main_process = getpid();
  std::signal(SIGINT, leave);
}

}  // namespace lockstep
