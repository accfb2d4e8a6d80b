package shuffle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzReadRequest(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.request")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("GET /?map=a,b,,&reduce=%41;job=x#y HTTP/1.0\nContent-Length: 3\n\nabcGET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := newTestReader(data)
		for range 1000 {
			r, err := readRequest(in)
			if err != nil {
				return
			}
			if len(r.method)+len(r.uri) > maxHead {
				t.Errorf("a head of %d bytes was taken", len(r.uri))
			}
			if q, err := parseQuery(r.uri); err == nil {
				for _, m := range q.maps {
					if validAttempt(m) && (strings.ContainsAny(m, "/\x00") || m == "." || m == "..") {
						t.Errorf("%q is taken for an attempt", m)
					}
				}
			}
			if !r.skipBody(in) {
				return
			}
		}
	})
}
