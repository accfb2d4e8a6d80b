package worker

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
)

// HeldError is the failure of a command that has left a daemon behind, which holds the command's input or output.
type HeldError struct {
	Role, Line string
	by         []holder
}

func (e *HeldError) Error() string {
	return heldText(e.Role, e.Line, e.by) + "; start it with its input and output redirected, for instance </dev/null >/dev/null"
}

// holder is a process that holds a command's pipe open.
type holder struct {
	pid   int
	group int // of processes
	line  string
}

// heldNamed is how many holders are named.
const heldNamed = 3

func heldText(role, line string, by []holder) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q has ended, but its input or output is still held open by", role, line)
	for i, h := range by {
		if i == heldNamed {
			fmt.Fprintf(&b, " and %d more", len(by)-heldNamed)
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " process %d (%s)", h.pid, h.line)
	}
	return b.String()
}

// watchPipes waits until a command has ended and its pipes are done with. Like Hadoop Streaming it waits for processes that the command has
// started in the background, such as sort in `exec > >(sort)`: their output is the command's. It only says who they are. A process that has
// left the command's process group is a daemon and isn't waited for. Nor is any process if the command has failed.
func (c *command) watchPipes(pid int, input, output *os.File, finished <-chan struct{}) error {
	select {
	case <-finished:
		return nil
	case <-ended(pid):
	}
	tick := time.NewTicker(cmp.Or(c.grace, lingering))
	defer tick.Stop()
	for {
		select {
		case <-finished:
			return nil
		case <-tick.C:
		}
		by := holders(input, output)
		if len(by) == 0 {
			c.log.hold("")
			continue // the reader of the output isn't done with it
		}
		daemons := 0
		for _, h := range by {
			if h.group != pid {
				daemons++
			}
		}
		if daemons == len(by) || failed(pid) {
			return &HeldError{c.role, c.line, by}
		}
		c.log.hold(heldText(c.role, c.line, by))
	}
}
