package kerberostest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"heddle/internal/needs"
)

// clock has the C library tell another time.
const clock = `#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long ahead(void) { const char *s = getenv("AHEAD"); return s ? atol(s) : 0; }
int clock_gettime(clockid_t id, struct timespec *t) {
  int r = syscall(SYS_clock_gettime, id, t);
  if (r == 0 && id == CLOCK_REALTIME) t->tv_sec += ahead();
  return r;
}
time_t time(time_t *to) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (to) *to = t.tv_sec;
  return t.tv_sec;
}
int gettimeofday(struct timeval *to, void *zone) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  to->tv_sec = t.tv_sec;
  to->tv_usec = t.tv_nsec / 1000;
  return 0;
}
`

// StartKDCAhead is StartKDC with a clock that is ahead of this machine's, or behind it.
func StartKDCAhead(t testing.TB, life, ahead time.Duration) *KDC {
	t.Helper()
	needs.Program(t, "gcc")
	k := newKDC(t, "HEDDLE.TEST", life)
	source, library := filepath.Join(k.Dir, "clock.c"), filepath.Join(k.Dir, "clock.so")
	if err := os.WriteFile(source, []byte(clock), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	k.env = []string{"LD_PRELOAD=" + library, fmt.Sprintf("AHEAD=%d", int(ahead.Seconds()))}
	k.start(k.libraries() + k.realms())
	return k
}
