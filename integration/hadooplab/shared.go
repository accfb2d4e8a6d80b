package hadooplab

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is a lab that the tests of a package share. It starts when the first test calls Lab.
type Shared struct {
	options Options
	once    sync.Once
	lab     *Lab
	err     error
}

// NewShared describes a lab. It starts nothing yet.
func NewShared(o Options) *Shared { return &Shared{options: o} }

// Run runs the tests of a package, and ends the lab if they started it. TestMain exits with the result.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	if s.lab != nil {
		if err := s.lab.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "hadooplab:", err)
			code = max(code, 1)
		}
	}
	return code
}

// Lab returns the lab. If the test fails, it prints what the daemons logged during the test. Without Java the test
// fails.
func (s *Shared) Lab(t testing.TB) *Lab {
	t.Helper()
	s.once.Do(func() { s.lab, s.err = New(context.Background(), s.options) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	from := map[string]int64{}
	for _, d := range s.lab.daemons {
		if st, err := os.Stat(d.log); err == nil {
			from[d.name] = st.Size()
		}
	}
	t.Cleanup(func() { s.lab.logIfFailed(t, from) })
	return s.lab
}
