// Ctrl-C: the program leaves with exit code 130, with `--json` after the one document that this form promises.
#pragma once

#include "simulator/base/error.h"
#include "simulator/cli/output.h"

namespace lockstep {

// From here on SIGINT ends this process (not the children that simulate, which die of it).
void leave_on_interrupt(Form form);

// Standard output holds the beginning of a document: no second one is begun any more.
void document_begins();

// What that document says: kind run_failed.
Error interrupted_error();

}  // namespace lockstep
