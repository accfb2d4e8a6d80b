package ifile

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// What Hadoop 3.4.2 wrote is written again, byte by byte.
func TestWriterIsStock(t *testing.T) {
	stock := sample(t, "stock-none.ifile")
	old, err := NewReader(bytes.NewReader(stock), int64(len(stock)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, Info{
		App: "application_1_0001", Owner: "alice", ACLs: old.ACLs, Node: "host.example.com:8041", Name: "host.example.com_8041",
		Uploaded: 0x1a1fe6ff9b6, Compression: None,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range old.Logs {
		r, err := old.Open(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Log(l.Container, l.Name, l.Size, l.ModTime, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), stock) {
		t.Errorf("got\n%q\nwant\n%q", b.Bytes(), stock)
	}
}

func TestWriterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := Info{App: "application_1_0002", Owner: "bob", Node: "h:1", Name: "h_1", Compression: rapid.SampledFrom([]string{None, GZ}).Draw(t, "compression")}
		var b bytes.Buffer
		w, err := NewWriter(&b, info)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, c := range rapid.SliceOfNDistinct(rapid.StringMatching(`container_1_0002_01_0000[0-9]{2}`), 0, 20, rapid.ID).Draw(t, "containers") {
			for _, name := range rapid.SliceOfNDistinct(rapid.String(), 0, 3, rapid.ID).Draw(t, "names") {
				content := rapid.StringN(0, 100, -1).Draw(t, "content")
				if err := w.Log(c, name, int64(len(content)), 7, strings.NewReader(content+"more")); err != nil {
					t.Fatal(err)
				}
				want = append(want, c+"/"+name+":"+strconv.Itoa(len(content))+" "+content)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := read(b.Bytes())
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v\nwant %q", got, err, want)
		}
	})
}

func TestWriterGoesOnAfterABrokenLog(t *testing.T) {
	for _, compression := range []string{None, GZ} {
		var b bytes.Buffer
		w, err := NewWriter(&b, Info{App: "a", Compression: compression})
		if err != nil {
			t.Fatal(err)
		}
		broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("bad disk")))
		var re ReadError
		if err := w.Log("c", "one", 100, 0, broken); !errors.As(err, &re) {
			t.Errorf("%v", err)
		}
		if err := w.Log("c", "two", 5, 0, strings.NewReader("whole")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := read(b.Bytes()); err != nil || !slices.Equal(got, []string{"c/one:4 half", "c/two:5 whole"}) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestWriterRefusals(t *testing.T) {
	if _, err := NewWriter(io.Discard, Info{Compression: "lzo"}); err == nil {
		t.Error("lzo is taken")
	}
}
