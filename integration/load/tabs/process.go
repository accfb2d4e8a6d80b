package tabs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Process has tabs in a process of its own. Browsers are on other machines than ResourceManagers and ApplicationMasters: what they make of answers must not delay
// theirs, so the process gets a processor when neither wants it.
type Process struct {
	cmd     *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// Start opens n tabs at a web port by a program that calls Serve with its standard input and output. argv is that program with its arguments.
func Start(ctx context.Context, argv []string) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, "nice", append([]string{"-n", "19"}, argv...)...)}
	p.cmd.Stderr = os.Stderr
	ask, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.ask, p.answers = ask, bufio.NewReader(said)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start tabs: %w", err)
	}
	return p, nil
}

// Bytes are those of answers so far.
func (p *Process) Bytes() (n int64, err error) {
	if _, err = fmt.Fprintln(p.ask); err == nil {
		_, err = fmt.Fscanln(p.answers, &n)
	}
	if err != nil {
		return 0, fmt.Errorf("ask the process of tabs: %w", err)
	}
	return n, nil
}

// Close closes the tabs. Its error is that of the program, if a question of a tab failed.
func (p *Process) Close() error {
	return errors.Join(p.ask.Close(), p.cmd.Wait())
}

// Serve opens n tabs at a web port. It answers each line of in by the bytes of answers so far, and closes the tabs at the end of in.
func Serve(ctx context.Context, in io.Reader, out io.Writer, base string, n int) error {
	open := Open(ctx, base, n)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := fmt.Fprintln(out, open.Bytes()); err != nil {
			return errors.Join(err, closed(open))
		}
	}
	return errors.Join(lines.Err(), closed(open))
}

func closed(t *Tabs) error {
	_, err := t.Close()
	return err
}
