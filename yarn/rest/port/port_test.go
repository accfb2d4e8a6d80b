package port_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarn/rest/port"
)

// pipes is a listener whose connections are pipes, so that their time is a bubble's.
type pipes chan net.Conn

func (l pipes) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipes) Close() error   { return nil }
func (l pipes) Addr() net.Addr { return &net.TCPAddr{} }

func serve(t *testing.T, h http.HandlerFunc) (dial func() net.Conn) {
	s, l := port.New(h, port.MaxHeader, nil), make(pipes)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		close(l)
		_ = s.Close()
		<-done
	})
	return func() net.Conn {
		client, server := net.Pipe()
		l <- server
		return client
	}
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := c.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestClientThatDoesNotReadItsAnswerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		dial := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 10<<20))
			failed <- err
		})
		c := dial()
		start := time.Now()
		send(t, c, "GET / HTTP/1.1\r\nHost: rm\r\n\r\n")
		if err := <-failed; err == nil || time.Since(start) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		_ = c.Close()
	})
}

// A download goes on as long as it moves, and takes hours if it must.
func TestSlowDownloadIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := bytes.Repeat([]byte("line\n"), 1<<20)
		dial := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(log) })
		c := dial()
		send(t, c, "GET / HTTP/1.1\r\nHost: rm\r\nConnection: close\r\n\r\n")
		start := time.Now()
		got, b := 0, make([]byte, 32<<10)
		for {
			n, err := c.Read(b)
			got += n
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("after %d bytes and %v: %v", got, time.Since(start), err)
			}
			time.Sleep(20 * time.Second)
		}
		if got < len(log) || time.Since(start) < 30*time.Minute {
			t.Errorf("%d bytes of %d in %v", got, len(log), time.Since(start))
		}
	})
}

func TestBodyThatStopsComingIsDropped(t *testing.T) {
	for name, read := range map[string]bool{"read": true, "not read": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if read {
						if _, err := io.Copy(io.Discard, r.Body); err == nil {
							t.Error("the body was read")
						}
					}
				})
				c := dial()
				start := time.Now()
				send(t, c, "PUT / HTTP/1.1\r\nHost: rm\r\nContent-Length: 1000\r\n\r\nabc")
				_, _ = io.Copy(io.Discard, c)
				if d := time.Since(start); d < 30*time.Second || d > 2*time.Minute {
					t.Errorf("the connection ended after %v", d)
				}
			})
		})
	}
}

// A handler that takes its time isn't cut off once the body is read.
func TestSlowHandlerIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(time.Hour)
			if err := r.Context().Err(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "done")
		})
		c := dial()
		send(t, c, "PUT / HTTP/1.1\r\nHost: rm\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
		answer, err := io.ReadAll(c)
		if err != nil || !bytes.HasSuffix(answer, []byte("done")) {
			t.Errorf("got %q, %v", answer, err)
		}
	})
}

// kernel is a connection that can send files by itself, and notes what it was given and until when.
type kernel struct {
	net.Conn
	sent      []int64
	deadlines []time.Time
}

func (k *kernel) SetWriteDeadline(t time.Time) error {
	k.deadlines = append(k.deadlines, t)
	return k.Conn.SetWriteDeadline(t)
}

func (k *kernel) ReadFrom(r io.Reader) (int64, error) {
	if _, ok := r.(*io.LimitedReader).R.(*os.File); !ok {
		return 0, errors.New("the kernel sends files only")
	}
	n, err := io.Copy(struct{ io.Writer }{k.Conn}, r)
	k.sent = append(k.sent, n)
	return n, err
}

// A download of a file went through this process's memory, as the connection hid that it can do without.
func TestFilesAreSentByTheKernelAPieceAtATime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789abcdef"), 10<<10)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	k := &kernel{Conn: server}
	l := make(pipes, 1)
	l <- k
	s := port.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Length", strconv.Itoa(len(want)))
		_, _ = io.CopyN(w, f, int64(len(want)))
	}), port.MaxHeader, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	send(t, client, "GET / HTTP/1.1\r\nHost: rm\r\nConnection: close\r\n\r\n")
	got, err := io.ReadAll(client)
	close(l)
	_ = s.Close()
	<-done
	if _, body, _ := bytes.Cut(got, []byte("\r\n\r\n")); err != nil || !bytes.Equal(body, want) {
		t.Fatalf("%d bytes instead of %d, %v", len(body), len(want), err)
	}
	var total int64
	for _, n := range k.sent {
		total += n
		if n > 64<<10 {
			t.Errorf("%d bytes under one deadline", n)
		}
	}
	if total == 0 || len(k.deadlines) < len(k.sent) {
		t.Errorf("the kernel sent %d bytes; %d deadlines for %d pieces", total, len(k.deadlines), len(k.sent))
	}
}
