package await

import (
	"testing"

	"go.uber.org/goleak"
)

func TestNoGoroutines(t *testing.T) {
	if code := NoGoroutines(0); code != 0 {
		t.Errorf("%d without any", code)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		<-end
	}()
	for _, x := range []struct {
		tests, want int
		options     []goleak.Option
	}{
		{tests: 0, want: 1},
		{tests: 2, want: 2},
		{tests: 0, want: 0, options: []goleak.Option{goleak.IgnoreAnyFunction("heddle/internal/await.TestNoGoroutines.func1")}},
	} {
		if code := noGoroutines(0, x.tests, x.options...); code != x.want {
			t.Errorf("tests that come to %d, with a goroutine left: %d, want %d", x.tests, code, x.want)
		}
	}
	close(end)
	<-ended
	if code := NoGoroutines(0); code != 0 {
		t.Errorf("%d once it has ended", code)
	}
}
