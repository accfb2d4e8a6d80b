package rest_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/rest"
	"heddle/yarn/rest/port"
)

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

// serveAPI serves an API over pipes, with a megabyte of memory.
func serveAPI(t *testing.T, handle func(*rest.API)) (dial func() net.Conn) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	api := rest.NewAPI(logrus.NewEntry(log))
	api.SetMemory(8 << 20)
	handle(api)
	s, l := port.New(api, port.MaxHeader, nil), make(pipes)
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

// Clients that don't read a large listing give way after a few seconds to one that does.
func TestReadersThatStopMakeRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serveAPI(t, func(a *rest.API) {
			a.Handle("/apps", rest.Methods{"GET": {Handle: func(*rest.Call) (rest.Reply, error) {
				return rest.Say(http.StatusOK, "%s", strings.Repeat("x", 1<<20)), nil
			}}})
		})
		const request = "GET /apps HTTP/1.1\r\nHost: rm\r\nConnection: close\r\n\r\n"
		for range 100 {
			c := dial()
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		synctest.Wait()
		time.Sleep(time.Second) // of a clock that is the test's own: the others came before
		start := time.Now()
		c := dial()
		_, _ = io.WriteString(c, request)
		answer, err := io.ReadAll(c)
		if err != nil || len(answer) < 1<<20 {
			t.Errorf("%d bytes, %v", len(answer), err)
		}
		if d := time.Since(start); d > 5*time.Minute {
			t.Errorf("after %v", d)
		}
	})
}

// So do those who never finish the body that they send.
func TestSendersThatStopMakeRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int64
		dial := serveAPI(t, func(a *rest.API) {
			a.Handle("/apps", rest.Methods{"POST": {Takes: []string{"text/plain"}, Handle: func(c *rest.Call) (rest.Reply, error) {
				b, err := c.Body()
				read.Add(int64(len(b)))
				return rest.Say(http.StatusOK, "read"), err
			}}})
		})
		send := func(c net.Conn, n, of int) {
			_, _ = fmt.Fprintf(c, "POST /apps HTTP/1.1\r\nHost: rm\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", of)
			_, _ = c.Write(make([]byte, n))
		}
		for range 10 {
			c := dial()
			go send(c, 1<<20, 1<<20+1)
			defer c.Close()
		}
		synctest.Wait()
		time.Sleep(time.Second) // of a clock that is the test's own: the others came before
		start := time.Now()
		c := dial()
		go send(c, 1<<20, 1<<20)
		answer, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(answer), "200 OK") || read.Load() != 1<<20 {
			t.Errorf("%q, %v; %d bytes were read", answer, err, read.Load())
		}
		if d := time.Since(start); d > time.Minute { // each of the ten others may hold what it needs for five seconds
			t.Errorf("after %v", d)
		}
	})
}
