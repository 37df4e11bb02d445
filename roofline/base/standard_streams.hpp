// stdin, stdout and stderr as a shell may have left them.
#pragma once

namespace roofline {

/// A file that is opened later must become none of the three, nor a started program's.
void open_closed_streams();

/// What was printed has to arrive: `… >file` on a full disk must not look well. Throws BadInput
/// with the system's reason.
void check_stdout();

}  // namespace roofline
