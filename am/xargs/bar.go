package xargs

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bar shows progress in one line of a terminal. A nil bar shows nothing.
type bar struct {
	w     io.Writer
	width int
	now   func() time.Time

	mu      *sync.Mutex // the printer's, so that no other writes into the line
	shown   bool
	total   int
	known   bool // total is final
	ended   int
	failed  int
	began   time.Time
	rate    float64 // commands a second, of late
	last    int     // ended when the rate was taken
	lastAt  time.Time
	stop    chan struct{}
	stopped sync.WaitGroup
}

const barEvery = 200 * time.Millisecond

func newBar(want Bar, s Streams) *bar {
	w, ok := s.Err.(*os.File)
	if !ok || want == BarNever {
		return nil
	}
	size, err := unix.IoctlGetWinsize(int(w.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return nil
	}
	if out, ok := s.Out.(*os.File); ok && want == BarAuto {
		if _, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ); err == nil {
			return nil
		}
	}
	return &bar{w: w, width: max(int(size.Col), 40), now: time.Now}
}

// begin shows the bar from now on. mu guards the terminal.
func (b *bar) begin(mu *sync.Mutex) {
	if b == nil {
		return
	}
	b.mu, b.began, b.stop = mu, b.now(), make(chan struct{})
	b.lastAt = b.began
	b.stopped.Go(func() {
		t := time.NewTicker(barEvery)
		defer t.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-t.C:
				b.mu.Lock()
				b.show()
				b.mu.Unlock()
			}
		}
	})
}

// end leaves the last state on the terminal.
func (b *bar) end() {
	if b == nil {
		return
	}
	close(b.stop)
	b.stopped.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.show()
	fmt.Fprintln(b.w)
}

// count sets how many commands there are, as far as is known.
func (b *bar) count(n int, all bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total, b.known = n, all
}

func (b *bar) done(failed bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended++
	if failed {
		b.failed++
	}
}

// wipe clears the line for something else. The caller holds mu.
func (b *bar) wipe() {
	if b != nil && b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.shown = false
	}
}

func (b *bar) show() {
	now := b.now()
	if since := now.Sub(b.lastAt).Seconds(); since >= 1 {
		rate := float64(b.ended-b.last) / since
		if b.rate == 0 {
			b.rate = rate
		}
		b.rate += (rate - b.rate) * min(1, since/5)
		b.last, b.lastAt = b.ended, now
	}
	fmt.Fprint(b.w, "\r"+b.text(now)+"\x1b[K")
	b.shown = true
}

// text returns the line.
func (b *bar) text(now time.Time) string {
	rate := b.rate
	if since := now.Sub(b.began).Seconds(); rate == 0 && since > 0 {
		rate = float64(b.ended) / since
	}
	all, left := "", ""
	switch {
	case !b.known:
		all = fmt.Sprintf("of %d or more", b.total)
	case b.total > 0:
		all = fmt.Sprintf("of %d", b.total)
		if rate > 0 && b.ended < b.total {
			left = ", " + clock(time.Duration(float64(b.total-b.ended)/rate*float64(time.Second))) + " left"
		}
	}
	text := fmt.Sprintf("%d %s, %.1f/s%s", b.ended, all, rate, left)
	if b.failed > 0 {
		text += fmt.Sprintf(", %d failed", b.failed)
	}
	width := min(30, b.width-len(text)-8)
	if b.known && b.total > 0 && width > 0 {
		n := width * b.ended / b.total
		text = fmt.Sprintf("[%s%s] %3d%% %s", strings.Repeat("#", n), strings.Repeat(".", width-n), 100*b.ended/b.total, text)
	}
	return text[:min(len(text), b.width-1)]
}

// clock shows a time as 1:02:03 or 2:03.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
