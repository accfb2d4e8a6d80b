package hadooplab

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

//go:embed Shell.java
var shellSource []byte

// Shell runs Hadoop's commands one after the other in one Java process, which saves almost a second for each. It is not
// safe for concurrent use.
type Shell struct {
	p   *process
	in  io.WriteCloser
	out *bufio.Reader
}

// NewShell starts a shell; Close ends it.
func (l *Lab) NewShell() (*Shell, error) {
	source := filepath.Join(l.dir, "Shell.java")
	if _, err := os.Stat(source); err != nil { // an earlier shell may be about to read it
		if err := os.WriteFile(source, shellSource, 0o644); err != nil {
			return nil, err
		}
	}
	cmd := l.javaCommand("512m", source)
	cmd.Args = append(cmd.Args[:1:1], append([]string{"-Djava.security.manager=allow"}, cmd.Args[1:]...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := l.starter.start(cmd)
	if err != nil {
		return nil, err
	}
	return &Shell{p: p, in: in, out: bufio.NewReader(out)}, nil
}

// Try runs a command like Lab.Try.
func (s *Shell) Try(command ...string) (Result, error) {
	class, args, err := classOf(command)
	if err != nil {
		return Result{Code: -1}, err
	}
	failed := func(err error) (Result, error) {
		return Result{Code: -1}, fmt.Errorf("a shell's %s: %w", strings.Join(command, " "), err)
	}
	if _, err := fmt.Fprintln(s.in, strings.Join(append([]string{class}, args...), "\t")); err != nil {
		return failed(err)
	}
	var r Result
	var stdout, stderr int
	for { // skip what was written outside the command's own streams
		line, err := s.out.ReadString('\n')
		if err != nil {
			return failed(err)
		}
		if _, err := fmt.Sscanf(line, "RESULT %d %d %d\n", &r.Code, &stdout, &stderr); err == nil {
			break
		}
	}
	b := make([]byte, stdout+stderr)
	if _, err := io.ReadFull(s.out, b); err != nil {
		return failed(err)
	}
	r.Stdout, r.Stderr = string(b[:stdout]), string(b[stdout:])
	return r, nil
}

// Close ends the shell.
func (s *Shell) Close() {
	_ = s.in.Close() // this ends it
	s.p.kill()
}
