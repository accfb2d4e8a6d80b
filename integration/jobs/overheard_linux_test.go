package jobs

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// overheard counts the packets on this machine's own network in which texts stand. Only root may listen there.
type overheard struct {
	texts [][]byte
	seen  []atomic.Int64
}

func overhear(t *testing.T, texts ...string) *overheard {
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
	o := &overheard{seen: make([]atomic.Int64, len(texts))}
	for _, text := range texts {
		o.texts = append(o.texts, []byte(text))
	}
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1<<17)
		for !over.Load() {
			n, _, err := unix.Recvfrom(fd, b, 0)
			for i := range o.texts {
				if err == nil && bytes.Contains(b[:n], o.texts[i]) {
					o.seen[i].Add(1)
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
			j := c.mr("-input", in, "-output", filepath.Join(c.dir, "out"), "-mapper", "tr A-Z a-z", "-reducer", "uniq -c", "-D", "mapreduce.job.reduces=2", "-D", x.key+"="+x.value)
			o := overhear(t, word, `{"Worker":"container_`+strings.TrimPrefix(j.application(), "application_"))
			j.end()
			if got := c.output(filepath.Join(c.dir, "out")); strings.Fields(got)[0] != "400" {
				t.Errorf("%q", got)
			}
			for k, what := range []string{"outputs", "messages"} {
				if heard := o.seen[k].Load() > 0; heard == x.sealed {
					t.Errorf("%s are heard: %v", what, heard)
				}
			}
		})
	}
}
