package part

import (
	"encoding/json"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// zeros is a log without an end, which counts what is read of it.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

func (z *zeros) Skip(int64) error { return nil }

func TestParts(t *testing.T) {
	const text = "first line\nsecond <b>LINE</b>\n\xff\xfe third\n"
	for _, x := range []struct {
		query, want, start string
		status             string
	}{
		{query: "start=0", want: text, start: "0"},
		{query: "start=6&end=10", want: "line", start: "6"},
		{query: "start=-6&end=-1", want: "third", start: "33"},
		{query: "start=-4096", want: text, start: "0"},
		{query: "start=4096", want: "", start: "39"},
		{query: "start=3&end=2", status: "Invalid start and end values. Start: [3], end[2]"},
		{query: "start=x", status: "start must be a number of bytes, from the end if it is negative, and not \"x\""},
		{query: "find=" + strings.Repeat("x", 201), status: "find has 201 bytes, and may have 200"},
		{query: "download=true", want: text, start: "0"},
		{query: "find=line", want: `{"matches":{"match":[{"at":0,"line":"first line"},{"at":11,"line":"second <b>LINE</b>"}],"next":-1}}`, start: "0"},
		{query: "find=third&start=20", want: `{"matches":{"match":[{"at":30,"line":"` + "\ufffd third" + `"}],"next":-1}}`, start: "20"},
	} {
		q, err := url.ParseQuery(x.query)
		if err != nil {
			t.Fatal(err)
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		want, ok, err := Parse(q)
		if err == nil && ok {
			err = Serve(w, r, want, Log{Name: "a\"b\n", Length: int64(len(text)), Growing: true, Content: strings.NewReader(text)})
		}
		if x.status != "" {
			if err == nil || !strings.Contains(err.Error(), x.status) {
				t.Errorf("%s: %v, want %s", x.query, err, x.status)
			}
			continue
		}
		h := w.Header()
		if got := w.Body.String(); err != nil || !ok || got != x.want || h.Get("Log-Start") != x.start || h.Get("Log-Length") != "39" || h.Get("Log-Growing") != "true" {
			t.Errorf("%s: %q %v %v", x.query, got, err, h)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: a browser may take it for something else than text: %v", x.query, h)
		}
		if name := h.Get("Content-Disposition"); want.Download != (name == `attachment; filename="a_b_"`) {
			t.Errorf("%s: %q", x.query, name)
		}
	}
	if _, ok, err := Parse(url.Values{"size": {"3"}}); ok || err != nil {
		t.Errorf("YARN's own parameter is taken for a part: %v", err)
	}
}

// A search of a log of 10 GB reads 64 MB and says where to continue; a log of one endless line, or of nothing but matches, costs no more.
func TestASearchIsBounded(t *testing.T) {
	z := &zeros{}
	w := httptest.NewRecorder()
	if err := Serve(w, httptest.NewRequest("GET", "/", nil), Wanted{Find: "x", whole: true, Start: 5}, Log{Length: 10 << 30, Content: z}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Matches struct {
			Match []struct{ At int64 }
			Next  int64
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Matches.Next != 5+maxScan || z.read > maxScan+lineBuffer {
		t.Errorf("%d bytes were read: %s %v", z.read, w.Body, err)
	}
	w = httptest.NewRecorder()
	many := strings.Repeat("x\n", 1000)
	if err := Serve(w, httptest.NewRequest("GET", "/", nil), Wanted{Find: "X", whole: true}, Log{Length: 2000, Content: io.LimitReader(strings.NewReader(many), 2000)}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Matches.Match) != maxMatches || got.Matches.Next != 2*maxMatches {
		t.Errorf("%s %v", w.Body, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("start=-1&end=9223372036854775807&find=a", "line\r\nLINE\xff")
	f.Add("start=-9223372036854775808&end=-9223372036854775808", "")
	f.Fuzz(func(t *testing.T, query, text string) {
		q, _ := url.ParseQuery(query)
		want, ok, err := Parse(q)
		if err != nil || !ok {
			return
		}
		w := httptest.NewRecorder()
		if Serve(w, httptest.NewRequest("GET", "/", nil), want, Log{Name: text, Length: int64(len(text)), Content: strings.NewReader(text)}) != nil {
			return
		}
		if want.Find == "" && !strings.Contains(text, w.Body.String()) {
			t.Errorf("%s of %q: %q", query, text, w.Body)
		}
	})
}
