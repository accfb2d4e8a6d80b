package pool

import (
	"context"
	"fmt"
	"testing"
	"time"

	engine "heddle/am/executor"
	"heddle/internal/await"
	"heddle/internal/cable"
	"heddle/yarn/wire"
)

// A cable that is pulled tells nobody. Both sides notice it by the kernel's count of what isn't acknowledged, long before they would by silence;
// the task runs again elsewhere, and its result comes once.
func TestACutNetworkIsNoticed(t *testing.T) {
	const here, there = "10.231.77.1", "10.231.77.2"
	secret := wire.NewSecret()
	p, err := New(Options{Secret: secret, Listen: "0.0.0.0:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	b := &bench{p, t, secret}
	connected := make(chan struct{})
	link, served := cable.Lay(t, "heddle-cut", here, there, func() error {
		<-connected
		c, err := wire.Dial(context.Background(), fmt.Sprintf("%s:%d", here, b.Port()), nil, secret)
		if err != nil {
			return err
		}
		defer c.Close()
		e := engine.NewEngine(nil)
		defer e.Close()
		_ = engine.Serve(context.Background(), c, wire.Hello{Container: "there", Slots: 1}, e) // it ends with the connection
		return nil
	})
	close(connected)
	await.Until(t, "the executor", func() bool { return b.State().Executors == 1 })
	restarts := 0
	task := &Task{Task: wire.Task{What: wire.Nothing, TimeoutMS: 60_000}, Restart: func() { restarts++ }}
	done := b.run(task)
	await.Until(t, "the task", func() bool { return b.State().Running == 1 })

	began := time.Now()
	link.Cut(t)
	await.Until(t, "the pool's word of the loss", func() bool { return b.State().Executors == 0 })
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > wire.Silence/2 {
		t.Errorf("it took %v, not about %v", took, wire.Unacknowledged)
	}
	again := b.dial(&wire.Hello{Container: "here", Slots: 1})
	m := next[*wire.Task](b, again)
	if err := again.Send(&wire.Ended{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || restarts != 1 || len(done) > 0 {
		t.Errorf("%+v after %d restarts", r, restarts)
	}
}
