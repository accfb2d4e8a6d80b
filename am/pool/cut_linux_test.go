package pool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	engine "heddle/am/executor"
	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/yarn/wire"
)

// elsewhere runs f on a thread in a network of its own, which a cable connects with that of the caller's thread.
func elsewhere(t *testing.T, ip string, f func() error) <-chan error {
	home := fmt.Sprint(unix.Gettid())
	ready, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it isn't given back: the thread ends, and its network with it
		err := unix.Unshare(unix.CLONE_NEWNET)
		for _, args := range [][]string{
			{"link", "add", "there", "type", "veth", "peer", "name", cable, "netns", home},
			{"addr", "add", there + "/30", "dev", "there"},
			{"link", "set", "there", "up"},
		} {
			if err == nil {
				var out []byte
				if out, err = exec.Command(ip, args...).CombinedOutput(); err != nil {
					err = fmt.Errorf("ip %q: %w: %s", args, err, out)
				}
			}
		}
		if ready <- err; err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	return done
}

const (
	cable       = "heddle-cut"
	here, there = "10.231.77.1", "10.231.77.2"
)

// A cable that is pulled tells nobody. Both sides notice it by the kernel's count of what isn't acknowledged, long before they would by silence;
// the task runs again elsewhere, and its result comes once.
func TestACutNetworkIsNoticed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make networks")
	}
	ip := needs.Program(t, "ip")
	_ = exec.Command(ip, "link", "del", cable).Run() // a test that was killed may have left it
	runtime.LockOSThread()                           // whose network the cable leads to
	defer runtime.UnlockOSThread()
	secret := wire.NewSecret()
	p, err := New(Options{Secret: secret, Listen: "0.0.0.0:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	b := &bench{p, t, secret}
	connected := make(chan struct{})
	served := elsewhere(t, ip, func() error {
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
	for _, args := range [][]string{{"addr", "add", here + "/30", "dev", cable}, {"link", "set", cable, "up"}} {
		if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %q: %v: %s", args, err, out)
		}
	}
	close(connected)
	await.Until(t, "the executor", func() bool { return b.State().Executors == 1 })
	restarts := 0
	task := &Task{Task: wire.Task{What: wire.Nothing, TimeoutMS: 60_000}, Restart: func() { restarts++ }}
	done := b.run(task)
	await.Until(t, "the task", func() bool { return b.State().Running == 1 })

	began := time.Now()
	if out, err := exec.Command(ip, "link", "set", cable, "down").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
