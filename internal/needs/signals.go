package needs

import (
	"os"
	"os/signal"
	"testing"
)

// Signals has the programs that a test starts take signals, also if whoever started the test ignores them: nohup ignores SIGHUP, and a shell's
// background SIGINT.
func Signals(t testing.TB, of ...os.Signal) {
	ignored := make(chan os.Signal, 1) // what is handled here isn't ignored by a program that is started
	signal.Notify(ignored, of...)
	t.Cleanup(func() { signal.Stop(ignored) })
}
