package sockets

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
)

// TestMain is also the process with connections: it connects to an address, and then sends each line that it reads.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "connect" {
		c, err := net.Dial("tcp", os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("connected")
		_, _ = io.Copy(c, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestARealConnection looks at one of another process with this one.
func TestARealConnection(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	child := exec.Command(os.Args[0], "connect", l.Addr().String())
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	one := func(what string, list []Connection, err error) Connection {
		t.Helper()
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %+v, %v", what, list, err)
		}
		return list[0]
	}
	list, err := Find([]int{child.Process.Pid})
	c := one("at first", list, err)
	if c.Sent != 0 || c.Received != 0 || c.Remote.Port() != uint16(l.Addr().(*net.TCPAddr).Port) {
		t.Errorf("%+v", c)
	}
	if _, err := io.WriteString(in, "heartbeat\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(ours, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(ours, "answer"); err != nil { // which nobody reads
		t.Fatal(err)
	}
	now, err := Look(list)
	after := one("later", now, err)
	if after.ID != c.ID || after.Sent != 10 || after.Received != 6 || after.Unread != 6 {
		t.Errorf("%+v, before %+v", after, c)
	}
	if inside, err := Find([]int{child.Process.Pid, os.Getpid()}); err != nil || len(inside) != 0 {
		t.Errorf("both ends are in the group: %+v, %v", inside, err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if gone, err := Find([]int{child.Process.Pid}); err != nil || len(gone) != 0 {
		t.Errorf("of one that has ended: %+v, %v", gone, err)
	}
	if now, err := Look(list); err != nil || len(now) != 0 {
		t.Errorf("closed: %+v, %v", now, err)
	}
}
