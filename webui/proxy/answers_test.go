package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"heddle/yarn/rest"
)

// raw is an application that answers each request with the same bytes, and hangs up.
func raw(t *testing.T, answer string) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.WriteString(c, answer)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

// through asks for a page of such an application through the proxy, which a web server has behind the same layers as a ResourceManager's.
func through(t *testing.T, answer, method string) (*http.Response, error) {
	f := newFixture(raw(t, answer))
	t.Cleanup(f.proxy.Close)
	front := httptest.NewServer(rest.Headers(f.proxy))
	t.Cleanup(front.Close)
	req, err := http.NewRequest(method, front.URL+livePath+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := front.Client().Do(req)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

func TestAnAnswerThatWasCutOffIsNotPassedOnAsIfWhole(t *testing.T) {
	page := "<!doctype html><p>" + strings.Repeat("text ", 1000)
	for name, answer := range map[string]string{
		"in a chunk":                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nfour",
		"between chunks":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
		"by its length":              "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nfour",
		"a page in a chunk":          "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + page,
		"a page by its length":       "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n" + page,
		"a short page in a chunk":    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n<p>",
		"a short page by its length": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>",
		"a page of nothing":          "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n",
		"with a malformed chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := through(t, answer, "GET")
			if err != nil {
				return // nothing at all has come
			}
			if b, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the client gets %d %q, %v", resp.StatusCode, b, err)
			}
		})
	}
	for name, answer := range map[string]string{
		"chunks":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
		"length":       "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour",
		"end":          "HTTP/1.0 200 OK\r\n\r\nfour",
		"a short page": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nfour",
		"announced":    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour",
	} {
		t.Run("whole by "+name, func(t *testing.T) {
			resp, err := through(t, answer, "GET")
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(b), "four") {
				t.Errorf("the client gets %q, %v", b, err)
			}
		})
	}
	resp, err := through(t, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", "HEAD")
	if err != nil || resp.ContentLength != 8 {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestAStatusThatCannotBeHandedBackIsNotAnEmptyReply(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 000 None\r\n\r\n":                                          "HTTP status 000",
		"HTTP/1.1 099 Low\r\n\r\n":                                           "HTTP status 099",
		"HTTP/1.1 -12 Low\r\n\r\n":                                           "malformed HTTP status code",
		"HTTP/1.1 1000 High\r\n\r\n":                                         "malformed HTTP status code",
		"HTTP/1.1 2x0 OK\r\n\r\n":                                            "malformed HTTP status code",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":                           "HTTP status 101",
		"SSH-2.0-OpenSSH_9.6<script>\r\n":                                    "malformed HTTP response &#34;SSH-2.0-OpenSSH_9.6&lt;script&gt;",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n": "response headers exceeded",
		"": "EOF",
	} {
		resp, err := through(t, answer, "GET")
		if err != nil {
			t.Errorf("%.40q: %v", answer, err)
			continue
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(b), want) || len(b) > 2000 {
			t.Errorf("%.40q: %d %.2000s, %v", answer, resp.StatusCode, b, err)
		}
	}
	for _, status := range []string{"600", "999"} {
		if resp, err := through(t, "HTTP/1.1 "+status+" Odd\r\nContent-Length: 0\r\n\r\n", "GET"); err != nil || resp.Status[:3] != status {
			t.Errorf("%s: %v, %v", status, resp, err)
		}
	}
}
