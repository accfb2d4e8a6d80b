package rm

import (
	"net"
	"testing"

	"heddle/internal/await"
	"heddle/internal/connections"
)

// Idle connections at one port take neither the log's descriptors nor others' ports.
func TestIdleConnectionsAreBounded(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 1)
	c.Set(connections.PerPortKey, "20")
	m := startOne(t, c, 0)
	defer m.halt(t)
	closed := make(chan struct{}, 50)
	for range 50 {
		idle, err := net.Dial("tcp", m.Addr(MasterAddress).String())
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
		go func() {
			_, _ = idle.Read(make([]byte, 1))
			closed <- struct{}{}
		}()
	}
	await.Until(t, "thirty are closed", func() bool { return len(closed) == 30 })
	newWorld(t, []*member{m}).submit("alice")
}
