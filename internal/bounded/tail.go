package bounded

import "sync"

// Tail is a writer that keeps the last bytes of what is written. It is safe for concurrent use.
type Tail struct {
	max int

	mu   sync.Mutex
	kept []byte
}

// NewTail returns a writer that keeps max bytes.
func NewTail(max int) *Tail { return &Tail{max: max} }

// Write keeps the end of b. It never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	b = b[max(0, n-t.max):]
	if over := len(t.kept) + len(b) - t.max; over > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[over:])]
	}
	t.kept = append(t.kept, b...)
	return n, nil
}

// Bytes returns a copy of what is kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.kept...)
}
