package cable

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/needs"
)

// Cable has an end in the network of the test's thread, and one in another network.
type Cable struct {
	ip, name string
}

// Lay lays a cable with a name of at most 15 bytes, that no other test uses at the same time, and an address in a network of four at each end. It runs far on a thread at the
// other end, whose error comes when far has ended. The test stays on its thread, and is skipped without root.
func Lay(t *testing.T, name, here, there string, far func() error) (c *Cable, ended <-chan error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make networks")
	}
	c = &Cable{needs.Program(t, "ip"), name}
	_ = c.run("link", "del", name)                       // a test that was killed may have left it
	t.Cleanup(func() { _ = c.run("link", "del", name) }) // sockets may keep it for a while
	runtime.LockOSThread()                               // whose network the cable leads to
	t.Cleanup(runtime.UnlockOSThread)
	home := fmt.Sprint(unix.Gettid())
	laid, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it isn't given back: the thread ends, and its network with it
		err := unix.Unshare(unix.CLONE_NEWNET)
		for _, args := range [][]string{
			{"link", "add", "there", "type", "veth", "peer", "name", name, "netns", home},
			{"addr", "add", there + "/30", "dev", "there"},
			{"link", "set", "there", "up"},
		} {
			if err == nil {
				err = c.run(args...)
			}
		}
		if laid <- err; err == nil {
			done <- far()
		}
	}()
	err := <-laid
	for _, args := range [][]string{{"addr", "add", here + "/30", "dev", name}, {"link", "set", name, "up"}} {
		if err == nil {
			err = c.run(args...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, done
}

// Cut lets nothing through any more.
func (c *Cable) Cut(t testing.TB) {
	t.Helper()
	if err := c.run("link", "set", c.name, "down"); err != nil {
		t.Fatal(err)
	}
}

func (c *Cable) run(args ...string) error {
	if out, err := exec.Command(c.ip, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", args, err, out)
	}
	return nil
}
