// Stands beside the made-up CUPTI as the half that knows metrics, and says that it was opened.
#include <stdlib.h>

__attribute__((constructor)) static void opened(void) { setenv("FAKE_NVPERF", "opened", 1); }
