package auth

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/yarn/rest/port"
)

// Tickets of 1 MiB and 100 MiB, and small ones that claim to be as large, are refused on a web port, and take no memory for that.
func TestTicketsOfEnormousSize(t *testing.T) {
	server := port.New(securedFilter(t, &fakeTokens{}), 64<<10, log.New(io.Discard, "", 0))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	defer func() {
		_ = server.Close()
		<-done
	}()
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	claims := func(length string, rest int) string {
		return base64.StdEncoding.EncodeToString(append([]byte("\x60\x84"+length), bytes.Repeat([]byte{0}, rest)...))
	}
	before := held()
	for name, x := range map[string]struct {
		ticket string
		want   []string // one of them; "" is the end of the connection
	}{
		"1 MiB":          {strings.Repeat("A", 1<<20), []string{"431", ""}},
		"100 MiB":        {strings.Repeat("A", 100<<20), []string{"431", ""}},
		"claims 1 MiB":   {claims("\x00\x10\x00\x00", 100), []string{"401", "403"}},
		"claims 100 MiB": {claims("\x06\x40\x00\x00", 40<<10), []string{"401", "403"}},
		"claims 4 GiB":   {claims("\xff\xff\xff\xff", 40<<10), []string{"401", "403"}},
	} {
		for range 5 {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			go func() {
				_, _ = fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Negotiate ")
				_, _ = io.WriteString(c, x.ticket)
				_, _ = fmt.Fprint(c, "\r\n\r\n")
			}()
			b, _ := io.ReadAll(io.LimitReader(c, 1<<20)) // the server may end a connection from which it hasn't read all
			_ = c.Close()
			status := ""
			if parts := strings.SplitN(string(b), " ", 3); len(parts) == 3 {
				status = parts[1]
			}
			good := false
			for _, want := range x.want {
				good = good || status == want
			}
			if !good {
				t.Errorf("%s: status %q, want one of %q", name, status, x.want)
			}
		}
	}
	if more := held() - before; more > 16<<20 {
		t.Errorf("the server holds %d MiB more", more>>20)
	}
}
