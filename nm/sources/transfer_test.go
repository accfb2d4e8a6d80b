package sources

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/nm/localizer"
)

// cut sends the first n bytes of an answer that says that it is longer, and breaks the connection.
func cut(t *testing.T, w http.ResponseWriter, head string, body string) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(buf, "%s\r\n\r\n%s", strings.ReplaceAll(head, "\n", "\r\n"), body)
	_ = buf.Flush()
}

// fetch reads a whole file.
func fetch(t *testing.T, address string) (string, error) {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := All(Options{Conf: c, Usual: memory{}}).Open(t.Context(), localizer.Reader{}, at(t, address))
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// Transfers that break off go on where they were, or fail. None leaves a part of a file as the whole.
func TestBrokenTransfers(t *testing.T) {
	whole := strings.Repeat("0123456789", 5000)
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256([]byte(whole))))
	asked := map[string]int{}
	full := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(whole))
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		first := asked[r.URL.Path] == 1
		half := whole[:len(whole)/2]
		ok := "HTTP/1.1 200 OK\nContent-Length: " + fmt.Sprint(len(whole))
		switch r.URL.Path {
		case "/resumed":
			if first {
				cut(t, w, ok+"\nETag: "+tag, half)
				return
			}
			full(w, r)
		case "/changed":
			if first {
				cut(t, w, ok+"\nETag: \"older\"", half)
				return
			}
			full(w, r)
		case "/unmarked":
			cut(t, w, ok, half)
		case "/weak":
			cut(t, w, ok+"\nETag: W/"+tag, half)
		case "/always":
			from := 0
			_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			status := "200 OK"
			if from > 0 {
				status = fmt.Sprintf("206 Partial Content\nContent-Range: bytes %d-%d/%d", from, len(whole)-1, len(whole))
			}
			cut(t, w, fmt.Sprintf("HTTP/1.1 %s\nContent-Length: %d\nETag: %s", status, len(whole)-from, tag), whole[from:from+5])
		case "/elsewhere":
			if first {
				cut(t, w, ok+"\nETag: "+tag, half)
				return
			}
			cut(t, w, "HTTP/1.1 206 Partial Content\nContent-Range: bytes 0-9/10\nContent-Length: 10", "0123456789")
		case "/chunks":
			cut(t, w, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked", "5\r\n01234\r\n")
		case "/endless":
			cut(t, w, "HTTP/1.0 200 OK", half)
		case "/whole":
			full(w, r)
		}
	}))
	defer s.Close()
	for path, want := range map[string]string{
		"/resumed": "", "/whole": "",
		"/changed": "from its beginning, or it has changed", "/unmarked": "broke off after 25000 of 50000 bytes", "/weak": "neither by ETag",
		"/always": "broke off after 20 of 50000 bytes", "/elsewhere": "instead of what is after 25000 bytes", "/chunks": "after 5 of an unknown number of bytes",
		"/endless": "neither a length nor chunks",
	} {
		got, err := fetch(t, s.URL+path)
		if want == "" && (err != nil || got != whole) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d bytes, %v; want %q", path, len(got), err, want)
		}
	}
	if asked["/always"] != 1+maxResumes {
		t.Errorf("%d requests for a file that always breaks off", asked["/always"])
	}
}

// Redirects are followed within a scheme, and ten of them.
func TestRedirects(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			return
		}
		if n == 0 {
			fmt.Fprint(w, "here")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusMovedPermanently)
	}))
	defer plain.Close()
	safe := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/0", http.StatusFound))
	defer safe.Close()
	if got, err := fetch(t, plain.URL+"/10"); err != nil || got != "here" {
		t.Errorf("%q, %v", got, err)
	}
	client := safe.Client()
	client.CheckRedirect = sameScheme
	_, err := Web{Client: client}.Open(t.Context(), localizer.Reader{}, at(t, safe.URL+"/x"))
	for name, got := range map[string]error{"more than 10 redirects": second(fetch(t, plain.URL+"/11")), "from http to file": second(fetch(t, plain.URL+"/away")), "from https to http": err} {
		if got == nil || !strings.Contains(got.Error(), name) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func second(_ string, err error) error { return err }

// A server that stops sending without closing its connection doesn't keep a container for ever.
func TestASilentServer(t *testing.T) {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "01234")
		w.(http.Flusher).Flush()
		<-over
	}))
	defer s.Close()
	defer close(over)
	r, err := Web{Client: s.Client()}.Open(t.Context(), localizer.Reader{}, at(t, s.URL+"/x"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.(*transfer).silence = 50 * time.Millisecond
	if b, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "sends nothing for 50ms") || string(b) != "01234" {
		t.Errorf("%q, %v", b, err)
	}
}
