package needs

import (
	"os"
	"os/signal"
	"testing"
)

// Signals makes the programs that a test starts take signals, also if the starter of the test ignores them: nohup ignores SIGHUP, and a
// shell's background SIGINT.
func Signals(t testing.TB, of ...os.Signal) {
	ignored := make(chan os.Signal, 1) // a started program doesn't ignore signals that are handled here
	signal.Notify(ignored, of...)
	t.Cleanup(func() { signal.Stop(ignored) })
}
