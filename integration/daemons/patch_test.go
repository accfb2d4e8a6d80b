package daemons

import (
	"bufio"
	"io"
	"net"
	"testing"
)

// Members say who they are in JSON; the switch took that for a name, and let what a member that was cut off had to say pass.
func TestMemberThatIsCutOffReachesNobody(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	go func() {
		for {
			c, err := target.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until the switch closes it
			}()
		}
	}()
	p := newPatch()
	defer p.close()
	const at = "127.0.0.1:0"
	if err := p.listen("", "rm1", at, target.Addr().String()); err != nil {
		t.Fatal(err)
	}
	greetings := []string{`heddle-raft 2 {"cluster":"a b","group":"g","from":"rm2","to":"rm1"}` + "\n", "heddle-raft 1 a b rm2\n"}
	// reaches reports whether a line comes to the member, who sends it back.
	reaches := func(c *bufio.ReadWriter, line string) bool {
		_, _ = c.WriteString(line)
		_ = c.Flush() // fails where the connection is closed
		echo, _ := c.ReadString('\n')
		return echo == line
	}
	dial := func() *bufio.ReadWriter {
		t.Helper()
		c, err := net.Dial("tcp", p.listeners[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))
	}
	for _, g := range greetings {
		open := dial()
		if !reaches(open, g) {
			t.Fatalf("not carried: %s", g)
		}
		p.isolate("rm2")
		if reaches(open, "an entry\n") {
			t.Errorf("a connection lives on: %s", g)
		}
		if reaches(dial(), g) {
			t.Errorf("carried, though its member is cut off: %s", g)
		}
		p.join("rm2")
		if !reaches(dial(), g) {
			t.Errorf("not carried any more: %s", g)
		}
	}
	if reaches(dial(), "nonsense rm2\n") {
		t.Error("a connection of nobody knows whom is carried")
	}
}
