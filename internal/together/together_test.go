package together

import (
	"sync"
	"testing"

	"heddle/internal/await"
)

// Each reader of the queues built an answer of its own, of 86 MB with 10,000 queues.
func TestReadersAtTheSameTimeShareAnAnswer(t *testing.T) {
	var group Group[int]
	var readers sync.WaitGroup
	begun, proceed := make(chan struct{}, 10), make(chan struct{})
	builds, change := 0, 1 // builds come one after the other
	got := make([]int, 10)
	read := func(i int) {
		readers.Go(func() {
			got[i] = group.Get(func() int {
				builds++
				seen := change
				begun <- struct{}{}
				<-proceed
				return seen
			})
		})
	}
	read(0)
	<-begun
	change = 2
	for i := 1; i < len(got); i++ { // they come while the first one is built, which doesn't have the change
		read(i)
	}
	await.Until(t, "the others wait", func() bool { return group.Waiting() == len(got)-1 })
	close(proceed)
	readers.Wait()
	for i, v := range got {
		if want := min(i, 1) + 1; v != want {
			t.Errorf("reader %d got %d, want %d", i, v, want)
		}
	}
	if builds != 2 {
		t.Errorf("%d answers were built", builds)
	}
}
