// Package greeting is what heddle standalone says first.
package greeting

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Print tells a newcomer in three lines where the pages are, how to run something, and how to open the cluster to others. folder is the
// configuration folder, "" for none; scheme is that of the web port.
func Print(out io.Writer, folder, scheme string, web net.Addr) {
	at, open := web.String(), "Only this machine reaches it. With a configuration folder others do: docs/deployment.md"
	if tcp, ok := web.(*net.TCPAddr); ok {
		host := tcp.IP.String()
		switch {
		case tcp.IP.IsLoopback():
			host = "localhost"
		case tcp.IP.IsUnspecified():
			if name, err := os.Hostname(); err == nil {
				host = name
			}
		}
		at = net.JoinHostPort(host, fmt.Sprint(tcp.Port))
		if !tcp.IP.IsLoopback() {
			open = "Other machines reach it. Rights of callers: docs/security.md"
		}
	}
	with := ""
	if folder != "" {
		with = "HADOOP_CONF_DIR=" + folder + " "
	}
	_, _ = fmt.Fprintf(out, "Heddle runs: %s://%s/cluster shows it, Ctrl-C ends it.\nA first job, in another terminal: seq 3 | %sheddle xargs -n 1 echo hello\n%s\n", scheme, at, with, open)
}

// Held keeps back what is written until it is released.
type Held struct {
	To io.Writer

	mu   sync.Mutex
	kept []byte
	free bool
}

// Write implements io.Writer.
func (h *Held) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.free {
		return h.To.Write(b)
	}
	h.kept = append(h.kept, b...)
	return len(b), nil
}

// Release writes what was kept, and keeps nothing from then on.
func (h *Held) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.free && len(h.kept) > 0 {
		_, _ = h.To.Write(h.kept) // the log's reader is gone
	}
	h.free, h.kept = true, nil
}
