package rest

import (
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
)

type row struct {
	Name string `yarn:"name"`
}

type empty struct{}

type rows struct {
	First  string         `yarn:"first"`
	Rows   []row          `yarn:"row"`
	Texts  []string       `yarn:"text,repeat"`
	Nested []empty        `yarn:"nested"`
	None   []row          `yarn:"none"`
	Last   int            `yarn:"last"`
	Unset  iter.Seq[row]  `yarn:"unset"`
	Sub    *rows          `yarn:"sub"`
	Other  iter.Seq[*row] `yarn:"other"`
}

type sequences struct {
	First  string           `yarn:"first"`
	Rows   iter.Seq[row]    `yarn:"row"`
	Texts  iter.Seq[string] `yarn:"text,repeat"`
	Nested iter.Seq[empty]  `yarn:"nested"`
	None   iter.Seq[row]    `yarn:"none"`
	Last   int              `yarn:"last"`
	Unset  iter.Seq[row]    `yarn:"unset"`
	Sub    *sequences       `yarn:"sub"`
	Other  iter.Seq[*row]   `yarn:"other"`
}

func (r *rows) lazily() *sequences {
	if r == nil {
		return nil
	}
	return &sequences{
		First: r.First, Rows: slices.Values(r.Rows), Texts: slices.Values(r.Texts), Nested: slices.Values(r.Nested),
		None: slices.Values(r.None), Last: r.Last, Sub: r.Sub.lazily(), Other: r.Other,
	}
}

// A list whose elements are made while they are encoded has the same bytes as one that is there, in one piece or in many.
func TestSequencesAreEncodedAsLists(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5, 40_000} {
		var r rows
		for range n {
			r.Rows = append(r.Rows, row{"a <name> \"of\" some length"})
			r.Texts = append(r.Texts, "x")
			r.Nested = append(r.Nested, empty{})
		}
		outer := rows{First: "f", Last: 1, Sub: &r, Rows: r.Rows}
		for _, style := range []Style{Natural, Unwrapped, Mapped} {
			for _, f := range []Format{JSON, XML} {
				list, sequence := Document{"root", style, outer}, Document{"root", style, *outer.lazily()}
				want, got := list.Encode(f), sequence.Encode(f)
				if string(got.Bytes()) != string(want.Bytes()) {
					t.Errorf("%d elements, style %d, format %d:\n%.500s\nas a list:\n%.500s", n, style, f, got.Bytes(), want.Bytes())
				}
				if got.Len() != len(got.Bytes()) || n == 40_000 && len(got) < 10 {
					t.Errorf("%d bytes in %d pieces", got.Len(), len(got))
				}
				for _, piece := range got {
					if len(piece) > 2*pieceSize {
						t.Errorf("a piece has %d bytes", len(piece))
					}
				}
			}
		}
	}
}

// Up to 64 lists of all applications were built at the same time, and others waited for them.
func TestFewLargeAnswersAreBuiltAtATime(t *testing.T) {
	api := NewAPI(logrus.NewEntry(logrus.New()))
	var running, most, begun atomic.Int32
	open := make(chan struct{})
	// the work is done while the list is encoded
	work := func(yield func(row) bool) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		begun.Add(1)
		<-open
		yield(row{"x"})
	}
	api.Handle("/large", Methods{http.MethodGet: {Large: true, Handle: func(*Call) (Reply, error) {
		return OK("root", Natural, sequences{Rows: work}), nil
	}}})
	api.Handle("/small", Methods{http.MethodGet: {Handle: func(*Call) (Reply, error) { return OK("root", Natural, row{"s"}), nil }}})
	get := func(path string) string {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	var readers sync.WaitGroup
	for range 3 * maxDocuments {
		readers.Go(func() {
			if got := get("/large"); !strings.Contains(got, `"row":[{"name":"x"}]`) {
				t.Errorf("%s", got)
			}
		})
	}
	await.Until(t, "some answers are built", func() bool { return begun.Load() >= maxLarge })
	if got := get("/small"); got != `{"root":{"name":"s"}}` {
		t.Errorf("%s", got)
	}
	close(open)
	readers.Wait()
	if n := most.Load(); n > maxLarge {
		t.Errorf("%d large answers were built at once", n)
	}
}
