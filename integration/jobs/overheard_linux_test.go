package jobs

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// overheard is what is written after given prefixes in the packets of this machine's own network. Only root may listen there.
type overheard struct {
	mu    sync.Mutex
	words map[string]bool
}

// overhear listens for the words that begin with the prefixes: a prefix, and the digits, hyphens and underlines after it. It listens from its return on.
func overhear(t *testing.T, prefixes ...string) *overheard {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can listen to the machine's network")
	}
	all := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		t.Fatal(err)
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: lo.Index}); err != nil {
		t.Fatal(err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		t.Fatal(err)
	}
	o := &overheard{words: map[string]bool{}}
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1<<17)
		for !over.Load() {
			n, _, err := unix.Recvfrom(fd, b, 0)
			for _, p := range prefixes {
				if err == nil {
					o.note(b[:n], []byte(p))
				}
			}
		}
	}()
	t.Cleanup(func() {
		over.Store(true)
		<-done
		_ = unix.Close(fd)
	})
	return o
}

// note remembers the words of a packet that begin with the prefix.
func (o *overheard) note(packet, prefix []byte) {
	for i := bytes.Index(packet, prefix); i >= 0; i = bytes.Index(packet, prefix) {
		word := packet[i:]
		n := len(prefix)
		for n < len(word) && (word[n] >= '0' && word[n] <= '9' || word[n] == '-' || word[n] == '_') {
			n++
		}
		o.mu.Lock()
		o.words[string(word[:n])] = true
		o.mu.Unlock()
		packet = word[n:]
	}
}

// heard tells whether a word that begins with the text was heard.
func (o *overheard) heard(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.words {
		if strings.HasPrefix(w, text) {
			return true
		}
	}
	return false
}

// With privacy, or an encrypted shuffle, nobody who listens on the network learns what the processes of heddle mr tell each other, nor the outputs that workers serve. Without, they are
// signed alone.
func TestPrivateJobsAreNotOverheard(t *testing.T) {
	for i, x := range []struct {
		key, value string
		sealed     bool
	}{
		{"hadoop.rpc.protection", "authentication", false}, {"hadoop.rpc.protection", "privacy", true}, {"mapreduce.shuffle.ssl.enabled", "true", true},
	} {
		t.Run(x.key+" "+x.value, func(t *testing.T) {
			site := map[string]string{}
			if x.key == "hadoop.rpc.protection" {
				site[x.key] = x.value
			}
			c := startCluster(t, 1, 0, site, "127.0.0.11", "127.0.0.12")
			c.node(0)
			c.node(1)
			c.ready(2)
			word := fmt.Sprintf("overheard%d-%d", os.Getpid(), i)
			in := t.TempDir()
			for n := range 4 {
				text := strings.Repeat(strings.ToUpper(word)+"\n", 100)
				if err := os.WriteFile(filepath.Join(in, fmt.Sprint(n)), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			const report = `{"Worker":"container_`
			o := overhear(t, word, report) // before the job, which may be over before its id is known
			j := c.mr("-input", in, "-output", filepath.Join(c.dir, "out"), "-mapper", "tr A-Z a-z", "-reducer", "uniq -c", "-D", "mapreduce.job.reduces=2", "-D", x.key+"="+x.value)
			app := j.application()
			j.end()
			if got := c.output(filepath.Join(c.dir, "out")); strings.Fields(got)[0] != "400" {
				t.Errorf("%q", got)
			}
			for what, text := range map[string]string{"outputs": word, "messages": report + strings.TrimPrefix(app, "application_")} {
				if heard := o.heard(text); heard == x.sealed {
					t.Errorf("%s are heard: %v, want %v", what, heard, !x.sealed)
				}
			}
		})
	}
}
