package lists

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/records"

	"pgregory.net/rapid"
)

// The places of any rows of a page are those of a list of the whole queue.
func TestPlacesOfAnyPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, page []waitingRow
		for i := range rapid.IntRange(0, 40).Draw(t, "waiting") {
			r := waitingRow{AppRow: view.AppRow{ID: records.ApplicationID{ClusterTimestamp: 1, ID: int32(i)}}}
			r.Queue, r.Priority = rapid.SampledFrom([]string{"root.a", "root.b", "root.c"}).Draw(t, "queue"), rapid.Int32Range(0, 3).Draw(t, "priority")
			all = append(all, r)
			if rapid.Bool().Draw(t, "on the page") {
				page = append(page, r)
			}
		}
		setPlaces(page, all)
		slices.SortFunc(all, func(a, b waitingRow) int { return compareWaiting(&a, &b) })
		for i := range page {
			place, of := 0, 0
			for k := range all {
				if all[k].Queue == page[i].Queue {
					of++
					if all[k].ID == page[i].ID {
						place = of
					}
				}
			}
			if page[i].place != place || page[i].of != of {
				t.Fatalf("%v of %s: place %d of %d, want %d of %d", page[i].ID, page[i].Queue, page[i].place, page[i].of, place, of)
			}
		}
	})
}

// BenchmarkWaiting asks for the first five of very many applications that wait, as each reader of the overview does again and again.
func BenchmarkWaiting(b *testing.B) {
	for _, waiting := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			w := newWorld(b)
			for i := range int32(waiting) {
				w.app(i, fmt.Sprintf("user%d", i%300), []string{"root.prod.etl", "root.dev"}[i%2], ledger.AppAccepted, submission("report", "SPARK", "")).Priority = i % 5
			}
			for b.Loop() {
				if a := w.get("", "/waiting?limit=5"); a.Code != http.StatusOK {
					b.Fatal(a.Code, a.Body)
				}
			}
		})
	}
}
