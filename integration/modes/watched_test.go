package modes

import (
	"bytes"
	"strings"
	"sync"
)

// watched keeps what a program prints, and calls end when it has printed a text.
type watched struct {
	until string
	end   func()

	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	if strings.Contains(w.text.String(), w.until) {
		w.end()
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *watched) seen() bool { return strings.Contains(w.String(), w.until) }
