package listen

import (
	"strings"
	"testing"
)

// "bind: address already in use" named the key, and not what to do.
func TestErrorsSayHowToMendThem(t *testing.T) {
	l, err := TCP("127.0.0.1:0", "first")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for address, want := range map[string]string{
		l.Addr().String(): "set second to another port",
		"192.0.2.1:0":     "this machine has no such address",
		"127.0.0.1:70000": "second: listen tcp",
	} {
		if l, err := TCP(address, "second"); err == nil {
			l.Close()
			t.Errorf("%s: it listens", address)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
